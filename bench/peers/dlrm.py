#!/usr/bin/env python3
"""How fast DLRM trains as a user of PyTorch writes it, after the reference's
code: embedding tables, products by bmm, plain SGD.

dlrm.py BATCH_SIZE IMPRESSIONS SECONDS dense|sparse

The last one is the kind of the tables' gradients: sparse ones suit large
tables.

Prints a line of JSON as bench/trainer does for `clicks-dlrm`, which has the
same network and as many impressions, ready as tensors.
"""

import json
import sys
import time

import torch
from torch import nn
from torch.nn import functional

NUMBERS, CATEGORIES = 13, 26


class Dlrm(nn.Module):
    def __init__(self, sparse, rows=1000, dimension=16, hidden=64):
        super().__init__()
        self.tables = nn.ModuleList(
            nn.EmbeddingBag(rows, dimension, mode="sum", sparse=sparse)
            for _ in range(CATEGORIES))
        self.bottom = nn.Sequential(
            nn.Linear(NUMBERS, hidden), nn.ReLU(),
            nn.Linear(hidden, dimension), nn.ReLU())
        vectors = CATEGORIES + 1
        pairs = torch.tril_indices(vectors, vectors, -1)
        self.register_buffer("row", pairs[0])
        self.register_buffer("column", pairs[1])
        self.top = nn.Sequential(
            nn.Linear(dimension + pairs.shape[1], hidden), nn.ReLU(),
            nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, numbers, categories):
        first = self.bottom(numbers)
        vectors = torch.stack(
            [first, *(table(categories[:, i:i + 1])
                      for i, table in enumerate(self.tables))], 1)
        products = torch.bmm(vectors, vectors.transpose(1, 2))
        products = products[:, self.row, self.column]
        return self.top(torch.cat([first, products], 1)).squeeze(1)


def main():
    batch_size, count = int(sys.argv[1]), int(sys.argv[2])
    seconds, sparse = float(sys.argv[3]), sys.argv[4] == "sparse"
    torch.set_num_threads(1)
    torch.manual_seed(1)
    # Tokens as the workload's: few are frequent.
    tokens = (1000 ** torch.rand(count, CATEGORIES)).long() - 1
    numbers = torch.randn(count, NUMBERS)
    clicked = (torch.rand(count) < 0.25).float()
    model = Dlrm(sparse)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)

    def epoch():
        for first in range(0, count, batch_size):
            part = slice(first, first + batch_size)
            loss = functional.binary_cross_entropy_with_logits(
                model(numbers[part], tokens[part]), clicked[part])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    epoch()
    begin, used, epochs = time.perf_counter(), time.process_time(), 0
    while time.perf_counter() - begin < seconds:
        epoch()
        epochs += 1
    spent = time.perf_counter() - begin
    processor = time.process_time() - used
    iterations = epochs * count / batch_size
    print(json.dumps({
        "iterations_per_second": round(iterations / spent, 2),
        "examples_per_second": round(epochs * count / spent, 2),
        "iterations_per_processor_second": round(iterations / processor, 2)}))


if __name__ == "__main__":
    main()
