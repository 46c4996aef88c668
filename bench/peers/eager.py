"""Iterations per second of a workload in PyTorch on one CPU thread: what
bench/trainer.cpp measures of ours.
"""

import argparse
import json

import torch

import fashion
import timing


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workload", choices=fashion.MODELS, required=True)
    parser.add_argument("--batch-size", type=int, required=True)
    parser.add_argument("--images", type=int, required=True)
    parser.add_argument("--seconds", type=float, default=2,
                        help="about how long to train")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--channels-last", action="store_true")
    parser.add_argument("--fused", action="store_true",
                        help="the optimiser in one kernel")
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    data, _ = fashion.read_data(args.images, 1000)
    model = fashion.MODELS[args.workload]()
    if args.channels_last:
        model = model.to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9,
                                weight_decay=5e-4, fused=args.fused or None)
    if args.compile:
        model = torch.compile(model)

    def epoch():
        fashion.train_epoch(model, optimizer, data, args.batch_size)

    epoch()  # does not count: caches fill, and compilers run
    rate = args.images / args.batch_size \
        * timing.epochs_per_second(epoch, args.seconds)
    print(json.dumps({"iterations_per_second": rate}))


main()
