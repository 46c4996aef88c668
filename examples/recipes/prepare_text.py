"""Writes the text that gpt.py trains on, from files that Debian ships:

    python prepare_text.py [FOLDER]

`web` is prose (licences, documents, changelogs), `code` are Python's own
modules, and `math` those of them that compute. The last tenth of each is
`validation`.
"""

import glob
import gzip
import os
import sys

FOLDER = "/var/tmp/hippo-recipes"
BYTES_MAX = 2_000_000
LIBRARY = os.path.dirname(os.__file__)
MATH = ("decimal", "_pydecimal", "fractions", "statistics", "random", "numbers",
        "colorsys", "heapq", "bisect", "_pylong", "ipaddress", "calendar")


def read(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
        return file.read()


def joined(paths):
    """The beginnings of some files, as many as are needed."""
    result = b""
    for path in sorted(paths):
        if len(result) < BYTES_MAX and os.path.isfile(path):
            result += read(path)[:100_000]
    return result[:BYTES_MAX]


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else FOLDER
    os.makedirs(folder, exist_ok=True)
    modules = glob.glob(os.path.join(LIBRARY, "*.py"))
    is_math = {os.path.join(LIBRARY, name + ".py") for name in MATH}
    sets = {"web": glob.glob("/usr/share/common-licenses/*")
            + glob.glob("/usr/share/doc/*/copyright")
            + glob.glob("/usr/share/doc/*/README*"),
            "math": [x for x in modules if x in is_math],
            "code": [x for x in modules if x not in is_math]}
    validation = b""
    for name, paths in sets.items():
        text = joined(paths)
        split = len(text) * 9 // 10
        validation += text[split:][:200_000]
        with open(os.path.join(folder, name + ".bin"), "wb") as out:
            out.write(text[:split])
        print(f"{name}: {split} bytes")
    with open(os.path.join(folder, "validation.bin"), "wb") as out:
        out.write(validation)


if __name__ == "__main__":
    main()
