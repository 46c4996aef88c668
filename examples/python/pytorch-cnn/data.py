"""Fashion-MNIST, as tensors, from the IDX files that everybody hands out."""

import gzip
import os

import torch
from torch.utils.data import TensorDataset

FOLDER = "/usr/share/datasets/fashion-mnist"


def read(folder, name, header):
    """Returns the bytes of an IDX file, plain or gzipped, as a tensor."""
    path = os.path.join(folder, name)
    opened = open(path, "rb") if os.path.exists(path) else gzip.open(
        path + ".gz", "rb")
    with opened as file:
        return torch.frombuffer(bytearray(file.read()[header:]),
                                dtype=torch.uint8)


def load(train, validation, folder=FOLDER):
    """Returns the first and the last so many of the 60,000 training images.

    Two data sets of images, (1, 28, 28) with mean 0 and variance 1 about, and
    of labels.
    """
    images = read(folder, "train-images-idx3-ubyte", 16).view(-1, 1, 28, 28)
    labels = read(folder, "train-labels-idx1-ubyte", 8).long()
    if train + validation > len(images):
        raise ValueError(f"there are {len(images)} images, not "
                         f"{train} + {validation}")

    def some(x):
        return TensorDataset((images[x] / 255.0 - 0.286) / 0.353, labels[x])
    return some(slice(train)), some(slice(len(images) - validation, None))
