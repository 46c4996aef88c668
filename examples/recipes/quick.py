#!/usr/bin/env python3
"""Writes the studies beside this file to another folder, with a tiny model and
a tenth of the steps, and the text that they train on:

    python3 quick.py FOLDER
    hippo run FOLDER/cooldown-law.yaml
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
DIVISOR = 10


def smaller(text, folder):
    """A study with fewer steps and a smaller model."""
    def divided(found):
        return re.sub(r"\d+", lambda x: str(int(x[0]) // DIVISOR), found[0])
    text = re.sub(r"(?m)^(?:max_steps|eval_every): .*|"
                  r"(?:warmup|warmup: {steps): \d+", divided, text)
    return text.replace("args: {", f"args: {{model: tiny, folder: {folder}, ")


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit("usage: quick.py FOLDER")
    folder = pathlib.Path(sys.argv[1]).resolve()
    os.makedirs(folder, exist_ok=True)
    subprocess.run([sys.executable, HERE / "prepare_text.py", folder],
                   check=True)
    shutil.copy(HERE / "gpt.py", folder)
    for path in HERE.glob("*.yaml"):
        (folder / path.name).write_text(smaller(path.read_text(), folder))


if __name__ == "__main__":
    main()
