#!/usr/bin/env python3
"""Builds the documentation site; a warning of mkdocs or Doxygen fails it."""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def published(page):
    """The page of the site that comes of a page of docs/."""
    return page.with_suffix(".html").name


class Site(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.site = pathlib.Path(folder.name) / "site"
        cls.done = subprocess.run([ROOT / "scripts/docs", cls.site], text=True,
                                  capture_output=True)

    def test_there_is_no_warning(self):
        self.assertEqual(self.done.returncode, 0, self.done.stderr)
        self.assertEqual(self.done.stderr, "")

    def test_each_page_is_there(self):
        names = {x.name for x in self.site.glob("*.html")}
        wanted = {published(x) for x in (ROOT / "docs").glob("*.md")}
        self.assertLessEqual(
            wanted | {"contributing.html", "changelog.html"}, names)

    def test_each_name_of_the_python_package_is_there(self):
        text = (self.site / "api/python.html").read_text()
        init = (ROOT / "python/hippo_hpo/__init__.py").read_text()
        names, = re.findall(r"(?s)__all__ = \[(.*?)\]", init)
        shown = set(re.findall(r'id="hippo_hpo\.(?:function\.)?(\w+)"', text))
        self.assertLessEqual(set(re.findall(r'"(\w+)"', names)), shown)

    def test_each_installed_header_is_there(self):
        text = (self.site / "cpp/files.html").read_text()
        shown = set(re.findall(r">(\w+\.hpp)<", text))
        self.assertLessEqual(
            {"client.hpp", "workload.hpp", "sequence.hpp", "lease.hpp",
             "text.hpp", "checkpoint_file.hpp"}, shown)


if __name__ == "__main__":
    unittest.main(verbosity=2 if "-v" in sys.argv else 1)
