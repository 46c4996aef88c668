"""Draws curves, given as JSON on standard input, into the file named."""

import io
import json
import pathlib
import re
import sys

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "hippo"  # equal figures, equal files
from matplotlib import pyplot  # noqa: E402


def compact(svg):
    """The same picture on one line, without parts that draw nothing."""
    svg = re.sub(r"(?s)<!DOCTYPE.*?>|<metadata>.*?</metadata>|<!--.*?-->", "",
                 svg)
    return re.sub(r"> <", "><", re.sub(r"\s+", " ", svg)).strip() + "\n"


given = json.load(sys.stdin)
figure, axes = pyplot.subplots(figsize=(6, 3.6), layout="constrained")
for label, points in given["curves"].items():
    axes.plot(*zip(*points), marker="o", label=label)
axes.set(xscale="log", yscale="log", title=given["title"],
         xlabel=given["axes"][0], ylabel=given["axes"][1])
axes.grid(True, which="major", alpha=0.3)
axes.legend()
svg = io.StringIO()
figure.savefig(svg, metadata={"Date": None})
pathlib.Path(sys.argv[1]).write_text(compact(svg.getvalue()))
