#!/usr/bin/env python3
"""Looks for what the house style rules out, in every file that git tracks.

    style_test.py [ROOT]

Rules: columns (80 at most), length (of a source file), order (own header, or
that of what is tested, first, then <...>, then "..."; each block sorted),
upward (schemas -> libhippo -> actors -> apps, what a library may not include at
all, and the order of rooms in libhippo and of rows in search), circles (of files
in search), words (those of words.txt, which were given up), comments (the
subject of one in a header of libhippo is a noun), writers (files that are to
stay are written by `write_whole`, or `whole_file` in Python).

exceptions.txt says which files a rule does not yet hold for: `RULE PATH`.
"""

import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "..", "..")

COLUMNS = 80
# Lines of a source file, by the folder that it is in.
LINES = {"actors": 600, "apps": 600, "libhippo": 750}
LAYERS = ["schemas", "libhippo", "actors", "apps"]
# The folders of libhippo, in the order of its CMakeLists.txt, and the rows of
# files in search, in the order of its own: later ones include earlier ones.
ROOMS = "libhippo/hippo/"
SEARCH = "libhippo/hippo/search/"
CPP = (".cpp", ".hpp", ".h", ".cu")
SCRIPTS = (".py", ".cmake", ".capnp", "CMakeLists.txt")
PAGE = (".js", ".css", ".html")
# A parameter whose name is one letter, after its type.
PARAMETER = re.compile(
    r"[(,]\s*(?:(?:const|typename|unsigned)\s+)*[A-Za-z_][\w:]*(?:<[^()=;]*?>)?"
    r"(?:::\w+)?(?:\s+const)?(?:\s*(?:&&|[&*]|\.\.\.)\s*|\s+)([a-z])\s*"
    r"(?=[,)=])")

# A comment of the public headers whose subject is no noun.
PRONOUN = re.compile(r"//[/!]?<? *(So many|What|Who) ")
PUBLIC = "libhippo/"

# Folders of code that is not ours to format.
FOREIGN = ("python/hippo_hpo/_", "docs/")

# Where a header may be included from; nobody else may.
CONFINED = [
    (r"<caf/",
     r"(actors|apps|tests/actors|tests/simulation|tests/CMake|bench)/"),
    (r"<(torch|ATen|c10)/", r"(libhippo/hippo/train/torch|tests/train)/"),
    (r"<spdlog/",
     r"(actors|apps|tests/actors|tests/simulation|bench)/"),
]
# What a folder may not include.
FORBIDDEN = [
    ("libhippo/hippo/service/merge/", r"<(caf/|spdlog/|filesystem>|thread>)"),
]

# What writes a file in place, where it is half there for a while; and who may.
WRITERS = [
    (r"(libhippo|actors|apps)/.*\.[ch]pp$",
     r"\bofstream\b|\bfopen\(.*\"[wa]|O_WRONLY \| O_CREAT"),
    (r"python/hippo_hpo/.*\.py$",
     r"\bopen\(.*[\"'][wax]b?[\"']|\.write_(text|bytes)\("),
]
MAY_WRITE = (
    "libhippo/hippo/base/whole_file.cpp", "python/hippo_hpo/_whole.py",
    # Logs, and lines that are added to one.
    "apps/hippo/child_process.cpp", "apps/hippo/packing.cpp",
    "libhippo/hippo/service/trace/trace_log.cpp",
    # Into folders that are gone afterwards, or for whoever started them.
    "libhippo/hippo/base/content_source.cpp",
    "libhippo/hippo/model/code/study_code.cpp",
    "libhippo/hippo/train/process/exchange_folder.cpp",
    "python/hippo_hpo/ask_tell.py",
    "python/hippo_hpo/optimizing.py", "python/hippo_hpo/torch.py",
    "python/hippo_hpo/function.py", "python/hippo_hpo/workload.py",
    "python/hippo_hpo/workload_process.py",
    # A journal of Optuna's, which grows.
    "python/hippo_hpo/optuna_journal.py")

INCLUDE = re.compile(r'\s*#\s*include\s+([<"])([^>"]+)[>"]')


def lines_of(name):
    path = os.path.join(HERE, name)
    with open(path, encoding="utf-8") as text:
        lines = [line.split("#")[0].strip() for line in text]
    return [line for line in lines if line]


def tracked():
    names = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], check=True,
                           stdout=subprocess.PIPE).stdout.decode()
    for name in names.split("\0"):
        # A file that is removed, but not yet committed.
        if name and os.path.isfile(os.path.join(ROOT, name)):
            yield name


def rooms():
    """The folders of libhippo, in order."""
    with open(os.path.join(ROOT, "libhippo/CMakeLists.txt"),
              encoding="utf-8") as text:
        return re.search(r"foreach\(room ([^)]*)\)", text.read())[1].split()


def search_rows():
    """The row of each folder and file of search, from 0."""
    with open(os.path.join(ROOT, SEARCH, "CMakeLists.txt"),
              encoding="utf-8") as text:
        rows = re.findall(r"(?m)^#   row: (.*)$", text.read())
    return {name: i for i, row in enumerate(rows) for name in row.split()}


def unit_of(name):
    """A header and its source count as one."""
    return os.path.splitext(name)[0]


def layer_of(name):
    top = name.split("/")[0]
    return LAYERS.index(top) if top in LAYERS else len(LAYERS)


def short_parameters(text):
    """The parameters of functions in a header whose names are one letter, each
    with its line number. Those of lambdas do not count."""
    code = re.sub(r"//[^\n]*", lambda hit: " " * len(hit[0]), text)
    for hit in PARAMETER.finditer(code):
        depth, start = 0, hit.start()  # to the bracket that opens the list
        while start > 0 and not (code[start] == "(" and depth == 0):
            depth += {")": 1, "(": -1}.get(code[start], 0)
            start -= 1
        opener = re.search(r"(\w+|\))\s*$", code[max(0, start - 80):start])
        if opener and opener[1] not in ("for", "if", "while", "catch"):
            yield code.count("\n", 0, hit.start(1)) + 1, hit[1]


class Style:
    def __init__(self):
        self.files = list(tracked())
        self.known = set(self.files)
        self.excepted = {tuple(line.split(None, 1))
                         for line in lines_of("exceptions.txt")}
        self.needed = set()
        self.found = []
        self.rooms = rooms()
        self.rows = search_rows()
        self.search = {}  # the files of search that each one includes
        self.words = [re.compile(rf"\b(?:{line})\b", re.IGNORECASE)
                      for line in lines_of("words.txt")]

    def report(self, rule, name, number, text):
        if (rule, name) in self.excepted:
            self.needed.add((rule, name))
        else:
            self.found.append(f"{name}:{number}: {rule}: {text}")

    def run(self):
        for name in self.files:
            is_code = name.endswith(CPP)
            is_script = (name.endswith(SCRIPTS) or name.startswith("scripts/")
                         or name.endswith(PAGE) and name.startswith("web/"))
            if not (is_code or is_script) or name.startswith(FOREIGN):
                continue
            if name.startswith("tests/style/"):
                continue
            with open(os.path.join(ROOT, name), encoding="utf-8") as text:
                lines = text.read().splitlines()
            self.columns(name, lines)
            self.given_up(name, lines)
            self.writers(name, lines)
            if is_code:
                self.length(name, lines)
                self.parameters(name, lines)
                self.comments(name, lines)
                self.includes(name, lines)
        self.circles()

    def columns(self, name, lines):
        for number, line in enumerate(lines, 1):
            # An address cannot be broken.
            if len(line) > COLUMNS and "://" not in line:
                self.report("columns", name, number, f"{len(line)} columns")

    def length(self, name, lines):
        limit = LINES.get(name.split("/")[0])
        if limit is not None and len(lines) > limit:
            self.report("length", name, len(lines),
                        f"{len(lines)} lines, of {limit} at most")

    def parameters(self, name, lines):
        if name.endswith((".hpp", ".cuh")):
            for number, letter in short_parameters("\n".join(lines)):
                self.report("parameters", name, number,
                            f"'{letter}' is no name")

    def comments(self, name, lines):
        if not (name.startswith(PUBLIC) and name.endswith((".hpp", ".cuh"))):
            return
        begun = False  # whether the line before is of the same comment
        for number, line in enumerate(lines, 1):
            hit = PRONOUN.search(line)
            if hit and not (begun and line.lstrip().startswith("//")):
                self.report("comments", name, number,
                            f"begins with '{hit[1]}': its subject is a noun")
            begun = ((line.lstrip().startswith("//") or "///<" in line)
                     and not line.rstrip().endswith("."))

    def given_up(self, name, lines):
        for number, line in enumerate(lines, 1):
            for word in self.words:
                if hit := word.search(line):
                    self.report("words", name, number, f"'{hit[0]}'")

    def writers(self, name, lines):
        if name in MAY_WRITE:
            return
        for files, what in WRITERS:
            if not re.match(files, name):
                continue
            for number, line in enumerate(lines, 1):
                if (hit := re.search(what, line)) and "whole_file(" not in line:
                    self.report("writers", name, number, f"'{hit[0]}'")

    def includes(self, name, lines):
        includes = []  # (line number, bracket, header)
        depth = 0
        for number, line in enumerate(lines, 1):
            # What depends on a condition stands where it must.
            if re.match(r"\s*#\s*if", line):
                depth += 1
            elif re.match(r"\s*#\s*endif", line):
                depth -= 1
            if (match := INCLUDE.match(line)) and depth == 0:
                includes.append((number, *match.groups()))
        for number, bracket, header in includes:
            self.upward(name, number, bracket, header)
        self.order(name, includes)

    def upward(self, name, number, bracket, header):
        quoted = f"<{header}>" if bracket == "<" else header
        for pattern, places in CONFINED:
            if re.match(pattern, quoted) and not re.match(places, name):
                self.report("upward", name, number, f"includes {quoted}")
        for folder, pattern in FORBIDDEN:
            if name.startswith(folder) and re.match(pattern, quoted):
                self.report("upward", name, number, f"includes {quoted}")
        target = self.resolve(name, header) if bracket == '"' else None
        if target and layer_of(target) > layer_of(name):
            self.report("upward", name, number, f"includes {target}")
        if target and target.startswith(ROOMS) and name.startswith(ROOMS):
            self.within(name, number, target)

    def within(self, name, number, target):
        """An include within libhippo goes to this room or one before it, and
        within search to this row or one before it."""
        mine, other = (self.rooms.index(x.split("/")[2])
                       for x in (name, target))
        if other > mine:
            self.report("upward", name, number, f"includes {target}")
        if not (name.startswith(SEARCH) and target.startswith(SEARCH)):
            return
        places = []
        for path in (name, target):
            place = unit_of(path[len(SEARCH):]).split("/")[0]
            if place not in self.rows:
                self.report("upward", path, 1, f"{place} is in no row of "
                                               f"{SEARCH}CMakeLists.txt")
                return
            places.append(self.rows[place])
        if places[1] > places[0]:
            self.report("upward", name, number, f"includes {target}")
        if unit_of(name) != unit_of(target):
            self.search.setdefault(unit_of(name), {})[unit_of(target)] = number

    def circles(self):
        """Files of search that include each other, by whatever way."""
        left = {unit: set(others) for unit, others in self.search.items()}
        ends = True
        while ends:  # that include nothing, or that nothing includes
            included = set().union(*left.values())
            ends = [unit for unit, others in left.items()
                    if not others & left.keys() or unit not in included]
            for unit in ends:
                del left[unit]
        for unit, others in sorted(left.items()):
            number = min(self.search[unit][x] for x in others & left.keys())
            name = unit + (".hpp" if unit + ".hpp" in self.known else ".cpp")
            self.report("circles", name, number,
                        "includes a file that includes it")

    def resolve(self, name, header):
        """The tracked file that a quoted header is, if it is one."""
        for folder in (os.path.dirname(name), "libhippo", "actors", "tests",
                       "apps/hippo", "apps/hippo-trainer"):
            path = os.path.normpath(os.path.join(folder, header))
            if path in self.known:
                return path
        return None

    def order(self, name, includes):
        stem, suffix = os.path.splitext(name)
        own = stem + ".hpp"
        if suffix in (".cpp", ".cu") and own in self.known and includes:
            number, bracket, header = includes[0]
            if bracket != '"' or self.resolve(name, header) != own:
                self.report("order", name, number, "own header is not first")
            includes = includes[1:]
        elif suffix != ".hpp":
            # What a test is of comes first, too.
            while includes and includes[0][1] == '"':
                includes = includes[1:]
        quoted = False
        last = None
        for number, bracket, header in includes:
            if bracket == '"':
                quoted = True
            elif quoted:
                self.report("order", name, number, f"<{header}> after \"...\"")
            # Sorted within a block without empty lines.
            if last and last[0] == number - 1 and last[1] == bracket:
                if last[2] > header:
                    self.report("order", name, number,
                                f"{header} after {last[2]}")
            last = (number, bracket, header)


def main():
    style = Style()
    style.run()
    for line in style.found:
        print(line)
    for rule, name in sorted(style.excepted - style.needed):
        print(f"note: exceptions.txt needs no '{rule} {name}' any more")
    print(f"{len(style.found)} found")
    return 1 if style.found else 0


if __name__ == "__main__":
    sys.exit(main())
