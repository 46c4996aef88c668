"""Draws curves, given as JSON on standard input, into the file named."""

import json
import sys

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "hippo"  # equal figures, equal files
from matplotlib import pyplot  # noqa: E402

given = json.load(sys.stdin)
figure, axes = pyplot.subplots(figsize=(6, 3.6), layout="constrained")
for label, points in given["curves"].items():
    axes.plot(*zip(*points), marker="o", label=label)
axes.set(xscale="log", yscale="log", title=given["title"],
         xlabel=given["axes"][0], ylabel=given["axes"][1])
axes.grid(True, which="major", alpha=0.3)
axes.legend()
figure.savefig(sys.argv[1], metadata={"Date": None})
