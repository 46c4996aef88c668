"""Images per second of one of the papers' networks in PyTorch: what
bench/trainer.cpp measures of ours. Data lie on the device, one optimiser, no
augmentation.
"""

import argparse
import json

import torch

import networks
import timing


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workload", choices=networks.NETWORKS, required=True)
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--examples", type=int, default=12800)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--precision", default="float32",
                        choices=["float32", "tf32", "bfloat16"])
    parser.add_argument("--compile", action="store_true",
                        help="torch.compile(mode='reduce-overhead')")
    args = parser.parse_args()
    torch.manual_seed(1)
    torch.set_num_threads(1)
    # 32-bit floats are 32-bit floats, as in ours, unless asked otherwise.
    torch.backends.cudnn.allow_tf32 = args.precision == "tf32"
    torch.backends.cuda.matmul.allow_tf32 = args.precision == "tf32"
    device = torch.device(args.device)
    images = torch.randn(args.examples, 3, 32, 32, device=device)
    labels = torch.randint(10, (args.examples,), device=device)
    model = networks.NETWORKS[args.workload]().to(
        device, memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9,
                                weight_decay=1e-4)
    step = torch.nn.functional.cross_entropy
    forward = torch.compile(model, mode="reduce-overhead") \
        if args.compile else model

    def epoch():
        order = torch.randperm(args.examples, device=device)
        total = torch.zeros((), device=device)
        for batch in order.split(args.batch_size):
            x = images[batch].contiguous(memory_format=torch.channels_last)
            with torch.autocast(device.type, torch.bfloat16,
                                enabled=args.precision == "bfloat16"):
                loss = step(forward(x), labels[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.detach()
        return total.item()

    epoch()
    epoch()
    rate = args.examples * timing.epochs_per_second(epoch, args.seconds)
    print(json.dumps({"examples_per_second": rate}))


main()
