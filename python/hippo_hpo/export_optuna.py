"""What `hippo export STUDY --optuna FILE` runs.

    python -m hippo_hpo.export_optuna [--server HOST:PORT] [--keys FILE]
                                      STUDY FILE
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys

from ._whole import whole_file
from .client import connect
from .errors import Error
from .optuna_journal import mirror


def main() -> int:
    parser = argparse.ArgumentParser(prog="hippo_hpo.export_optuna")
    parser.add_argument("--server")
    parser.add_argument("--keys")
    parser.add_argument("study")
    parser.add_argument("file")
    args = parser.parse_args()
    part = args.file
    try:
        with connect(args.server, credentials=args.keys) as client, \
                whole_file(args.file) as part:
            if part != args.file and os.path.exists(args.file):
                shutil.copyfile(args.file, part)  # it may have others' studies
            trials = mirror(client.study(args.study), part, follow=False)
    except (Error, OSError) as why:
        print(str(why).replace(part, args.file), file=sys.stderr)
        return 1
    print(f"{trials} trials: optuna-dashboard {args.file}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
