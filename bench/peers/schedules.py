"""Hyper-parameter sequences as a user of a peer writes them: the value for
each epoch, of a number or of a map as in a study file.
"""

import math


def value(sequence, epoch):
    """Returns the value in the epoch, the first of which is 0."""
    if not isinstance(sequence, dict):
        return sequence
    (family, options), = sequence.items()
    return FAMILIES[family](options, epoch)


def constant(x, _):
    return x


def multistep(x, epoch):
    return x["initial"] * x["gamma"] ** sum(m <= epoch
                                            for m in x["milestones"])


def exponential(x, epoch):
    return x["initial"] * x["gamma"] ** epoch


def cosine(x, epoch):
    end, part = x.get("end", 0), min(epoch / x["horizon"], 1)
    return end + (x["initial"] - end) * (1 + math.cos(math.pi * part)) / 2


def warmup(x, epoch):
    """A line; then another sequence, which starts from where the line ends
    unless it says otherwise.
    """
    if epoch < x["steps"]:
        return x["from"] + (x["to"] - x["from"]) * epoch / x["steps"]
    if "then" not in x:
        return x["to"]
    then = x["then"]
    if isinstance(then, dict):
        then = {family: {"initial": x["to"], **options}
                if isinstance(options, dict) else options
                for family, options in then.items()}
    return value(then, epoch - x["steps"])


def piecewise(x, epoch):
    return [v for begin, v in x if begin <= epoch][-1]


FAMILIES = {f.__name__: f for f in (constant, multistep, exponential, cosine,
                                    warmup, piecewise)}
