"""Sequences per second of BERT in PyTorch, eager: what bench/trainer.cpp
measures of ours. Data lie on the device; they are as long as ours are: between
half of the length and all of it, and padded.
"""

import argparse
import json

import torch
from torch.nn import functional

import bert
import timing


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workload", choices=bert.MODELS, required=True)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--length", type=int, default=384)
    parser.add_argument("--examples", type=int, default=640)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--precision", choices=["float32", "bfloat16"],
                        default="bfloat16")
    args = parser.parse_args()
    torch.manual_seed(1)
    torch.set_num_threads(1)
    device = torch.device(args.device)
    model = bert.MODELS[args.workload](args.dropout).to(device)
    vocabulary = model.words.num_embeddings
    size = (args.examples, args.length)
    at = torch.arange(args.length)
    lengths = torch.randint(args.length // 2, args.length + 1,
                            (args.examples, 1))
    present = (at < lengths).to(device)
    tokens = torch.randint(1, vocabulary, size).to(device) * present
    segments = (at >= 4).expand(size).to(device) * present
    starts = torch.randint(4, args.length // 2, (args.examples,)).to(device)
    weights = list(model.parameters())
    in_one_kernel = {"fused": True} if device.type == "cuda" else {}
    optimizer = torch.optim.AdamW(
        [{"params": [x for x in weights if x.dim() > 1]},
         {"params": [x for x in weights if x.dim() == 1], "weight_decay": 0}],
        lr=5e-5, weight_decay=0.01, **in_one_kernel)

    def epoch():
        total = torch.zeros((), device=device)
        for batch in torch.randperm(args.examples, device=device).split(
                args.batch_size):
            with torch.autocast(device.type, torch.bfloat16,
                                enabled=args.precision == "bfloat16"):
                first, last = model(tokens[batch], segments[batch].long(),
                                    present[batch])
            right = starts[batch]
            loss = (functional.cross_entropy(first.float(), right)
                    + functional.cross_entropy(last.float(), right)) / 2
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(weights, 1.0)
            optimizer.step()
            total += loss.detach()
        return total.item()

    epoch()
    rate = args.examples * timing.epochs_per_second(epoch, args.seconds)
    print(json.dumps({"examples_per_second": rate}))


main()
