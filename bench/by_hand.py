"""Trains a workload without Hippo; prints its steps per second.

    by_hand.py CLASS STEPS NAME=VALUE... [-- ARG=NUMBER...]
"""

import os
import sys
import time

import hippo_hpo as hippo

sys.path.insert(0, os.getcwd())
import train


def numbers(words):
    result = {}
    for word in words:
        name, value = word.split("=")
        number = float(value)
        result[name] = int(number) if number.is_integer() else number
    return result


def main(name, steps, *words):
    at = words.index("--") if "--" in words else len(words)
    values = {k: [float(v)] for k, v in numbers(words[:at]).items()}
    workload = getattr(train, name)()
    workload.setup(1, "cpu", numbers(words[at + 1:]))
    workload.init()
    begin = time.perf_counter()
    workload.train(0, int(steps), hippo.HyperParameters(0, int(steps), values))
    print(int(steps) / (time.perf_counter() - begin))


main(*sys.argv[1:])
