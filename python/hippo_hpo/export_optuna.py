"""What `hippo export STUDY --optuna FILE` runs.

    python -m hippo_hpo.export_optuna [--server HOST:PORT] [--keys FILE]
                                      STUDY FILE
"""

from __future__ import annotations

import argparse
import sys

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
    try:
        with connect(args.server, credentials=args.keys) as client:
            trials = mirror(client.study(args.study), args.file, follow=False)
    except (Error, OSError) as why:
        print(why, file=sys.stderr)
        return 1
    print(f"{trials} trials: optuna-dashboard {args.file}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
