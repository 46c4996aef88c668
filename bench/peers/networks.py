"""The papers' networks in PyTorch, as one writes them: what bench/gpu compares
ours with.
"""

from torch import nn
from torch.nn import functional


class Block(nn.Module):
    """Two convolutions of 3 x 3 beside a shortcut (He et al., 2016)."""

    def __init__(self, inputs, outputs):
        super().__init__()
        stride = 1 if inputs == outputs else 2
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.downsample = nn.Identity()
        if inputs != outputs:
            self.downsample = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False),
                nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = functional.relu(self.bn1(self.conv1(x)))
        return functional.relu(self.bn2(self.conv2(y)) + self.downsample(x))


def resnet(depth):
    """The CIFAR form of depth 6n + 2."""
    layers = [nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16),
              nn.ReLU()]
    inputs = 16
    for outputs in (16, 32, 64):
        for _ in range((depth - 2) // 6):
            layers.append(Block(inputs, outputs))
            inputs = outputs
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(64, 10))


NETWORKS = {"cifar-resnet20": lambda: resnet(20),
            "cifar-resnet56": lambda: resnet(56)}
