"""Engines of cuDNN for the convolutions of a CIFAR ResNet on this GPU: which
deterministic way is fastest, in which layout and precision.

Each convolution of ResNet-20 and ResNet-56 is measured forward (y), for the
gradient of its input (dx) and of its weights (dw), in a CUDA graph; then whole
training steps without an optimiser. Every way runs twice: '!' says that the
bits differ. PyTorch remembers its choice of an engine whichever way it chose,
so each way of choosing has a process of its own.
"""

import argparse
import json
import os
import subprocess
import sys
import threading
import time

# Name, inputs, outputs, side of the kernel, stride, side of the images, and how
# many ResNet-20 and ResNet-56 have.
SHAPES = (("16>16", 16, 16, 3, 1, 32, 6, 18),
          ("32>32", 32, 32, 3, 1, 16, 5, 17),
          ("64>64", 64, 64, 3, 1, 8, 5, 17),
          ("3>16", 3, 16, 3, 1, 32, 1, 1),
          ("16>32/2", 16, 32, 3, 2, 32, 1, 1),
          ("32>64/2", 32, 64, 3, 2, 16, 1, 1),
          ("16>32/2,1x1", 16, 32, 1, 2, 32, 1, 1),
          ("32>64/2,1x1", 32, 64, 1, 2, 16, 1, 1))
PRECISIONS = ("float32", "tf32", "bfloat16")

# How an engine is chosen: what the environment has to say, how many seconds
# this may take, and the ways to convolve that are measured.
LAYOUTS = ("nchw", "nhwc")
OTHER_WAYS = ("nchw>nhwc", "nhwc>nchw", "unfold", "unfold-nhwc")  # float32
MODES = {"heuristics": ({}, 45, LAYOUTS + OTHER_WAYS),
         "mode-b": ({"TORCH_CUDNN_USE_HEURISTIC_MODE_B": "1"}, 25, LAYOUTS),
         "benchmark": ({}, 35, LAYOUTS),
         "default": ({}, 60, ())}


# -- In a process of one mode -------------------------------------------------

class Probe:
    """Measures calls on one device."""

    def __init__(self, torch, device, quick):
        self.torch = torch
        self.device = device
        self.quick = quick
        self.cuda = device.type == "cuda"
        if self.cuda:
            self.stream = torch.cuda.Stream(device)
            torch.cuda.set_stream(self.stream)
            self.pool = torch.cuda.graph_pool_handle()
            self.first = None  # keeps the pool

    def capture(self, call, times):
        """A graph of so many calls, one after the other. As torch.cuda.graph,
        but for its collection of garbage, which takes longer than all."""
        graph = self.torch.cuda.CUDAGraph()
        self.torch.cuda.synchronize()
        graph.capture_begin(pool=self.pool)
        try:
            for _ in range(times):
                call()
        finally:
            graph.capture_end()
        return graph

    def microseconds(self, call, times=20):
        """Median time of a call; on a CPU, of one after another."""
        torch = self.torch
        if not self.cuda:
            begin = time.perf_counter()
            call()
            return 1e6 * (time.perf_counter() - begin)
        if self.first is None:
            x = torch.zeros(1, device=self.device)
            self.first = self.capture(lambda: x + 1, 1)
        graph = self.capture(call, times)
        graph.replay()
        took, spent = [], 0
        while len(took) < 5 or (spent < 10 and len(took) < 20):
            begin, end = (torch.cuda.Event(enable_timing=True)
                          for _ in range(2))
            begin.record()
            graph.replay()
            end.record()
            end.synchronize()
            took.append(begin.elapsed_time(end))
            spent += took[-1]
        return 1e3 * sorted(took)[len(took) // 2] / times

    def measure(self, call, times=20, **what):
        """Prints a line of JSON on a call that returns tensors."""
        torch = self.torch
        try:
            once, again = call(), call()
            same = all(torch.equal(a, b) for a, b in zip(once, again))
            bits = [digest(torch, x) for x in once]
            found = {"us": self.microseconds(call, times), "same": same,
                     "bits": f"{hash(tuple(bits)) & (1 << 48) - 1:012x}"}
        except RuntimeError as why:
            found = {"failed": str(why).splitlines()[0]}
        print(json.dumps({**what, **found}), flush=True)


def digest(torch, x):
    """A number that depends on every bit of a tensor."""
    size = {2: torch.int16, 4: torch.int32}[x.element_size()]
    bits = x.contiguous().view(size).flatten().long()
    weights = torch.arange(1, 2 * bits.numel(), 2, device=x.device)
    return (bits * weights).sum().item()


def set_precision(torch, precision):
    torch.backends.cudnn.allow_tf32 = precision == "tf32"
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"


def convolve(torch, direction, x, w, up, stride):
    """What PyTorch does for a layer's output or one of its gradients."""
    padding = [w.shape[-1] // 2] * 2
    if direction == "y":
        return torch.nn.functional.conv2d(x, w, None, stride, padding)
    mask = [direction == "dx", direction == "dw", False]
    return torch.ops.aten.convolution_backward(
        up, x, w, None, [stride] * 2, padding, [1, 1], False, [0, 0], 1,
        mask)[0 if direction == "dx" else 1]


def unfolded(torch, direction, x, w, up, stride):
    """The same by products of unfolded images, image by image."""
    functional = torch.nn.functional
    kernel, out = w.shape[-1], w.shape[0]
    padding = kernel // 2
    flat = w.reshape(out, -1)
    if direction == "dx":
        return functional.fold(flat.t() @ up.flatten(2), x.shape[2:], kernel,
                               padding=padding, stride=stride)
    columns = functional.unfold(x, kernel, padding=padding, stride=stride)
    if direction == "y":
        return (flat @ columns).view(up.shape)
    return torch.bmm(up.flatten(2), columns.transpose(1, 2)).sum(0).view(
        w.shape)


def windows(torch, x, kernel, stride):
    """The windows of channels-last images, a row each: pixels of the result x
    (kernel * kernel * channels)."""
    padding = kernel // 2
    x = torch.nn.functional.pad(x.permute(0, 2, 3, 1),
                                (0, 0, padding, padding, padding, padding))
    n, height, _, channels = x.shape
    rows = (height - kernel) // stride + 1
    a, b, c, d = x.stride()
    return x.as_strided(
        (n, rows, rows, kernel, kernel, channels),
        (a, b * stride, c * stride, b, c, d)).reshape(
            -1, kernel * kernel * channels)


def unfolded_nhwc(torch, direction, x, w, up, stride):
    """The same for channels-last images, in one product."""
    kernel, out, channels = w.shape[-1], w.shape[0], w.shape[1]

    def images(rows, side):
        return rows.view(x.shape[0], side, side, -1).permute(0, 3, 1, 2)

    if direction == "y":
        flat = w.permute(2, 3, 1, 0).reshape(-1, out)
        return images(windows(torch, x, kernel, stride) @ flat, up.shape[-1])
    if direction == "dw":
        rows = up.permute(0, 2, 3, 1).reshape(-1, out)
        return (windows(torch, x, kernel, stride).t() @ rows).view(
            kernel, kernel, channels, out).permute(3, 2, 0, 1)
    if stride > 1:
        wide = torch.zeros((x.shape[0], x.shape[2], x.shape[3], out),
                           dtype=x.dtype, device=x.device)
        wide[:, ::stride, ::stride] = up.permute(0, 2, 3, 1)
        up = wide.permute(0, 3, 1, 2)
    flat = w.flip(2, 3).permute(2, 3, 0, 1).reshape(-1, channels)
    return images(windows(torch, up, kernel, 1) @ flat, x.shape[-1])


def way_to_convolve(torch, way, direction, stride):
    """The layout of its tensors, and a function of these."""
    nchw, nhwc = torch.contiguous_format, torch.channels_last

    def plain(x, w, up):
        return convolve(torch, direction, x, w, up, stride)

    def copied(inner, outer):
        return lambda *tensors: plain(*(
            z.contiguous(memory_format=inner) for z in tensors)).contiguous(
                memory_format=outer)

    return {"nchw": (nchw, plain), "nhwc": (nhwc, plain),
            "nchw>nhwc": (nchw, copied(nhwc, nchw)),
            "nhwc>nchw": (nhwc, copied(nchw, nhwc)),
            "unfold": (nchw, lambda *z: unfolded(
                torch, direction, *z, stride)),
            "unfold-nhwc": (nhwc, lambda *z: unfolded_nhwc(
                torch, direction, *z, stride))}[way]


def convolutions(torch, probe, batch, precision, ways):
    dtype = torch.bfloat16 if precision == "bfloat16" else torch.float32
    for name, inputs, outputs, kernel, stride, side, *_ in SHAPES:
        x = torch.randn(batch, inputs, side, side)
        w = torch.randn(outputs, inputs, kernel, kernel) / kernel**2
        up = torch.randn(batch, outputs, side // stride, side // stride)
        x, w, up = (z.to(probe.device, dtype) for z in (x, w, up))
        for direction in ("y", "dx", "dw"):
            if name == "3>16" and direction == "dx":
                continue  # nobody needs the gradient of images
            for way in ways:
                layout, function = way_to_convolve(torch, way, direction,
                                                   stride)
                some = [z.contiguous(memory_format=layout)
                        for z in (x, w, up)]
                probe.measure(lambda: (function(*some),), what="convolution",
                              precision=precision, shape=name,
                              direction=direction, way=way)


def step_of(torch, device, network, batch, precision, layout):
    """A function that trains one step, but for the optimiser, and returns the
    loss and the gradients; and the model."""
    import networks
    torch.manual_seed(1)
    model = networks.NETWORKS[network]().to(device, memory_format=layout)
    images = torch.randn(batch, 3, 32, 32).to(device, memory_format=layout)
    labels = torch.randint(10, (batch,)).to(device)
    weights = list(model.parameters())

    def step(forward=model):
        with torch.autocast(device.type, torch.bfloat16,
                            enabled=precision == "bfloat16",
                            cache_enabled=False):
            loss = torch.nn.functional.cross_entropy(forward(images), labels)
        return (loss.detach(), *torch.autograd.grad(loss, weights))

    return step, model


def steps(torch, probe, batch, precision):
    for network in ("cifar-resnet20", "cifar-resnet56"):
        for way in LAYOUTS:
            step, _ = step_of(torch, probe.device, network, batch, precision,
                              layout_of(torch, way))
            probe.measure(step, 1, what="step", precision=precision,
                          shape=network, direction="", way=way)


def layout_of(torch, way):
    return torch.channels_last if way == "nhwc" else torch.contiguous_format


def as_it_comes(torch, probe, batch):
    """Steps as PyTorch does them unless told otherwise: TF32 convolutions, no
    promise of equal bits, no graph; then by torch.compile."""

    def microseconds(call):
        for _ in range(3):
            call()
        if probe.cuda:
            torch.cuda.synchronize()
        begin, count = time.perf_counter(), 0
        while count < 10 or time.perf_counter() < begin + 0.5:
            call()
            count += 1
            if probe.quick:
                break
        if probe.cuda:
            torch.cuda.synchronize()
        return 1e6 * (time.perf_counter() - begin) / count

    def tell(way, precision, network, us):
        print(json.dumps({"what": "step", "precision": precision,
                          "shape": network, "direction": "", "way": way,
                          "us": us, "same": True}), flush=True)

    every = [(precision, network) for precision in ("tf32", "bfloat16")
             for network in ("cifar-resnet20", "cifar-resnet56")]
    for precision, network in every:
        for way in LAYOUTS:
            step, _ = step_of(torch, probe.device, network, batch, precision,
                              layout_of(torch, way))
            tell("eager-" + way, precision, network, microseconds(step))
    if not probe.cuda:
        return
    for precision, network in every:
        torch._dynamo.reset()
        step, model = step_of(torch, probe.device, network, batch, precision,
                              torch.channels_last)
        forward = torch.compile(model, mode="reduce-overhead")
        tell("compile-nhwc", precision, network,
             microseconds(lambda: step(forward)))


def child(args):
    import torch
    device = torch.device(args.device)
    batch = 2 if args.quick else args.batch_size
    if device.type == "cpu":
        torch.set_num_threads(1)
    probe = Probe(torch, device, args.quick)
    torch.zeros(1, device=device)
    if not sys.stdin.readline():  # it is this one's turn
        return
    if args.mode == "default":
        as_it_comes(torch, probe, batch)
        return
    torch.use_deterministic_algorithms(True, warn_only=True)
    if hasattr(torch.utils, "deterministic"):
        torch.utils.deterministic.fill_uninitialized_memory = False
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = args.mode == "benchmark"
    for precision in PRECISIONS:
        set_precision(torch, precision)
        convolutions(torch, probe, batch, precision, [
            x for x in MODES[args.mode][2]
            if precision == "float32" or x not in OTHER_WAYS])
        steps(torch, probe, batch, precision)


# -- What starts these and prints the table -----------------------------------

def start(args, mode):
    flags = ["--quick"] if args.quick else []
    return subprocess.Popen(
        [sys.executable, __file__, "--mode", mode, "--device", args.device,
         "--batch-size", str(args.batch_size), *flags], text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        env={**os.environ, **MODES[mode][0],
             "CUBLAS_WORKSPACE_CONFIG": ":4096:8"})


def lines_of(process, limit):
    """What a process says once it has its turn, until its time is over."""
    timer = threading.Timer(limit, process.kill)
    timer.start()
    try:
        process.stdin.write("go\n")
        process.stdin.flush()
        found = [json.loads(x) for x in process.stdout
                 if x.startswith("{") and x.endswith("\n")]
    except BrokenPipeError:  # it has failed, and has said why
        found = []
    finally:
        timer.cancel()
        process.wait()
    return found


def cell(found):
    if found is None:
        return "-"
    if "us" not in found:
        return "failed"
    return f"{found['us']:.1f}" + ("" if found["same"] else "!")


def print_table(title, columns, rows):
    width = max([len(x) for x in columns] + [9])
    head = max(len(x) for x, _ in rows)
    print(f"\n{title}\n" + " " * head + " ".join(
        f"{x:>{width}}" for x in columns))
    for name, cells in rows:
        print(f"{name:{head}}" + " ".join(f"{x:>{width}}" for x in cells))


def tables(found, batch):
    columns = [f"{way}" if mode == "heuristics" else f"{way} {short}"
               for mode, short in (("heuristics", ""), ("mode-b", "B"),
                                   ("benchmark", "bench"))
               for way in MODES[mode][2]]
    ways = [(mode, way) for mode in ("heuristics", "mode-b", "benchmark")
            for way in MODES[mode][2]]
    rows, sums = [], []
    for precision in PRECISIONS:
        total = {}
        for name, *_, of20, of56 in SHAPES:
            for direction in ("y", "dx", "dw"):
                those = [found.get((mode, "convolution", precision, name,
                                    direction, way)) for mode, way in ways]
                if not any(those):
                    continue
                us = [x["us"] if x and "us" in x and x["same"]
                      else float("inf") for x in those]
                rows.append((f"{precision} {name} {direction}  ",
                             [*map(cell, those), columns[us.index(min(us))]]))
                for i, y in enumerate([*us, min(us), min(
                        y for y, (mode, _) in zip(us, ways)
                        if mode != "benchmark")]):
                    for many, network in ((of20, "ResNet-20"),
                                          (of56, "ResNet-56")):
                        total.setdefault(network, {}).setdefault(i, 0)
                        total[network][i] += many * y
        for network, by_way in total.items():
            sums.append((f"{precision} {network}  ",
                         [f"{by_way[i]:.0f}".replace("inf", "-")
                          for i in range(len(columns) + 2)]))
    if rows:
        print_table("Microseconds of a convolution", [*columns, "fastest"],
                    rows)
        print_table("Microseconds of all convolutions of a step; the best of "
                    "each, and of each but for bench",
                    [*columns, "best", "no bench"], sums)
    rows = []
    columns = [f"{way} {mode}" for mode in ("heuristics", "mode-b",
                                            "benchmark") for way in LAYOUTS]
    columns += ["eager-nchw", "eager-nhwc", "compile-nhwc"]
    for network in ("cifar-resnet20", "cifar-resnet56"):
        for precision in PRECISIONS:
            those = [found.get((mode, "step", precision, network, "", way))
                     for mode, way in (
                         *((mode, way) for mode in (
                             "heuristics", "mode-b", "benchmark")
                           for way in LAYOUTS),
                         ("default", "eager-nchw"), ("default", "eager-nhwc"),
                         ("default", "compile-nhwc"))]
            rows.append((f"{network} {precision}  ", [
                f"{1e6 * batch / x['us']:.0f}" + "!" * (not x["same"])
                if x and "us" in x else cell(x) for x in those]))
    print_table("Images per second of steps without an optimiser", columns,
                rows)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--seconds", type=float, default=100,
                        help="after which it ends, whatever is not measured")
    parser.add_argument("--modes", default=",".join(MODES),
                        help="some of the ways to choose: " + ", ".join(MODES))
    parser.add_argument("--json", help="file for all that was measured")
    parser.add_argument("--quick", action="store_true",
                        help="two images: only to see it work")
    parser.add_argument("--mode", choices=MODES, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.mode:
        child(args)
        return
    modes = args.modes.split(",")
    if not set(modes) <= set(MODES):
        parser.error("there is no mode "
                     + ", ".join(sorted(set(modes) - set(MODES))))
    begin = time.monotonic()
    # All import PyTorch now; each measures alone.
    processes = {mode: start(args, mode) for mode in modes}
    found, failed = {}, []
    for mode, process in processes.items():
        left = begin + args.seconds - 2 - time.monotonic()
        lines = lines_of(process, min(MODES[mode][1], max(left, 0.1)))
        print(f"{mode}: {len(lines)} figures, {time.monotonic() - begin:.0f} s"
              " so far", file=sys.stderr, flush=True)
        if not lines:
            failed.append(mode)
        for x in lines:
            found[mode, x["what"], x["precision"], x["shape"],
                  x["direction"], x["way"]] = x
            if "failed" in x:
                print(f"{mode} {x['precision']} {x['shape']} {x['direction']} "
                      f"{x['way']}: {x['failed']}", file=sys.stderr)
    tables(found, 2 if args.quick else args.batch_size)
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump([{"mode": key[0], **x} for key, x in found.items()],
                      file, indent=1)
    print(f"\n{time.monotonic() - begin:.0f} s in all")
    if failed:
        sys.exit("nothing was measured: " + ", ".join(failed))


if __name__ == "__main__":
    main()
