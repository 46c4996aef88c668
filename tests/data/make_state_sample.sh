#!/bin/sh
# Writes tests/data/state_version_N.sql: what a state folder of this checkout's
# version N holds, as SQL. Run it before the version changes, with the path of
# the built program: tests/data/make_state_sample.sh BUILD/tests/store_make_sample
set -eu
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$1" "$folder/state"
python3 - "$folder/state/hippo.db" "$here" <<'PYTHON'
import sqlite3
import sys

database = sqlite3.connect(sys.argv[1])
query = "SELECT value FROM meta WHERE key = 'version'"
(version,) = database.execute(query).fetchone()
with open(f"{sys.argv[2]}/state_version_{version}.sql", "w") as out:
    for line in database.iterdump():
        out.write(line + "\n")
PYTHON
