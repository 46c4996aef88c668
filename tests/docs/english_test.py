#!/usr/bin/env python3
"""Reads README.md, docs/*.md and the READMEs of examples as a stranger would:
sentences have a noun as their subject, words have one meaning, terms lead to
the glossary.

What programs print, in blocks and in `code`, is left out; so is what
bench/run and bench/paper write between their marks.
"""

import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md",
         *sorted((ROOT / "docs").glob("*.md")),
         ROOT / "python/README.md",
         *sorted((ROOT / "examples").glob("**/README.md"))]

# A pattern that no sentence of a page may hold, and a better way to say it.
MARKS = [
    (r"\bso many\b", "give the number, or 'as many X as'"),
    (r"\b(?:of|from|to|by|than|with|into|beside|for|after|until)"
     r" what\b",
     "name the thing"),
    (r"(?i)\bwhoever\b", "name the person or the program"),
    (r"(?i)\bwhatever (?:is|was|has|it|they|that)\b", "name the thing"),
    (r"(?i)\bsomebody\b", "name the person or the program"),
    (r"\b(?:those|them) (?:who|that) (?:is|are) there\b",
     "'present', or 'all'"),
    (r"(?<!device )\bkinds? of\b",
     "a kind is a 'device kind'; else say 'sort', 'type' or 'form'"),
]
# A sentence whose subject is a pronoun instead of a noun.
OPENING = re.compile(r"^(?:What|Who|Whoever|Whatever|Whose|Whom|Of what)\b")

# Terms of Hippo's own: a page that uses one leads to the glossary.
TERMS = re.compile(r"\b(?:rungs?|trainers?|leases?|lanes?|stage trees?"
                   r"|workload keys?|search plans?|strands?|merge rate)\b")


def prose(text):
    """The paragraphs, items and cells of a page, with their line numbers."""
    text = re.sub(r"(?ms)^```.*?^```|<!-- (\S+) begins -->.*?<!-- \1 ends -->",
                  lambda block: "\n" * block[0].count("\n"), text)
    found, paragraph, begin = [], [], 1
    for number, line in enumerate(text.splitlines() + [""], 1):
        is_row = line.startswith("|")
        is_item = re.match(r"\s*(?:[-*]|\d+\.) ", line)
        if paragraph and (is_row or is_item or not line.strip()
                          or line.startswith(("#", "    "))):
            found.append((begin, " ".join(paragraph)))
            paragraph = []
        if is_row:
            found += [(number, cell.strip())
                      for cell in re.split(r"(?<!\\)\|", line) if cell.strip()]
        elif line.strip() and not line.startswith(("#", "    ")):
            begin = begin if paragraph else number
            paragraph.append(re.sub(r"^\s*(?:[-*]|\d+\.) ", "", line).strip())
    return found


def sentences(text):
    """The sentences of a paragraph, without code, links and emphasis."""
    text = re.sub(r"`[^`]*`", "`code`", text)
    text = re.sub(r"!?\[([^]]*)\]\([^)]*\)", r"\1", text)
    text = text.replace("*", "")
    return re.split(r"(?<=[.:;?!]) +(?=[A-Z`])", text)


def faults(text):
    """What is wrong with a page, each with its line."""
    found = []
    for number, paragraph in prose(text):
        for sentence in sentences(paragraph):
            if OPENING.match(sentence) and not sentence.endswith("?"):
                found.append((number, f"'{sentence[:60]}': a sentence's "
                                      f"subject is a noun"))
            for pattern, better in MARKS:
                if hit := re.search(pattern, sentence):
                    found.append((number, f"'{hit[0]}' in '{sentence[:60]}': "
                                          f"{better}"))
    return found


class English(unittest.TestCase):
    def test_pages_are_plain(self):
        for page in PAGES:
            for number, fault in faults(page.read_text()):
                with self.subTest(f"{page.name}:{number}"):
                    self.fail(fault)

    def test_terms_lead_to_the_glossary(self):
        for page in PAGES:
            if page.parent not in (ROOT, ROOT / "docs"):
                continue  # a folder of an example leads to a page
            text = " ".join(x for _, x in prose(page.read_text()))
            if page.name != "glossary.md" and TERMS.search(text):
                with self.subTest(page.name):
                    self.assertRegex(text, r"\((?:docs/)?glossary\.md")

    def test_marks_are_found(self):
        for text in [
                "What is stored is read.", "A limit. Who comes is refused.",
                "| what | Whatever it is, it ends. |", "- so many as there are",
                "It takes so\nmany of them.", "The end of what was printed.",
                "Whoever asks is told.", "It waits for somebody.",
                "Each kind of schedule has one."]:
            with self.subTest(text):
                self.assertTrue(faults(text))

    def test_plain_text_is_left_alone(self):
        for text in [
                "What is a stage? A range of steps.", "## What it prints",
                "It says `so many` and `What is stored`.",
                "```text\nWhat is stored is damaged\n```",
                "Each device kind has its trees.",
                "The log says what is wrong."]:
            with self.subTest(text):
                self.assertEqual(faults(text), [])


if __name__ == "__main__":
    unittest.main(verbosity=2 if "-v" in sys.argv else 1)
