#!/usr/bin/env python3
"""Writes the text that gpt.py trains on, from files of Debian's packages:

    python3 prepare_text.py [FOLDER]

`prose` is the documentation of Perl's modules, with the licences; `perl` is
their code; `python` are Python's modules. Equal packages give equal bytes.
"""

import os
import pathlib
import re
import sys

FOLDER = "/var/tmp/hippo-recipes"
BYTES_MAX = 3_000_000
BLOCK = 10_000
VALIDATED = 10  # of as many blocks one is kept for validation


def read(folder, pattern):
    """The files of a folder, in an order that does not depend on the disk."""
    paths = sorted({x.resolve() for x in pathlib.Path(folder).glob(pattern)})
    return [x.read_text(errors="replace") for x in paths if x.is_file()]


def documentation(modules):
    """The paragraphs of Perl's documentation, examples left out."""
    for text in modules:
        for pod in re.findall(r"(?ms)^=\w.*?(?:^=cut|\Z)", text):
            yield "\n\n".join(x for x in re.split(r"\n\s*\n", pod)
                              if not x.startswith((" ", "\t", "="))) + "\n\n"


def code(modules):
    """Perl's modules without their documentation."""
    for text in modules:
        yield re.sub(r"(?ms)^=\w.*?(?:^=cut[^\n]*\n|\Z)|^__END__.*", "", text)


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else FOLDER
    perl = read("/usr/share", "perl/5.*/**/*.p[mo]*")
    licences = read("/usr/share/common-licenses", "*")
    python = read("/usr/lib", "python3.*/*.py")
    sets = {"prose": [*licences, *documentation(perl)], "python": python,
            "perl": code(perl)}
    os.makedirs(folder, exist_ok=True)
    for name, texts in sets.items():
        text = "".join(texts).encode()[:BYTES_MAX]
        if len(text) < BYTES_MAX // 2:
            sys.exit(f"there is too little text of {name}: "
                     "apt-get install perl python3")
        blocks = [text[i:i + BLOCK] for i in range(0, len(text), BLOCK)]
        for kind, those in [
                ("val", blocks[::VALIDATED]),
                ("train", [x for i, x in enumerate(blocks) if i % VALIDATED])]:
            path = os.path.join(folder, f"{name}.{kind}")
            with open(path + ".new", "wb") as out:
                out.write(b"".join(those))
            os.replace(path + ".new", path)
        print(f"{name}: {len(text)} bytes")


if __name__ == "__main__":
    main()
