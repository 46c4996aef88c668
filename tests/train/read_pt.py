#!/usr/bin/env python3
"""Checks weights that the built-in workloads export.

usage: read_pt.py TRAINING_TESTS

Has the test program export each workload, reads the files with nothing but the
standard library, and compares names, shapes and values with what the program
says they are. Where PyTorch can be imported, torch.load(weights_only=True) must
read the same. HIPPO_TORCH_PYTHON may name a folder that holds PyTorch.
"""

import os
import pickle
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections import OrderedDict

WORKLOADS = ["fashion-mlp", "fashion-cnn", "fashion-resnet",
             "cifar-mobilenetv2", "squad-bert-tiny"]


def rebuild_tensor(storage, offset, shape, stride, *_):
    """Stands in for torch._utils._rebuild_tensor_v2."""
    expected = 1
    for size, step in zip(reversed(shape), reversed(stride)):
        assert size == 1 or step == expected, f"gaps: {shape}, {stride}"
        expected *= size
    assert offset == 0 and len(storage) == 4 * expected
    return tuple(shape), zlib.crc32(storage)


class Reader(pickle.Unpickler):
    """Allows what torch.load(weights_only=True) allows, and less."""

    known = {
        ("torch._utils", "_rebuild_tensor_v2"): rebuild_tensor,
        ("torch", "FloatStorage"): "float",
        ("collections", "OrderedDict"): OrderedDict,
    }

    def __init__(self, archive, folder):
        super().__init__(archive.open(folder + "/data.pkl"))
        self.archive = archive
        self.folder = folder

    def find_class(self, module, name):
        if (module, name) not in self.known:
            raise pickle.UnpicklingError(f"{module}.{name} is not allowed")
        return self.known[module, name]

    def persistent_load(self, pid):
        kind, dtype, key, device, size = pid
        assert (kind, dtype, device) == ("storage", "float", "cpu"), pid
        data = self.archive.read(f"{self.folder}/data/{key}")
        assert len(data) == 4 * size, pid
        return data


def read_plain(path):
    """Returns {name: (shape, crc32 of the values)}."""
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        folder = archive.namelist()[0].split("/")[0]
        return Reader(archive, folder).load()


def read_torch(torch, path):
    tensors = torch.load(path, weights_only=True)
    assert type(tensors) is dict, type(tensors)
    return {
        name: (tuple(x.shape), zlib.crc32(bytes(x.contiguous().view(-1)
                                                .view(torch.uint8).tolist())))
        for name, x in tensors.items()
    }


def import_torch():
    folder = os.environ.get("HIPPO_TORCH_PYTHON")
    if folder:
        sys.path.insert(0, folder)
    try:
        import torch
        return torch
    except (ImportError, OSError) as e:
        print(f"torch.load: skipped, PyTorch cannot be imported ({e})")
        return None


def expected_of(text):
    result = {}
    for line in text.splitlines():
        name, shape, crc = line.split()
        result[name] = (tuple(int(x) for x in shape.split("x")), int(crc))
    return result


def main():
    program = sys.argv[1]
    torch = import_torch()
    with tempfile.TemporaryDirectory() as folder:
        for workload in WORKLOADS:
            path = os.path.join(folder, workload + ".pt")
            told = subprocess.run([program, "--export", workload, path],
                                  check=True, text=True,
                                  stdout=subprocess.PIPE).stdout
            expected = expected_of(told)
            assert len(expected) >= 6, told
            plain = read_plain(path)
            assert plain == expected, (plain, expected)
            if torch:
                assert read_torch(torch, path) == expected
                print(f"{workload}: torch.load agrees")
            print(f"{workload}: {len(expected)} tensors agree")


main()
