#!/usr/bin/env python3
"""Measures profiles for examples/paper on a device, and writes them.

    bench/measured_profiles.py [NAME...] --device cuda:0 [--build DIR]
                               [--out DIR] [--quick]

A profile says what simulated training takes. `hippo profile` measures how long
a step, loading, saving and evaluating take, on made-up data; `trainer` measures
how much faster 2, 4, 8 and 16 trials are at once than one after the other. All
else, above all the learning curve, is as in the profile with assumed times of
the same name, and is still assumed. OUT/NAME-DEVICE.yaml is written.
"""

import argparse
import dataclasses
import pathlib
import re
import sys
import tempfile

from harness import BUILD, ROOT, Bench, Failed

ASSUMED = ROOT / "examples/paper/profiles"
AT_ONCE = (1, 2, 4, 8, 16)


@dataclasses.dataclass
class Measured:
    """How one of the profiles is measured.

    train, validation: examples in a step and an evaluation that are measured
    of_train, of_validation: those of the profile, which take in proportion
    options: of the workload, as in a study; `data` apart
    """

    workload: str
    metric: str
    batches: tuple
    train: int
    of_train: int
    validation: int
    of_validation: int
    options: dict
    data: dict


PROFILES = {
    "resnet56-cifar10": Measured(
        "cifar-resnet56", "val_accuracy", (64, 128, 256, 512), 5120, 40000,
        10000, 10000, {}, {"set": "synthetic"}),
    "mobilenetv2-cifar10": Measured(
        "cifar-mobilenetv2", "val_accuracy", (64, 128, 256, 512), 5120, 40000,
        10000, 10000, {}, {"set": "synthetic"}),
    "bert-base-squad": Measured(
        "squad-bert-base", "val_f1", (8, 16, 32, 64), 640, 3300, 1200, 12000,
        {"precision": "bfloat16"}, {"set": "synthetic", "length": 384})}

# Small stand-ins for them with --quick.
QUICK = {
    "resnet56-cifar10": Measured(
        "cifar-resnet20", "val_accuracy", (2, 4), 8, 40000, 8, 10000, {},
        {"set": "synthetic"}),
    "bert-base-squad": Measured(
        "squad-bert-tiny", "val_f1", (8, 16), 32, 3300, 32, 12000, {},
        {"set": "synthetic", "length": 32})}


def study_of(x):
    """The text of a study whose values are measured."""
    options = "".join(f", {name}: {value}" for name, value in
                      x.options.items())
    data = ", ".join(f"{name}: {value}" for name, value in {
        **x.data, "train": x.train, "validation": x.validation}.items())
    return (f"study: measured\n"
            f"workload: {{name: {x.workload}{options}, data: {{{data}}}}}\n"
            f"objective: {{metric: {x.metric}}}\n"
            f"max_steps: 4\n"
            f"space: {{batch_size: {{choice: {list(x.batches)}}}}}\n"
            f"algorithm: grid\n")


def rates(bench, x, device, seconds):
    """Examples per second by how many train at once, as far as the device's
    memory is enough."""
    found = {}
    batch = x.batches[len(x.batches) // 2 - 1]
    options = [f for name, value in [
        *x.options.items(), *((f"data.{name}", value) for name, value in
                              x.data.items() if name != "set")]
               for f in ("--option", f"{name}={value}")]
    for count in AT_ONCE:
        try:
            found[count] = bench.json([
                bench.program("trainer"), x.workload, batch,
                min(x.train, 20 * batch), seconds, device, count,
                *options])["examples_per_second"]
        except Failed as why:
            if not found:
                raise
            bench.say(f"{count} at once: {str(why).splitlines()[-1]}")
            break
    return found


def four_digits(x):
    return f"{x:.4g}"


def measure(bench, name, x, device, seconds):
    """Returns the text of a profile."""
    study = bench.scratch / f"{name}.yaml"
    study.write_text(study_of(x))
    said = bench.output([bench.program("hippo"), "profile", study, "--device",
                         device])
    kind = re.search(r'^device: "?(.*?)"?$', said, re.M)[1]
    values = re.search(r'by: "?batch_size"?, values: \{(.*?)\}', said)[1]
    step = {size: float(took) * x.of_train / x.train for size, took in
            (pair.split(": ") for pair in values.split(", "))
            if int(size) in x.batches}

    def number(key):
        return float(re.search(rf"^{key}: (\S+)$", said, re.M)[1])

    found = rates(bench, x, device, seconds)
    gains = {count: rate / found[1] for count, rate in found.items()}
    evaluate = number("evaluate_seconds") * x.of_validation / x.validation
    precision = x.options.get("precision", "float32")
    several = ", ".join(f"{count}: {gain:.2f}" for count, gain in
                        gains.items())
    times = f"""\
# Measured in {precision} by `bench/measured_profiles.py`; a step and an
# evaluation in proportion, of {x.train} and {x.validation} examples.
# Times as fast with several trials at once: {several}.
step_seconds: {{by: batch_size, values: {{{", ".join(
    f"{size}: {four_digits(took)}" for size, took in step.items())}}}}}
at_once_gain: {four_digits(max(1, *gains.values()))}
spread: 0.02           # assumed
dispatch_seconds: 0.01 # assumed: a message on a network of the same place
load_seconds: {four_digits(number("load_seconds"))}
save_seconds: {four_digits(number("save_seconds"))}
evaluate_seconds: {four_digits(evaluate)}
checkpoint_bytes: {number("checkpoint_bytes"):.0f}
failure_rate: 0"""
    text, count = re.subn(
        r"# Nothing here has been measured:.*\n(?:#.*\n)*",
        "# Times were measured, on made-up data of the same form. The learning"
        "\n# curve is assumed: chosen so that simulated runs are plausible.\n",
        (ASSUMED / f"{name}.yaml").read_text())
    text, more = re.subn(r"(?m)^device: .*$", lambda _: f"device: {kind}",
                         text)
    parts = text.split("\n\n")
    of_times = [i for i, part in enumerate(parts)
                if re.search(r"(?m)^step_seconds:", part)]
    if count != 1 or more != 1 or len(of_times) != 1:
        raise Failed(f"{name}.yaml is not as this expects it")
    parts[of_times[0]] = times
    return "\n\n".join(parts)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME",
                        help="some of " + ", ".join(PROFILES))
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--build", type=pathlib.Path, default=BUILD)
    parser.add_argument("--out", type=pathlib.Path, default=ASSUMED)
    parser.add_argument("--suffix", default="h100",
                        help="end of the files' names")
    parser.add_argument("--quick", action="store_true",
                        help="small networks: only to see it work")
    args = parser.parse_args()
    known = QUICK if args.quick else PROFILES
    for name in args.names:
        if name not in known:
            parser.error(f"no profile '{name}'; there are: "
                         + ", ".join(known))
    args.out.mkdir(parents=True, exist_ok=True)
    for name in args.names or known:
        with tempfile.TemporaryDirectory() as scratch:
            bench = Bench(1, scratch, args.quick, build=args.build)
            text = measure(bench, name, known[name], args.device,
                           0.1 if args.quick else 1)
        path = args.out / f"{name}-{args.suffix}.yaml"
        path.write_text(text)
        print(f"{path.name}: "
              + re.search(r"(?m)^step_seconds: (.*)$", text)[1], flush=True)


if __name__ == "__main__":
    sys.exit(main())
