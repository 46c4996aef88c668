#!/usr/bin/env python3
"""The files that CONTRIBUTING.md names exist."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOP = {x.name for x in ROOT.iterdir() if x.is_dir()} - {"build"}


def named(text):
    """The paths of a page, each from the root; NAME stands for any name. A file
    without a folder is in the folder of the one before it in its cell.
    """
    for cell in re.split(r"[|\n]", text):
        folder = None
        for path in re.findall(r"`([\w./-]+)`", cell):
            if path.split("/")[0] in TOP and "/" in path:
                folder = path.rpartition("/")[0]
            elif folder and re.fullmatch(r"\w+\.\w+", path):
                path = f"{folder}/{path}"
            else:
                continue
            yield path.rstrip("/").replace("NAME", "*")


class Paths(unittest.TestCase):
    def test_files_exist(self):
        paths = list(named((ROOT / "CONTRIBUTING.md").read_text()))
        self.assertGreater(len(paths), 80)
        for path in paths:
            with self.subTest(path):
                self.assertTrue(any(ROOT.glob(path)))

    def test_names_are_read(self):
        self.assertEqual(
            list(named("| `tests/docs/NAME.py`, `a.hpp` | `b.hpp` |")),
            ["tests/docs/*.py", "tests/docs/a.hpp"])


if __name__ == "__main__":
    unittest.main()
