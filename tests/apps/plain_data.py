#!/usr/bin/env python3
"""Unpacks the images that black-box tests train on: plain_data.py FOLDER

Every trainer reads all of them; unpacking took a third of a short run.
"""

import gzip
import os
import shutil
import sys

SOURCE = "/usr/share/datasets/fashion-mnist"


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    for name in ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"):
        path = os.path.join(folder, name)
        if os.path.exists(path):
            continue
        with gzip.open(os.path.join(SOURCE, name + ".gz")) as packed:
            with open(path + ".new", "wb") as plain:
                shutil.copyfileobj(packed, plain, 1 << 20)
        os.rename(path + ".new", path)


if __name__ == "__main__":
    main()
