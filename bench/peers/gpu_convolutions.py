"""Convolutions of ResNet-20 by our kernels and by cuDNN's deterministic ones.

    bench/peers/gpu_convolutions.py LIBRARY [PRECISION...]

LIBRARY is libhippo_cuda.so. Each convolution is measured forward (y), for the
gradient of its input (dx) and of its weights (dw), in a CUDA graph; then those
of a whole step, alone and by 16 streams at once. Results are compared with
LibTorch's in double precision first. Needs a GPU and PyTorch 2.11.
"""

import argparse
import ctypes
import sys
import time

import torch

INTERFACE = 6  # HIPPO_CUDA_INTERFACE of kernels.h, as are the structures below

# Images, height, width, inputs, outputs, side, stride; and how many there are.
LAYERS = {(128, 32, 32, 3, 16, 3, 1): 1, (128, 32, 32, 16, 16, 3, 1): 6,
          (128, 32, 32, 16, 32, 3, 2): 1, (128, 32, 32, 16, 32, 1, 2): 1,
          (128, 16, 16, 32, 32, 3, 1): 5, (128, 16, 16, 32, 64, 3, 2): 1,
          (128, 16, 16, 32, 64, 1, 2): 1, (128, 8, 8, 64, 64, 3, 1): 5}

# hippo_cuda_type, tf32, and the type of activations; the largest distance from
# results of double precision.
PRECISIONS = {"float32": (0, 0, torch.float32, 2e-6),
              "tf32": (0, 1, torch.float32, 8e-4),
              "bfloat16": (1, 0, torch.bfloat16, 4e-3),
              "float16": (2, 0, torch.float16, 6e-4)}
LAST = torch.channels_last


class Conv(ctypes.Structure):
    _fields_ = [("images", ctypes.c_int64)] + [
        (x, ctypes.c_int32) for x in ("height", "width", "inputs", "outputs",
                                      "side", "stride", "type", "tf32",
                                      "weights_last")]


class Weights(ctypes.Structure):
    _fields_ = [("weight", ctypes.c_void_p * 64),
                ("rows", ctypes.c_void_p * 64),
                ("inputs", ctypes.c_int32 * 64),
                ("outputs", ctypes.c_int32 * 64),
                ("side", ctypes.c_int32 * 64), ("count", ctypes.c_int32),
                ("type", ctypes.c_int32), ("weights_last", ctypes.c_int32)]


class Kernels:
    """The functions of the library."""

    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        if self.library.hippo_cuda_interface() != INTERFACE:
            sys.exit(f"{path}: its interface is not {INTERFACE}")
        for name in ("hippo_cuda_conv_rows", "hippo_cuda_conv_workspace"):
            getattr(self.library, name).restype = ctypes.c_int64

    def __call__(self, name, *args):
        pointers = [ctypes.c_void_p(x.data_ptr())
                    if isinstance(x, torch.Tensor) else x for x in args]
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        failed = getattr(self.library, f"hippo_cuda_{name}")(*pointers, stream)
        if failed:
            raise RuntimeError(f"{name}: CUDA error {failed}")

    def size(self, name, conv):
        return getattr(self.library, f"hippo_cuda_conv_{name}")(
            ctypes.byref(conv))


class Layer:
    """One convolution with its tensors: three calls of ours, three of cuDNN."""

    def __init__(self, kernels, shape, precision):
        images, height, width, inputs, outputs, side, self.stride = shape
        self.kernels, self.precision, self.pad = kernels, precision, side // 2
        number, tf32, self.type, self.most = PRECISIONS[precision]

        def made(*sizes):
            x = torch.randn(*sizes, device="cuda").to(self.type)
            return x.contiguous(memory_format=LAST)

        after = [(x + self.stride - 1) // self.stride for x in (height, width)]
        self.x = made(images, inputs, height, width)
        self.dy = made(images, outputs, *after)
        self.weight = torch.randn(outputs, inputs, side, side, device="cuda")
        self.weight /= (inputs * side * side) ** .5
        self.y, self.dx = torch.empty_like(self.dy), torch.empty_like(self.x)
        self.dw = torch.empty_like(self.weight)
        self.conv = Conv(images, height, width, inputs, outputs, side,
                         self.stride, number, tf32, 0)
        self.rows = torch.empty(kernels.size("rows", self.conv),
                                dtype=torch.uint8, device="cuda")
        self.workspace = torch.empty(kernels.size("workspace", self.conv),
                                     device="cuda")
        weights = Weights(count=1, type=number)
        weights.weight[0] = self.weight.data_ptr()
        weights.rows[0] = self.rows.data_ptr()
        weights.inputs[0], weights.outputs[0] = inputs, outputs
        weights.side[0] = side
        kernels("conv_prepare", ctypes.byref(weights))
        self.has_dx = inputs >= 16

    def ours(self):
        conv = ctypes.byref(self.conv)
        return [lambda: self.kernels("convolve", conv, self.x, self.rows,
                                     self.y),
                lambda: self.kernels("convolve_input", conv, self.dy,
                                     self.rows, self.dx),
                lambda: self.kernels("convolve_weight", conv, self.x, self.dy,
                                     self.dw, self.workspace)]

    def theirs(self):
        torch.backends.cudnn.allow_tf32 = self.precision == "tf32"
        # cuDNN has no deterministic channels-last ways for float32.
        order = (torch.contiguous_format if self.precision == "float32"
                 else LAST)
        x, dy, weight = (t.to(self.type).contiguous(memory_format=order)
                         for t in (self.x, self.dy, self.weight))
        stride, pad = [self.stride] * 2, [self.pad] * 2

        def back(*wanted):
            return torch.ops.aten.convolution_backward(
                dy, x, weight, None, stride, pad, [1, 1], False, [0, 0], 1,
                [*wanted, False])

        return [lambda: torch.nn.functional.conv2d(x, weight, None, stride,
                                                   pad),
                lambda: back(True, False), lambda: back(False, True)]

    def check(self):
        for call in self.calls(self.ours()):
            call()
        x, dy, weight = (t.cpu().double().contiguous() for t in (
            self.x, self.dy,
            self.weight if self.precision == "tf32"
            else self.weight.to(self.type)))
        x.requires_grad_()
        weight.requires_grad_()
        y = torch.nn.functional.conv2d(x, weight, None, self.stride, self.pad)
        y.backward(dy)
        pairs = [(self.y, y.detach()), (self.dw, weight.grad)]
        if self.has_dx:
            pairs.append((self.dx, x.grad))
        for ours, exact in pairs:
            distance = (ours.cpu().double() - exact).norm() / exact.norm()
            if not distance < self.most:
                sys.exit(f"{self.precision}: off by {distance:.1e}")

    def calls(self, three):
        return [x for i, x in enumerate(three) if i != 1 or self.has_dx]


def recorded(call, times, stream):
    with torch.cuda.stream(stream):
        call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        for _ in range(times):
            call()
    return graph


def microseconds(call, times=20, rounds=15):
    graph = recorded(call, times, torch.cuda.Stream())
    taken = []
    for _ in range(rounds + 1):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        taken.append(begin.elapsed_time(end) / times * 1e3)
    return sorted(taken[1:])[rounds // 2]


def of_a_step(kernels, precision, whose, streams, rounds=20):
    """Microseconds of all convolutions of a step, of each of the streams."""
    kept, graphs = [], []
    for _ in range(streams):
        layers = [Layer(kernels, shape, precision)
                  for shape, count in LAYERS.items() for _ in range(count)]
        calls = [getattr(x, whose)() for x in layers]

        def step(layers=layers, calls=calls):
            for forward, _, _ in calls:
                forward()
            for layer, (_, back, weight) in zip(layers[::-1], calls[::-1]):
                weight()
                if layer.has_dx:
                    back()

        kept.append(step)
        stream = torch.cuda.Stream()
        graphs.append((stream, recorded(step, 1, stream)))

    def run(times):
        for _ in range(times):
            for stream, graph in graphs:
                with torch.cuda.stream(stream):
                    graph.replay()
        torch.cuda.synchronize()

    run(3)
    begin = time.perf_counter()
    run(rounds)
    return (time.perf_counter() - begin) / rounds / streams * 1e6


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("precisions", nargs="*", metavar="PRECISION",
                        default=["float32", "tf32", "bfloat16"])
    args = parser.parse_args()
    torch.backends.cudnn.benchmark = False
    torch.backends.cudnn.deterministic = True
    kernels = Kernels(args.library)
    found = []
    for precision in args.precisions:
        for shape in LAYERS:
            layer = Layer(kernels, shape, precision)
            layer.check()
            ours, theirs = (
                " ".join(f"{microseconds(x):5.1f}" for x in layer.calls(three))
                for three in (layer.ours(), layer.theirs()))
            print(precision, *shape, f"ours {ours}, cuDNN {theirs} us",
                  flush=True)
        times = {(whose, n): of_a_step(kernels, precision, whose, n)
                 for whose in ("ours", "theirs") for n in (1, 16)}
        found.append(f"{precision} " + ", ".join(
            f"{times['theirs', n] / times['ours', n]:.2f} x cuDNN's speed "
            f"({times['ours', n]:.0f} us a step"
            + (" of each of 16)" if n > 1 else ")") for n in (1, 16)))
    print("; ".join(found))


if __name__ == "__main__":
    main()
