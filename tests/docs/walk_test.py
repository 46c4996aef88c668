#!/usr/bin/env python3
"""Walks through README.md and docs/ as a reader would: what they tell to type
is there, and what they show comes.

The environment says where the programs are: HIPPO, HIPPO_TRAINER.
"""

import ast
import os
import pathlib
import re
import shlex
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/apps"))

import programs  # noqa: E402
from programs import Case, study, wait_for  # noqa: E402

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md",
         *sorted((ROOT / "docs").glob("*.md"))]

# Of a study that people may have, with a name for a number, say.
PLACEHOLDER = re.compile(r"^[A-Z.]+$|^\[|^\.\.\.$")


def blocks(page):
    """The fenced blocks of a page: language and text."""
    return re.findall(r"^```(\w*)\n(.*?)^```", page.read_text(), re.S | re.M)


def commands(page):
    """The command lines of hippo and hippo-trainer that a page shows."""
    for language, text in blocks(page):
        for line in text.replace("\\\n", " ").splitlines():
            line = line.removeprefix("$ ")
            if language in ("sh", "text") and line.startswith("hippo"):
                yield from re.split(r" (?:&&|\|) ", line)
    for line in re.findall(r"`(hippo(?:-trainer)? [^`]+)`", page.read_text()):
        yield line


def words_of(command):
    """The words of a command line, comments left out."""
    try:
        return shlex.split(command, comments=True)
    except ValueError:  # an apostrophe in a sentence
        return []


def anchor(heading):
    """The anchor that a heading gets."""
    text = re.sub(r"[`*]|\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()
    return re.sub(r"[^\w\- ]", "", text).strip().replace(" ", "-")


class Words(Case):
    """What pages name exists. Nothing is trained."""

    def help_of(self, words):
        if words[0] != "hippo":
            return None
        if words[1:2] and re.fullmatch("[a-z]+", words[1]):
            return self.hippo(words[1], "--help").out
        return self.hippo("--help").out

    def test_verbs_and_options_exist(self):
        seen = {}
        for page in PAGES:
            for command in commands(page):
                words = words_of(command)
                if len(words) < 2 or words[0] != "hippo":
                    continue
                key = words[1]
                if not re.fullmatch("[a-z]+|--?[a-z-]+", key):
                    continue
                with self.subTest(f"{page.name}: {command}"):
                    if key not in seen:
                        seen[key] = self.help_of(words)
                    text = seen[key]
                    if key in ("deploy", "keys", "token") and words[2:]:
                        text = self.hippo(key, words[2], "--help").out
                    for option in re.findall(r"(?<=\s)--[a-z][a-z0-9-]*",
                                             command):
                        self.assertRegex(text, re.escape(option) + r"\b")
        self.assertGreater(len(seen), 20)

    def test_links_lead_somewhere(self):
        for page in PAGES:
            text = re.sub(r"(?ms)^```.*?^```|`[^`\n]*`", "",
                          page.read_text())
            for to in re.findall(r"\]\(([^)\s]+)\)", text):
                if to.startswith("http"):
                    continue
                with self.subTest(f"{page.name}: {to}"):
                    name, _, part = to.partition("#")
                    file = page.parent / name if name else page
                    self.assertTrue(file.exists(), "there is no such file")
                    if part and file.suffix == ".md":
                        found = [anchor(x) for x in re.findall(
                            r"(?m)^#+ (.*)$", file.read_text())]
                        self.assertIn(part, found)

    def test_the_version_of_a_state_is_that_of_the_programs(self):
        schema = (ROOT / "libhippo/hippo/store/schema.hpp").read_text()
        number, = re.findall(r"\bstate_version = (\d+);", schema)
        self.assertIn(f"\nVersion {number}. ",
                      (ROOT / "docs/state.md").read_text())

    def test_python_is_python(self):
        for page in PAGES:
            for language, text in blocks(page):
                if language == "python":
                    with self.subTest(f"{page.name}: {text[:40]}"):
                        compile(text, page.name, "exec",
                                ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)

    def test_studies_are_accepted(self):
        count = 0
        for page in PAGES:
            for language, text in blocks(page):
                if language != "yaml" or not re.search("(?m)^study:", text):
                    continue
                if re.search(r"python:|command:|files:|\.\.\.", text):
                    continue  # code that is not here
                with self.subTest(f"{page.name}: {text[:40]}"):
                    self.hippo("preview", self.write("page.yaml", text))
                    count += 1
        self.assertGreater(count, 1)


@unittest.skipUnless(programs.TRAINER, "there is no trainer in this build")
class Commands(Case):
    """docs/commands.md, from its top to its end, on a service."""

    # What a reader would not type here, and why.
    LEFT_OUT = {
        "hippo logs -f": "follows for ever",
        "hippo logs --state DIR digits 3": "of another study",
        "hippo check study.yaml": "in docs/checking.md, by apps.check",
        "hippo check train.py": "the same",
        "hippo preview a.yaml --server": "the service has another port",
        "hippo best lr-schedules --state": "of another folder",
        "hippo best accuracy-and-loss": "of another study",
        "hippo export lr-schedules 4": "the same",
        "hippo logs lr-schedules 7": "built-in workloads print nothing",
        "hippo retry": "nothing has failed; by apps.own_code",
    }

    def setUp(self):
        super().setUp()
        for name in "lr-schedules", "lr-and-batch":
            self.write(f"{name}.yaml", study(
                name, {"sha": {"eta": 3, "min": 1}}, train=128))
        self.write("a.yaml", study("a", "grid", steps=2, train=64,
                                   lr={"choice": [0.1, 0.05]}))
        mine = study("mine", "client", steps=3, train=64)
        self.write("mine.yaml", mine)
        service = self.start(
            "serve", "--state", self.path("state"), "--listen",
            "127.0.0.1:0", "--rpc", "127.0.0.1:0", "--http", "127.0.0.1:0")
        ports = wait_for("the service", lambda: re.findall(
            r"127\.0\.0\.1:(\d+)", self.stderr())[2:] and re.findall(
                r"127\.0\.0\.1:(\d+)", self.stderr()))
        trainer = subprocess.Popen(
            [programs.TRAINER, "--connect", f"127.0.0.1:{ports[0]}"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        self.addCleanup(trainer.wait)
        self.addCleanup(trainer.kill)
        self.server = {"HIPPO_SERVER": f"127.0.0.1:{ports[1]}"}
        self.assertIsNone(service.poll())
        wait_for("the trainer", lambda: "idle" in self.run_here(
            "hippo top --once")[1])

    def sessions(self):
        """Command lines of the page, each with the lines shown below it."""
        for language, text in blocks(ROOT / "docs/commands.md"):
            if language != "text":
                continue
            for part in re.split(r"(?m)^\$ ", text)[1:]:
                command, _, shown = part.partition("\n")
                yield command, shown.splitlines()

    def run_here(self, command):
        done = subprocess.run(
            [programs.HIPPO, *words_of(command)[1:]], cwd=self.folder,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, timeout=programs.PATIENCE,
            env={**os.environ, **self.server})
        return done.returncode, done.stdout

    def test_page(self):
        ran = 0
        for command, shown in self.sessions():
            if any(command.startswith(x) for x in self.LEFT_OUT):
                continue
            if command.startswith("hippo trials"):
                self.run_here("hippo watch lr-schedules --quiet")
            code, out = self.run_here(command)
            ran += 1
            with self.subTest(command):
                # A study may have ended before it could be changed.
                if not re.search("has ended|is .* already", out):
                    self.assertEqual(code, 0, out)
                    self.compare(shown[:1], out)
        self.assertGreater(ran, 20)

    def compare(self, shown, out):
        """The first line that is shown comes, up to numbers and values."""
        for line in shown:
            columns = re.split(r"\s{2,}", line.strip())
            if len(columns) > 3:  # the head of a table
                self.assertEqual(
                    re.split(r"\s{2,}", out.splitlines()[0].strip()), columns)
            elif not line.startswith("Trial"):  # which comes first varies
                pattern = re.sub(r"(\\?\d|\\\.)+", r"[\\d.]+",
                                 re.escape(line))
                pattern = re.sub("COMPLETE", "[A-Z]+", pattern)
                pattern = re.sub(r";\\ took\\ .*", "; .*", pattern)
                self.assertRegex(out, f"(?m)^{pattern}$")


if __name__ == "__main__":
    programs.main()
