#!/usr/bin/env python3
"""Unpacks the images that black-box tests train on, or the first so many:
plain_data.py FOLDER [IMAGES]

Every trainer reads all of them; unpacking took a third of a short run.
"""

import gzip
import math
import os
import shutil
import sys

SOURCE = "/usr/share/datasets/fashion-mnist"


def copy_beginning(source, to, most):
    """Copies the first `most` items of a file in IDX form."""
    magic = source.read(4)
    shape = [int.from_bytes(source.read(4), "big") for _ in range(magic[3])]
    shape[0] = min(shape[0], most)
    to.write(magic + b"".join(x.to_bytes(4, "big") for x in shape))
    to.write(source.read(math.prod(shape)))


def main():
    folder = sys.argv[1]
    most = int(sys.argv[2]) if len(sys.argv) > 2 else None
    os.makedirs(folder, exist_ok=True)
    for name in ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"):
        path = os.path.join(folder, name)
        if os.path.exists(path):
            continue
        with gzip.open(os.path.join(SOURCE, name + ".gz")) as packed:
            with open(path + ".new", "wb") as plain:
                if most is None:
                    shutil.copyfileobj(packed, plain, 1 << 20)
                else:
                    copy_beginning(packed, plain, most)
        os.rename(path + ".new", path)


if __name__ == "__main__":
    main()
