"""Writes recorded cases of schedules, or compares them with those of before."""

import json
import math
import os
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))


def skip(why):
    print("skipped:", why)
    sys.exit(77)


def finish(name, versions, cases):
    """Writes the cases to a file of this folder, or with --check compares them
    with it. Returns the exit code.
    """
    path = os.path.join(FOLDER, name)
    if sys.argv[1:] != ["--check"]:
        text = json.dumps({**versions, "cases": cases})
        with open(path, "w") as out:
            out.write(text.replace('{"class"', '\n{"class"') + "\n")
        print(len(cases), "cases")
        return 0
    with open(path) as recorded:
        old = json.load(recorded)["cases"]
    for x, y in zip(old, cases):
        if not same(x, y):
            print("recorded:", x, "\nnow:", y)
            return 1
    print(f"{len(old)} cases recorded, {len(cases)} now")
    return len(old) != len(cases)


def same(x, y):
    """Whether cases agree; another libm may differ in the last digit."""
    return ({**x, "values": 0} == {**y, "values": 0}
            and len(x["values"]) == len(y["values"])
            and all(math.isclose(a, b, rel_tol=1e-14, abs_tol=1e-17)
                    for a, b in zip(x["values"], y["values"])))
