#!/usr/bin/env python3
"""Records what reference networks give, for networks_test.cpp.

  record_networks.py          writes networks.json beside this file
  record_networks.py --check  compares with networks.json instead

Needs the packages below, from PyPI, in any Python that has them:

  python3 -m venv venv
  venv/bin/pip install torch==2.11.0 torchvision==0.26.0
  venv/bin/python record_networks.py

Exits with 77 (skip) if --check lacks them.

The references:
- residual networks (He et al., 2016, CIFAR form of depth 6n + 2): torchvision's
  BasicBlock, with projections where the shape changes (option B);
- MobileNetV2 (Sandler et al., 2018): torchvision's, with stride 1 instead of 2
  in the first convolution and in the stage of 24 channels, so that images of
  32 x 32 are 4 x 4 at the end;
- wide residual networks (Zagoruyko and Komodakis, 2016): WideResNet below,
  after the paper, since torchvision has only the ImageNet form, which is not
  pre-activated.

For every network the file holds the number of parameters with 10 and with 100
classes. For some, with weights and images by the formula of `numbers`, it holds
the scores of evaluation (running statistics), and of training (statistics of
the batch) the scores, the loss, the gradients and the running statistics
afterwards. Of a tensor it keeps the sum, the sum of absolute values, the largest
absolute value, and the elements at 0, 1/4, 1/2, 3/4 of its size and the last.
"""

import json
import os
import sys

TORCH, TORCHVISION = "2.11.0", "0.26.0"
FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                    "networks.json")


def skip(why):
    print("skipped:", why)
    sys.exit(77)


try:
    import numpy as np
    import torch
    import torchvision
    from torch import nn
    from torchvision.models.mobilenetv2 import mobilenet_v2
    from torchvision.models.resnet import BasicBlock
except ImportError as why:
    skip(f"a package is not here: {why}")
for module, version in (torch, TORCH), (torchvision, TORCHVISION):
    if module.__version__.split("+")[0] != version:
        skip(f"{module.__name__} is {module.__version__}, the recording is of "
             f"{version}")


class ResNet(nn.Module):
    """3n blocks of two 3 x 3 convolutions, of 16, 32 and 64 channels."""

    def __init__(self, depth, classes, channels=3):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, 16, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        blocks = (depth - 2) // 6
        self.layer1 = self.stage(16, 16, blocks)
        self.layer2 = self.stage(16, 32, blocks)
        self.layer3 = self.stage(32, 64, blocks)
        self.fc = nn.Linear(64, classes)

    @staticmethod
    def stage(inputs, outputs, blocks):
        first = BasicBlock(inputs, outputs)
        if inputs != outputs:
            first = BasicBlock(inputs, outputs, 2, nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, 2, bias=False),
                nn.BatchNorm2d(outputs)))
        return nn.Sequential(first, *(BasicBlock(outputs, outputs)
                                      for _ in range(blocks - 1)))

    def forward(self, x):
        x = torch.relu(self.bn1(self.conv1(x)))
        x = self.layer3(self.layer2(self.layer1(x)))
        return self.fc(x.mean((2, 3)))


class WideBlock(nn.Module):
    """BN-ReLU-conv-BN-ReLU-conv. Where the shape changes, the shortcut is a
    1 x 1 convolution of what the first BN and ReLU give."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.bn1 = nn.BatchNorm2d(inputs)
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.shortcut = None
        if inputs != outputs:
            self.shortcut = nn.Conv2d(inputs, outputs, 1, stride, bias=False)

    def forward(self, x):
        active = torch.relu(self.bn1(x))
        y = self.conv2(torch.relu(self.bn2(self.conv1(active))))
        return y + (x if self.shortcut is None else self.shortcut(active))


class WideResNet(nn.Module):
    """WRN-depth-width, depth 6n + 4."""

    def __init__(self, depth, width, classes):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, padding=1, bias=False)
        blocks = (depth - 4) // 6
        sizes = [16, 16 * width, 32 * width, 64 * width]
        for i in 1, 2, 3:
            setattr(self, f"layer{i}", nn.Sequential(*(
                WideBlock(sizes[i - 1] if j == 0 else sizes[i], sizes[i],
                          2 if i > 1 and j == 0 else 1)
                for j in range(blocks))))
        self.bn1 = nn.BatchNorm2d(sizes[3])
        self.fc = nn.Linear(sizes[3], classes)

    def forward(self, x):
        x = self.layer3(self.layer2(self.layer1(self.conv1(x))))
        return self.fc(torch.relu(self.bn1(x)).mean((2, 3)))


def mobilenet(classes):
    net = mobilenet_v2(num_classes=classes, dropout=0, inverted_residual_setting=[
        # expansion, channels, blocks, stride
        [1, 16, 1, 1], [6, 24, 2, 1], [6, 32, 3, 2], [6, 64, 4, 2],
        [6, 96, 3, 1], [6, 160, 3, 2], [6, 320, 1, 1]])
    net.features[0][0].stride = (1, 1)
    return net


NETWORKS = {
    **{f"resnet{depth}": lambda classes, depth=depth: ResNet(depth, classes)
       for depth in (20, 32, 44, 56, 110)},
    "wrn16-4": lambda classes: WideResNet(16, 4, classes),
    "mobilenetv2": mobilenet,
}
RUN = ["resnet20", "wrn16-4", "mobilenetv2"]
BATCH = 4


def numbers(name, shape):
    """Returns doubles of [-1, 1): a hash of the name and of the index."""
    mask = (1 << 64) - 1
    key = 0xCBF29CE484222325  # FNV-1a
    for byte in name.encode():
        key = ((key ^ byte) * 0x100000001B3) & mask
    size = int(np.prod(shape))
    with np.errstate(over="ignore"):
        x = np.uint64(key) + np.arange(1, size + 1, dtype=np.uint64) \
            * np.uint64(0x9E3779B97F4A7C15)  # SplitMix64
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        x = x ^ (x >> np.uint64(31))
    return ((x >> np.uint64(40)).astype(np.float64) * 2.0 ** -23 - 1).reshape(
        shape)


def fill(net):
    """Sets every tensor by its name.

    Weights keep activations near 1 in size. Shifts of normalisations put most
    channels well between 0 and 6, few below and few above: activations so near a
    kink of ReLU or ReLU6 that rounding decides of their gradient must be rare.
    """
    for name, x in net.state_dict().items():
        if name.endswith("num_batches_tracked"):
            continue
        values = numbers(name, x.shape)
        if x.dim() > 1:
            values = values * np.sqrt(6 / x[0].numel())
        elif name.endswith("running_var"):
            values = 1 + values / 2
        elif name.endswith(("running_mean", "fc.bias", "classifier.1.bias")):
            values = values / 4
        elif name.endswith("weight"):
            values = 0.3 * (1 + values / 2)
        else:
            values = np.where(np.abs(values) < 0.97, 1.5 + values / 4,
                              np.where(values < 0, -2, 8))
        x.copy_(torch.from_numpy(values.astype(np.float32)))


def summary(x):
    flat = x.detach().reshape(-1)
    size = flat.numel()
    wide = flat.double()
    at = [0, size // 4, size // 2, size * 3 // 4, size - 1]
    return {"sum": wide.sum().item(), "abs_sum": wide.abs().sum().item(),
            "max": wide.abs().max().item(),
            "elements": [flat[i].item() for i in at]}


def run(make, dtype=torch.float32):
    net = make(10)
    fill(net)
    net = net.to(dtype)
    images = torch.from_numpy(
        numbers("images", (BATCH, 3, 32, 32)).astype(np.float32)).to(dtype) * 2
    labels = torch.arange(BATCH) * 3 % 10
    net.eval()
    evaluation = net(images)
    net.train()
    scores = net(images)
    loss = nn.functional.cross_entropy(scores, labels)
    loss.backward()
    return {
        "evaluation": {"scores": evaluation.tolist()},
        "training": {
            "scores": scores.tolist(),
            "loss": loss.item(),
            "gradients": {name: summary(x.grad)
                          for name, x in net.named_parameters()},
            "buffers": {name: summary(x) for name, x in net.named_buffers()
                        if not name.endswith("num_batches_tracked")},
        },
    }


def rounded(x):
    """Numbers of 32 bits need no more than 9 digits."""
    if isinstance(x, float):
        return float(f"{x:.9g}")
    if isinstance(x, list):
        return [rounded(y) for y in x]
    if isinstance(x, dict):
        return {name: rounded(y) for name, y in x.items()}
    return x


def differences(a, b, path=""):
    """Yields where two recordings differ by more than rounding may."""
    if isinstance(a, dict):
        if a.keys() != b.keys():
            yield f"{path}: other names"
            return
        for name in a:
            yield from differences(a[name], b[name], f"{path}/{name}")
    elif isinstance(a, list):
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            yield from differences(x, y, f"{path}/{i}")
    elif isinstance(a, float):
        if abs(a - b) > 1e-4 * max(abs(a), abs(b), 1e-2):
            yield f"{path}: {a} is now {b}"
    elif a != b:
        yield f"{path}: {a} is now {b}"


def main():
    torch.manual_seed(1)
    torch.set_num_threads(1)
    with torch.no_grad():
        counts = {name: {str(classes): sum(p.numel()
                                           for p in make(classes).parameters())
                         for classes in (10, 100)}
                  for name, make in NETWORKS.items()}
    with torch.enable_grad():
        runs = {name: rounded(run(NETWORKS[name])) for name in RUN}
    found = {"torch": TORCH, "torchvision": TORCHVISION, "batch": BATCH,
             "parameters": counts, "runs": runs}
    if "--check" in sys.argv:
        with open(FILE) as file:
            wrong = list(differences(json.load(file), found))
        sys.exit("\n".join(wrong[:20]) or 0)
    with open(FILE, "w") as file:
        json.dump(found, file, separators=(",", ":"))
        file.write("\n")


if __name__ == "__main__":
    main()
