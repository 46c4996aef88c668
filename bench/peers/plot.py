"""Draws panels of curves, given as JSON on standard input, into the file
named.
"""

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
    """The same picture on one line, without parts that draw nothing, to a
    hundredth of a point.
    """
    svg = re.sub(r' d="[^"]*"', lambda path: re.sub(
        r"-?\d+\.\d+", lambda x: f"{float(x[0]):.2f}", path[0]), svg)
    svg = re.sub(r"(?s)<!DOCTYPE.*?>|<metadata>.*?</metadata>|<!--.*?-->", "",
                 svg)
    return re.sub(r"> <", "><", re.sub(r"\s+", " ", svg)).strip() + "\n"


given = json.load(sys.stdin)
panels = given["panels"]
columns = min(len(panels), 2)
rows = -(-len(panels) // columns)
figure, places = pyplot.subplots(rows, columns, squeeze=False,
                                 figsize=(6 * columns, 3.6 * rows),
                                 layout="constrained")
for axes, panel in zip(places.flat, panels):
    for number, (label, points) in enumerate(panel["curves"].items()):
        sizes, values, *band = zip(*points)
        # There are ten colours.
        style = ("-", "--", ":")[number // 10 % 3]
        axes.plot(sizes, values, style, label=label,
                  marker="o" if len(sizes) < 10 else None)
        if band and len(panel["curves"]) < 7:
            axes.fill_between(sizes, *band, alpha=0.15)
    axes.set(xscale="log", yscale="linear" if panel["linear"] else "log",
             title=panel["title"] or given["title"], xlabel=panel["axes"][0],
             ylabel=panel["axes"][1])
    axes.grid(True, which="major", alpha=0.3)
if len(panels) == 1:
    axes.legend()
else:
    figure.legend(*axes.get_legend_handles_labels(), loc="outside right upper")
svg = io.StringIO()
figure.savefig(svg, metadata={"Date": None})
pathlib.Path(sys.argv[1]).write_text(compact(svg.getvalue()))
