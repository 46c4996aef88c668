"""Compares how many instructions the hot paths take with what is recorded."""

import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile

from harness import BUILD, ROOT

RECORDED = ROOT / "bench" / "instructions.json"
GROWTH_MAX = 0.10


def count(program, name):
    """Returns the instructions that a hot path takes, libraries included."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            ["valgrind", "--tool=callgrind", "--toggle-collect=hot_path",
             f"--callgrind-out-file={folder}/out", program, name],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    collected = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or not collected or collected[1] == "0":
        sys.exit(f"cannot count the instructions of '{name}':\n{done.stderr}")
    return int(collected[1])


def check(record):
    """Prints a table; returns 1 if a path takes too much more than recorded.

    record: whether to take what is counted as right
    """
    subprocess.run([ROOT / "scripts" / "build", "release", "hot_paths"],
                   check=True)
    program = BUILD / "bench" / "hot_paths"
    names = subprocess.run([program], check=True, stdout=subprocess.PIPE,
                           text=True).stdout.splitlines()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as workers:
        counts = dict(zip(names, workers.map(lambda x: count(program, x),
                                             names)))
    if record:
        RECORDED.write_text(json.dumps(counts, indent=1) + "\n")
    recorded = json.loads(RECORDED.read_text())
    code = 0
    print(f"{'instructions':<16} {'now':>13} {'recorded':>13} {'growth':>7}")
    for name, now in counts.items():
        before = recorded.get(name)
        if before is None:
            print(f"{name:<16} {now:>13,} {'none':>13}")
            code = 1
            continue
        growth = now / before - 1
        print(f"{name:<16} {now:>13,} {before:>13,} {growth:>7.1%}")
        code = code if growth <= GROWTH_MAX else 1
    if code:
        print(f"a path takes over {GROWTH_MAX:.0%} more than recorded, or is "
              "not recorded: mend it, or say why it must be so and record it "
              "with bench/run --check --record", file=sys.stderr)
    return code
