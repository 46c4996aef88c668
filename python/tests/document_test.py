"""The text of study files: as the service reads it, there and back."""

import datetime
import decimal
import enum
import fractions
import json
import math
import os
import pathlib
import random
import re
import subprocess
import unittest

import hippo_hpo as hippo
from hippo_hpo import StudyFile, choice
from hippo_hpo._document import read_document, write_document
from hippo_hpo.space import plain
from hippo_hpo.study_text import json_of

READER = os.environ.get("HIPPO_READER", "")
SEEDS = int(os.environ.get("HIPPO_SEEDS", "1"))

# Texts that somebody could take for something else.
WORDS = [
    "", " ", "~", "null", "Null", "NULL", "true", "True", "false", "yes", "No",
    "on", "off", "y", "n", "1", "08", "-0", "+1", "1_000", "0x1F", "0o17",
    "12:30", "2024-01-01", "1e-3", "1234e56", "1.", ".5", "1e400", "1e-400",
    ".inf", "-.inf", "+.inf", ".nan", ".NaN", "inf", "-inf", "Infinity", "nan",
    "nan(1)", "<<", "=", "-", "- a", "? a", ":", "a:", "a: b", "a:b", "#", "a#",
    "a #b", "&a", "*a", "!a", "!!str 1", "%a", "@a", "`a`", "|", ">", "{", "}",
    "[", "]", ",", "'", '"', "\\", "\\n", "a b", " a", "a ", "a\nb", "\n",
    "\r", "\t", "a\tb", "---", "...", "--- # code", "a\n--- # code\n{}", "\x07",
    "\x1b", "\x7f", "\x85", "\xa0", "\u2028", "\u2029", "\ufeff", "\ufffe",
    "\U0001f600", "\u00e9", "e5", "1e5x", "99999999999999999999", "val <= 5"]


# Of these without quotes, what the service's parser takes though it is no YAML.
STRAY = (",", "!a", '"', "'", "\r", "[", "]", "a\nb")


def number(rng):
    return rng.choice([
        lambda: rng.randint(-9, 9), lambda: rng.uniform(-1, 1),
        lambda: float(rng.randint(-9, 9)), lambda: -0.0,
        lambda: rng.randint(-2**63, 2**64 - 1),
        lambda: rng.uniform(1, 10) * 10.0**rng.randint(-320, 307),
        lambda: rng.choice([1e-5, 1e22, 5e-324, 1.7976931348623157e308,
                            math.inf, -math.inf, math.nan])])()


def word(rng):
    return rng.choice([
        lambda: rng.choice(WORDS),
        lambda: "".join(rng.choice("ab1e+-._:, #'\"\n") for _ in range(6)),
        lambda: str(number(rng)),
        lambda: "".join(chr(rng.choice([rng.randrange(1, 128),
                                        rng.randrange(128, 0xd800),
                                        rng.randrange(0xe000, 0x110000)]))
                        for _ in range(rng.randint(1, 4))),
        lambda: rng.choice("ab") * rng.choice([60, 90, 990, 1024])])()


def value(rng, depth):
    if depth == 0 or rng.random() < 0.5:
        return rng.choice([lambda: number(rng), lambda: word(rng),
                           lambda: rng.choice([True, False, None])])()
    if rng.random() < 0.5:
        return [value(rng, depth - 1) for _ in range(rng.randint(0, 4))]
    return document(rng, depth - 1)


def name(rng):
    """What something may be called, however odd."""
    return "".join(x for x in word(rng) if x.isprintable()).strip() or "k"


def document(rng, depth=4):
    return {name(rng): value(rng, depth) for _ in range(rng.randint(0, 4))}


def spelt(rng):
    """A text that no writer of ours has made."""
    scalar = lambda: rng.choice([
        lambda: rng.choice([x for x in WORDS[1:] if x not in STRAY]).strip()
        or "x",
        lambda: json.dumps(word(rng), ensure_ascii=False),
        lambda: "'" + re.sub("[\r\n]", " ", rng.choice(WORDS[1:])).replace(
            "'", "''") + "'",
        lambda: repr(number(rng)), lambda: str(rng.randint(0, 99)),
        lambda: "".join(rng.choice("0123456789+-.eE_x:")
                        for _ in range(rng.randint(1, 5)))])()
    flow = lambda depth: rng.choice([
        lambda: scalar(), lambda: scalar(),
        lambda: f"[{', '.join(flow(depth - 1) for _ in range(3))}]",
        lambda: "{" + ", ".join(f"k{i}: {flow(depth - 1)}"
                                for i in range(3)) + "}"])() \
        if depth else scalar()
    lines = [f"a{i}: {flow(2)}" for i in range(rng.randint(1, 4))]
    if rng.random() < 0.3:
        lines += ["m: &m {x: 1, y: 08}", "n: {a: 1, <<: *m, y: 2}", "o: *m",
                  "p: {<<: [*m, {z: 1e-5, y: 3}]}", "q: {'<<': 1}"]
    if rng.random() < 0.2:
        lines += [f"b: {rng.choice('|>')}", "  1e-5", "  2"]
    return "\n".join(lines) + "\n"


def typed(x):
    """As `read_documents` tells it."""
    if x is None:
        return ["nothing", ""]
    if isinstance(x, bool):
        return ["truth", "true" if x else "false"]
    if isinstance(x, int):
        return ["whole", str(x)]
    if isinstance(x, float):
        return ["float", x.hex()]
    if isinstance(x, str):
        return ["word", x]
    if isinstance(x, list):
        return ["list", [typed(y) for y in x]]
    return ["map", [[key, typed(y)] for key, y in x.items()]]


def read(text):
    try:
        return typed(read_document(text))
    except hippo.InvalidStudy:
        return None


def by_the_service(texts):
    done = subprocess.run([READER], input=json.dumps(texts).encode(),
                          capture_output=True, check=True)

    def as_python(x):
        kind, what = x
        if kind == "float":  # C spells some otherwise
            return [kind, float.fromhex(what).hex()]
        if kind == "list":
            return [kind, [as_python(y) for y in what]]
        if kind == "map":
            return [kind, [[key, as_python(y)] for key, y in what]]
        return x
    return [x and as_python(x) for x in map(
        json.loads, done.stdout.decode().split("\n")[:-1])]


class Documents(unittest.TestCase):
    def test_what_is_a_number(self):
        for text, meant in [
                ("1e-5", 1e-5), ("1E5", 1e5), ("+1", 1), ("08", 8),
                ("-0", 0), (".5", 0.5), ("5.", 5.0), ("1.0", 1.0),
                ("9223372036854775807", 2**63 - 1),
                ("18446744073709551615", 2**64 - 1),
                ("18446744073709551616", 2.0**64), (".inf", math.inf),
                ("-.inf", -math.inf), ("true", True), ("false", False),
                ("", None), ("~", None), ("null", None),
                *((x, x) for x in ("1_000", "yes", "no", "on", "0o17", "0x1F",
                                   "12:30", "2024-01-01", "1e400", "1e-400",
                                   "+-1", "1e", ".", "e5", "=")),
                *((json.dumps(x, ensure_ascii=False), x) for x in WORDS),
                ("'1e-5'", "1e-5"), ("|-\n  1", "1")]:
            with self.subTest(text):
                found = read_document(f"a: {text}\n")["a"]
                self.assertEqual(typed(meant), typed(found))

    def test_nothing_else_reads_or_writes_yaml(self):
        # Importers read files of other programs.
        others = ("_document.py", "_import_katib.py", "_import_wandb.py")
        for path in pathlib.Path(hippo.__file__).parent.glob("*.py"):
            if path.name not in others:
                self.assertNotIn("import yaml", path.read_text(), path)

    def test_what_is_no_study(self):
        for text, why in [
                ("a: 1\na: 2\n", "2:1: the key 'a' is there twice"),
                ("a: *b\n", "unknown anchor 'b'"),
                ("[1]", "must be a map"), ("", "must be a map"),
                ("a: &b [*b]", "more than 64 levels"),
                ("a: " + "[" * 70 + "]" * 70, "more than 64 levels"),
                ("a: {", "1:5: is not valid YAML"),
                ("? [1]\n: 2", "a key must be a word"),
                ("~: 2", "a key must be a word"),
                ('a: "\\ud800"', "not valid UTF-8"), ("a: \0", "zero bytes"),
                ("a: 1\n---\nb: 2\n", "more than one document"),
                ("a: {<<: 1}", "'<<' takes a map or a list of maps"),
                ("a: {<<: {b: 1}, <<: {c: 1}}", "'<<' is there twice"),
                ("a: &a [1,1,1,1,1,1,1,1,1,1]\n" + "".join(
                    f"b{i}: &b{i} [{', '.join([f'*{x}'] * 10)}]\n"
                    for i, x in enumerate(["a", "b0", "b1", "b2", "b3"])),
                 "more than 50000 values")]:
            with self.subTest(text), \
                    self.assertRaisesRegex(hippo.InvalidStudy, why):
                read_document(text)

    def test_there_and_back(self):
        """Values and their types, whatever they are."""
        for seed in range(1000 * SEEDS):
            x = document(random.Random(seed))
            text = write_document(x)
            if not x:
                continue
            found = read_document(text)
            self.assertEqual(typed(x), typed(found), (seed, text))
            self.assertEqual(text, write_document(found), seed)

    def test_texts_there_and_back(self):
        for seed in range(500 * SEEDS):
            text = spelt(random.Random(seed))
            found = read(text)
            if found is not None:
                again = write_document(read_document(text))
                self.assertEqual(found, read(again), (seed, text, again))

    def test_merge_keys(self):
        found = read_document("""\
a: &a {x: 1, y: 2}
workload: {seed: 3, <<: [*a, {y: 4, z: 5, python: 08}], x: 6}
""")["workload"]
        self.assertEqual([("seed", 3), ("y", 2), ("z", 5), ("python", "08"),
                          ("x", 6)], list(found.items()))

    def test_words_stay_as_they_are_spelt(self):
        """Where the service takes a word for what it is spelt as."""
        text = """\
study: 08
workload:
  python: train.py
  packages: {numpy: 2.10, torch: 2.11.0}
  files: [1e5]
  args: {rate: 2.10}
objective: {metric: 1.0}
max_steps: 3
space: {}
algorithm: grid
"""
        x = StudyFile.from_yaml(text)
        self.assertEqual("08", x.study)
        self.assertEqual({"numpy": "2.10", "torch": "2.11.0"},
                         x.workload["packages"])
        self.assertEqual(["1e5"], x.workload["files"])
        self.assertEqual({"rate": 2.1}, x.workload["args"])
        self.assertEqual({"metric": "1.0"}, x.objective)
        self.assertEqual(x, StudyFile.from_yaml(x.to_yaml()))

    @unittest.skipUnless(READER, "HIPPO_READER names no program")
    def test_the_service_reads_what_is_written(self):
        found = [x for x in (document(random.Random(seed))
                             for seed in range(1000 * SEEDS))
                 if x and "\0" not in json.dumps(x, ensure_ascii=False)]
        for x, there in zip(found, by_the_service(
                [write_document(x) for x in found])):
            self.assertEqual(typed(x), there, write_document(x))

    @unittest.skipUnless(READER, "HIPPO_READER names no program")
    def test_the_service_reads_json_alike(self):
        """As maps and parameters of trials go to it."""
        found = []
        for seed in range(1000 * SEEDS):
            x = document(random.Random(seed))
            try:
                text = json_of("it", x)
            except hippo.InvalidArgument:
                continue  # a number is not finite
            if x and "\0" not in text and not re.search(r"\w{900}", text):
                found.append((x, text))
        self.assertGreater(len(found), 300 * SEEDS)
        for (x, text), there in zip(found, by_the_service(
                [text for _, text in found])):
            self.assertEqual(typed(x), there, text)

    @unittest.skipUnless(READER, "HIPPO_READER names no program")
    def test_the_service_reads_texts_alike(self):
        """What it refuses may be read here, but nothing otherwise; what is read
        by it alone is no YAML, and rare."""
        texts = [spelt(random.Random(seed)) for seed in range(1000 * SEEDS)]
        texts += [f"a: {x}\n" for x in WORDS if x not in STRAY]
        both = alone = 0
        for text, there in zip(texts, by_the_service(texts)):
            here = read(text)
            if there is not None and here is not None:
                both += 1
                self.assertEqual(there, here, text)
            alone += there is not None and here is None
        self.assertGreater(both, len(texts) // 2)
        self.assertLess(alone, len(texts) // 100)


class Plain(unittest.TestCase):
    def test_what_is_a_number_or_a_word_becomes_one(self):
        class Whole(enum.IntEnum):
            ONE = 1

        class Name(str, enum.Enum):
            SGD = "sgd"

        class Text(str):
            def __str__(self):
                return "no"
        for x, meant in [(Whole.ONE, 1), (Name.SGD, "sgd"), (Text("a"), "a"),
                         (decimal.Decimal("0.1"), 0.1),
                         (fractions.Fraction(1, 4), 0.25),
                         (pathlib.Path("/a/b"), "/a/b"), (range(2), [0, 1]),
                         ((1, 1.0, True, "1", None), [1, 1.0, True, "1", None]),
                         ({Name.SGD: 1}, {"sgd": 1})]:
            with self.subTest(repr(x)):
                found = plain({"a": x})["a"]
                self.assertEqual(typed(meant), typed(found))
                self.assertEqual(repr(meant), repr(found))

    def test_numpy_becomes_what_it_is(self):
        try:
            import numpy as np
        except ImportError:
            self.skipTest("there is no NumPy")
        for x, meant in [(np.float64(0.1), 0.1), (np.float32(0.5), 0.5),
                         (np.int64(3), 3), (np.bool_(True), True),
                         (np.str_("x"), "x"), (np.array([1, 2]), [1, 2]),
                         (np.array(1.5), 1.5), (np.longdouble(2), 2.0),
                         (list(np.logspace(-2, 0, 3)), [0.01, 0.1, 1.0])]:
            self.assertEqual(repr(meant), repr(plain(x)))
        study = StudyFile("s", {"name": "w", "n": np.int64(4)},
                          {"metric": "m"}, np.int64(3),
                          {"lr": choice(*np.logspace(-3, -1, 3))})
        again = StudyFile.from_yaml(study.to_yaml())
        self.assertEqual(repr(again.to_map()), repr(study.to_map()))
        self.assertEqual(choice(0.001, 0.01, 0.1), again.space["lr"])

    def test_all_else_is_refused(self):
        class Colour(enum.Enum):
            RED = "red"
        for x, why in [
                (Colour.RED, "give its value, 'red'"),
                (datetime.date(2024, 1, 1), "is a date, where"),
                (b"a", "is a bytes"), ({1}, "is a set"), (1j, "is a complex"),
                ({1: 2}, "the key 1 is a int: a key must be a word"),
                (2**64, "more than 64 bits"), (object(), "is a object"),
                (float, "is a type"), ("\ud800", "as UTF-8")]:
            with self.subTest(repr(x)), self.assertRaisesRegex(
                    hippo.InvalidArgument, "^args.x(.+)?: .*" + why):
                plain({"args": {"x": [x]}})
        endless = []
        endless.append(endless)
        with self.assertRaisesRegex(hippo.InvalidArgument, "64 levels"):
            plain(endless)

    def test_what_is_alike(self):
        self.assertEqual(choice(1, 2.0), choice(1, 2.0))
        for x in (1.0, True, "1", None):
            self.assertNotEqual(choice(1), choice(x))
        self.assertEqual(1, len({choice(0.5), choice(0.5)}))


if __name__ == "__main__":
    unittest.main()
