"""Ways to convolve for several networks side by side (lanes), in PyTorch: which
is fastest on this GPU, and whether a lane that is NaN reaches another.

For 3 x 3 convolutions of a residual network, forward and back, deterministic:
one grouped convolution, channels-last or not; a convolution for each lane, on a
stream of its own, in a CUDA graph; and unfolding with a batched product.
"""

import argparse
import json

import torch
from torch.nn import functional

LANES = 16
# Channels and side of ResNet-20's stages.
SHAPES = ((16, 32), (32, 16), (64, 8))
PRECISIONS = {"float32": torch.float32, "tf32": torch.float32,
              "bfloat16": torch.bfloat16}


def grouped(x, weight, lanes):
    return functional.conv2d(x, weight, padding=1, groups=lanes)


def product(x, weight, lanes):
    """By unfolding: lanes x (images * pixels) x (channels * 9)."""
    n, _, side, _ = x.shape
    channels = x.shape[1] // lanes
    columns = functional.unfold(x, 3, padding=1)  # n x (lanes*c*9) x pixels
    columns = columns.view(n, lanes, channels * 9, side * side)
    columns = columns.permute(1, 2, 0, 3).reshape(lanes, channels * 9, -1)
    result = torch.bmm(weight.view(lanes, -1, channels * 9), columns)
    return result.view(lanes, -1, n, side * side).permute(2, 0, 1, 3).reshape(
        n, -1, side, side)


class ByLane:
    """A convolution for each lane, each on a stream of its own."""

    def __init__(self, device, lanes):
        self.streams = [torch.cuda.Stream(device) for _ in range(lanes)] \
            if device.type == "cuda" else [None] * lanes

    def __call__(self, x, weight, lanes):
        parts = []
        here = torch.cuda.current_stream() if self.streams[0] else None
        for stream, y, w in zip(self.streams, x.chunk(lanes, 1),
                                weight.chunk(lanes)):
            if stream is None:
                parts.append(functional.conv2d(y, w, padding=1))
                continue
            stream.wait_stream(here)
            with torch.cuda.stream(stream):
                parts.append(functional.conv2d(y, w, padding=1))
        for stream in self.streams:
            if stream is not None:
                here.wait_stream(stream)
        return torch.cat(parts, 1)


def milliseconds(step, device, seconds):
    """Median time of a step that a CUDA graph holds; on a CPU, without one."""
    if device.type != "cuda":
        step()
        return float("nan")
    stream = torch.cuda.Stream(device)
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    times, spent = [], 0
    while spent < 1000 * seconds or len(times) < 5:
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end))
        spent += times[-1]
    return sorted(times)[len(times) // 2]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    if args.quick:
        args.batch_size, args.seconds = 2, 0.01
    device = torch.device(args.device)
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.backends.cudnn.deterministic = True
    ways = {"grouped, channels last": (grouped, torch.channels_last),
            "grouped": (grouped, torch.contiguous_format),
            "a stream a lane": (ByLane(device, LANES),
                                torch.contiguous_format),
            "a stream a lane, channels last": (ByLane(device, LANES),
                                               torch.channels_last),
            "unfold and bmm": (product, torch.contiguous_format)}
    fastest = []
    for precision, dtype in PRECISIONS.items():
        torch.backends.cudnn.allow_tf32 = precision == "tf32"
        torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
        for channels, side in SHAPES:
            shape = (args.batch_size, LANES * channels, side, side)
            flops = 3 * 2 * 9 * channels * args.batch_size * LANES \
                * channels * side * side
            found = {}
            for name, (way, layout) in ways.items():
                x = torch.randn(shape, device=device, dtype=dtype).to(
                    memory_format=layout).requires_grad_()
                weight = (torch.randn(LANES * channels, channels, 3, 3,
                                      device=device, dtype=dtype) / 9).to(
                    memory_format=layout).requires_grad_()
                up = torch.randn(shape, device=device, dtype=dtype).to(
                    memory_format=layout)

                def step():
                    y = way(x, weight, LANES)
                    return torch.autograd.grad(y, (x, weight), up)

                try:
                    found[name] = milliseconds(step, device, args.seconds)
                    # Lane 1 is NaN; no other may be.
                    with torch.no_grad():
                        x[:, channels:2 * channels] = float("nan")
                        weight[channels:2 * channels] = float("nan")
                        up[:, channels:2 * channels] = float("nan")
                    y = way(x, weight, LANES)
                    others = [z.detach() for z in (y, *step())]
                    parts = [z.chunk(LANES, 0 if z.shape == weight.shape else 1)
                             for z in others]
                    if any(bool(p[i].isnan().any()) for p in parts
                           for i in range(LANES) if i != 1):
                        print(f"NaN reaches other lanes: {precision}, "
                              f"{channels} channels, {name}")
                except RuntimeError as why:
                    print(f"{precision}, {channels} channels, {name}: "
                          f"{str(why).splitlines()[0]}")
            for name, ms in found.items():
                print(f"{precision:9} {channels:3} x {side}²  {name:31}"
                      f" {ms:8.3f} ms {flops / ms / 1e9:8.1f} TFLOP/s")
            best = min(found, key=found.get, default="none")
            fastest.append(f"{precision} {channels}: {best}")
    print(json.dumps(fastest))


if __name__ == "__main__":
    main()
