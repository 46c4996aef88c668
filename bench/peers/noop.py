"""What the no-op benchmarks of the peers have in common."""

import argparse
import json


def parser(text):
    """A parser of --trials: no-op trials of one step and one result each."""
    result = argparse.ArgumentParser(description=text)
    result.add_argument("--trials", type=int, required=True)
    return result


def tell(trials, seconds):
    """Prints what the harness reads."""
    print(json.dumps({"trials_per_second": trials / seconds,
                      "trials": trials}))
