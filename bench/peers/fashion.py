"""The built-in workloads as a user of PyTorch writes them: the same networks,
data, loss and optimiser, trained in eager mode or compiled.
"""

import gzip
import pathlib

import numpy
import torch
from torch import nn
from torch.nn import functional

FOLDER = pathlib.Path("/usr/share/datasets/fashion-mnist")
PIXEL_MEAN, PIXEL_DEVIATION = 0.2860, 0.3530


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(784, 128)
        self.fc2 = nn.Linear(128, 128)
        self.fc3 = nn.Linear(128, 10)

    def forward(self, x):
        x = functional.relu(self.fc1(x.flatten(1)))
        x = functional.relu(self.fc2(x))
        return self.fc3(x)


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(32)
        self.fc = nn.Linear(32 * 7 * 7, 10)

    def forward(self, x):
        x = functional.max_pool2d(self.conv1(x), 2)
        x = functional.relu(self.bn1(x))
        x = functional.max_pool2d(self.conv2(x), 2)
        x = functional.relu(self.bn2(x))
        return self.fc(x.flatten(1))


class Block(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        stride = 1 if inputs == outputs else 2
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, padding=1,
                               bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.downsample = None
        if inputs != outputs:
            self.downsample = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False),
                nn.BatchNorm2d(outputs))

    def forward(self, x):
        shortcut = x if self.downsample is None else self.downsample(x)
        x = functional.relu(self.bn1(self.conv1(x)))
        return functional.relu(self.bn2(self.conv2(x)) + shortcut)


class ResNet(nn.Module):
    """ResNet-20 of He et al. (2016), for one channel."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        widths = [16] * 4 + [32] * 3 + [64] * 3
        self.blocks = nn.Sequential(
            *[Block(*pair) for pair in zip(widths, widths[1:])])
        self.fc = nn.Linear(64, 10)

    def forward(self, x):
        x = functional.relu(self.bn1(self.conv1(x)))
        return self.fc(self.blocks(x).mean((2, 3)))


MODELS = {"fashion-mlp": Mlp, "fashion-cnn": Cnn, "fashion-resnet": ResNet}


def read_idx(name, header):
    with gzip.open(FOLDER / (name + ".gz")) as file:
        return numpy.frombuffer(file.read(), numpy.uint8, offset=header)


def read_data(training, validation):
    """Returns (images, labels) of the first and of the last images."""
    pixels = read_idx("train-images-idx3-ubyte", 16).reshape(-1, 1, 28, 28)
    labels = torch.from_numpy(
        read_idx("train-labels-idx1-ubyte", 8).astype(numpy.int64))

    def part(which):
        images = torch.from_numpy(pixels[which].astype(numpy.float32) / 255)
        return (images - PIXEL_MEAN) / PIXEL_DEVIATION, labels[which].clone()

    return part(slice(0, training)), part(slice(len(pixels) - validation, None))


def train_epoch(model, optimizer, data, batch_size, generator=None):
    """Trains once over the images in a random order."""
    images, labels = data
    model.train()
    for index in torch.randperm(len(labels),
                                generator=generator).split(batch_size):
        optimizer.zero_grad(set_to_none=True)
        loss = functional.cross_entropy(model(images[index]), labels[index])
        loss.backward()
        optimizer.step()


def accuracy(model, data, batch_size=1000):
    """Returns the share of the images that the model gets right."""
    images, labels = data
    model.eval()
    with torch.inference_mode():
        right = sum(int((model(x).argmax(1) == y).sum()) for x, y in
                    zip(images.split(batch_size), labels.split(batch_size)))
    return right / len(labels)
