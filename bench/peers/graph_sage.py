"""GraphSAGE as a user of PyTorch writes it, on a stochastic block model like
that of the workload `graph-sage`: epochs of all neighbours by products of
sparse matrices, or of drawn neighbours. Prints a line of JSON: iterations per
second, by the clock and of processor time.
"""

import argparse
import json
import time

import torch
from torch import nn
from torch.nn import functional


def block_model(nodes, classes, within, between):
    """Labels, features and the edges (rows, columns) of a graph."""
    labels = torch.randint(classes, (nodes,))
    features = functional.one_hot(labels, classes).float()
    features += torch.randn(nodes, classes)
    parts = []
    for row in range(nodes):  # those to nodes of larger numbers
        likely = torch.where(labels[row + 1:] == labels[row], within, between)
        columns = (torch.rand(nodes - row - 1) < likely).nonzero()[:, 0]
        columns = columns + row + 1
        rows = torch.full_like(columns, row)
        parts += [(rows, columns), (columns, rows)]
    return labels, features, [torch.cat(x) for x in zip(*parts)]


class Layer(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.lin_l = nn.Linear(inputs, outputs)
        self.lin_r = nn.Linear(inputs, outputs, bias=False)

    def forward(self, means, rows):
        return self.lin_l(torch.sparse.mm(means, rows)) + self.lin_r(
            rows[:means.shape[0]])


class Network(nn.Module):
    def __init__(self, inputs, hidden, classes):
        super().__init__()
        self.first = Layer(inputs, hidden)
        self.second = Layer(hidden, classes)

    def forward(self, first, second, rows):
        return self.second(second, functional.relu(self.first(first, rows)))


def means_of(offsets, columns, width):
    """The sparse matrix that takes the mean of the columns of each row."""
    counts = offsets.diff()
    values = (1 / counts.clamp(min=1)).repeat_interleave(counts)
    return torch.sparse_csr_tensor(offsets, columns, values,
                                   (len(counts), width))


class Sampler:
    """Draws neighbours without replacement: those with the least of random
    numbers. A whole batch is drawn by a few operations."""

    def __init__(self, offsets, columns):
        self.offsets, self.columns = offsets, columns
        self.places = torch.full((len(offsets) - 1,), -1)

    def draw(self, nodes, fanout):
        begins, counts = self.offsets[nodes], self.offsets[nodes + 1]
        counts = counts - begins
        widest = int(counts.max())
        keys = torch.rand(len(nodes), widest)
        keys.masked_fill_(torch.arange(widest) >= counts[:, None], 2)
        order = keys.argsort(1)[:, :fanout]
        taken = torch.arange(order.shape[1]) < counts[:, None]
        edges = (begins[:, None] + order)[taken]
        return taken.sum(1), self.columns[edges]

    def layer(self, nodes, fanout):
        """Returns the means of a layer, and the nodes that it reads."""
        counts, neighbours = self.draw(nodes, fanout)
        self.places[nodes] = torch.arange(len(nodes))
        fresh = neighbours[self.places[neighbours] < 0].unique()
        self.places[fresh] = torch.arange(len(fresh)) + len(nodes)
        everything = torch.cat([nodes, fresh])
        offsets = torch.cat([torch.zeros(1, dtype=torch.int64),
                             counts.cumsum(0)])
        result = means_of(offsets, self.places[neighbours], len(everything))
        self.places[everything] = -1
        return result, everything


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", type=int, default=20000)
    parser.add_argument("--train", type=int, default=10000)
    parser.add_argument("--classes", type=int, default=32)
    parser.add_argument("--within", type=float, default=0.02)
    parser.add_argument("--between", type=float, default=0.0002)
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--batch-size", type=int, default=512)
    parser.add_argument("--fanouts", type=int, nargs=2,
                        help="default: all neighbours of the whole graph, in "
                        "one batch")
    parser.add_argument("--seconds", type=float, default=2)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    labels, features, (rows, columns) = block_model(
        args.nodes, args.classes, args.within, args.between)
    rows, order = rows.sort(stable=True)
    columns = columns[order]
    counts = torch.bincount(rows, minlength=args.nodes)
    offsets = torch.cat([torch.zeros(1, dtype=torch.int64), counts.cumsum(0)])
    network = Network(args.classes, args.hidden, args.classes)
    optimizer = torch.optim.AdamW(network.parameters(), 0.01,
                                  weight_decay=0.0005, fused=True)
    sampler = Sampler(offsets, columns)
    whole = means_of(offsets, columns, args.nodes)

    def update(first, second, inputs, targets):
        optimizer.zero_grad()
        scores = network(first, second, inputs)[:len(targets)]
        functional.cross_entropy(scores, targets).backward()
        optimizer.step()

    def epoch():
        if args.fanouts is None:
            update(whole, whole, features, labels[:args.train])
            return 1
        parts = torch.randperm(args.train).split(args.batch_size)
        for nodes in parts:
            second, middle = sampler.layer(nodes, args.fanouts[0])
            first, everything = sampler.layer(middle, args.fanouts[1])
            update(first, second, features[everything], labels[nodes])
        return len(parts)

    epoch()
    begin, used, iterations = time.time(), time.process_time(), 0
    while time.time() < begin + args.seconds:
        iterations += epoch()
    print(json.dumps({
        "iterations_per_second": iterations / (time.time() - begin),
        "iterations_per_processor_second":
            iterations / (time.process_time() - used)}))


if __name__ == "__main__":
    main()
