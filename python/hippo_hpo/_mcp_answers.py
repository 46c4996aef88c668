"""Answers of `hippo_hpo.mcp`: JSON of bounded size, whatever a study holds.

Lists come in pages of at most `ROWS_MAX` rows with the cursor of the next one.
Long texts, lists and maps within a row are cut, and say so. No answer has more
than `ANSWER_CHARS_MAX` characters.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

# The most characters of an answer.
ANSWER_CHARS_MAX = 32_000

# The most rows of a page.
ROWS_MAX = 100

# The most characters of a row, and what is left for the rest of an answer.
ROW_CHARS_MAX = 3_000
_FRAME_CHARS = 2_000

# How far the values of a row are cut until they are short enough: characters
# of a text, items of a list or map, levels of nesting.
_CUTS = ((400, 60, 6), (80, 20, 4), (40, 8, 3), (20, 3, 1))

# The most characters of an error's text.
ERROR_CHARS_MAX = 4_000


def to_json(x: Any) -> str:
    """Writes an answer; a number that JSON does not have is null."""
    return json.dumps(_finite(x), ensure_ascii=False, separators=(",", ":"))


def _finite(x: Any) -> Any:
    if isinstance(x, float):
        return x if math.isfinite(x) else None
    if isinstance(x, Mapping):
        return {str(key): _finite(y) for key, y in x.items()}
    if isinstance(x, (list, tuple)):
        return [_finite(y) for y in x]
    return x


def cut_text(x: str, most: int) -> str:
    """Returns a text of about `most` characters, which says how many it had.

        >>> cut_text("abcdefgh", 3), cut_text("abc", 3)
        ('abc... (8 characters)', 'abc')
    """
    return x if len(x) <= most else f"{x[:most]}... ({len(x)} characters)"


def _cut(x: Any, texts: int, items: int, depth: int) -> Any:
    if isinstance(x, str):
        return cut_text(x, texts)
    if not isinstance(x, (Mapping, list, tuple)):
        return x
    if depth == 0:
        return cut_text(to_json(x), texts)
    more = len(x) - items
    if isinstance(x, Mapping):
        kept = {cut_text(str(key), texts): _cut(y, texts, items, depth - 1)
                for key, y in list(x.items())[:items]}
        return {**kept, "...": f"{more} more"} if more > 0 else kept
    found = [_cut(y, texts, items, depth - 1) for y in x[:items]]
    return [*found, f"... {more} more"] if more > 0 else found


def row(x: Mapping[str, Any], most: int = ROW_CHARS_MAX) -> dict[str, Any]:
    """Returns a row of a page: the values of `x`, cut until it is short."""
    cut: dict[str, Any] = {}
    for texts, items, depth in _CUTS:
        cut = {key: _cut(y, texts, items, depth) for key, y in x.items()}
        if len(to_json(cut)) <= most:
            break
    return cut


def page(rows: Sequence[Mapping[str, Any]], first: int, most: int,
         is_last: bool) -> dict[str, Any]:
    """Returns a page: `rows`, and `next`, the cursor of the following page;
    None if there is none.

    Args:
        rows: of the page or more, the first one with cursor `first`.
        most: the rows that are asked for.
        is_last: whether there are no rows beyond these.
    """
    most = min(max(most, 1), ROWS_MAX)
    left = ANSWER_CHARS_MAX - _FRAME_CHARS
    kept: list[dict[str, Any]] = []
    for x in rows[:most]:
        short = row(x)
        left -= len(to_json(short)) + 1
        if kept and left < 0:
            break
        kept.append(short)
    is_whole = is_last and len(kept) == len(rows)
    return {"rows": kept, "next": None if is_whole else first + len(kept)}


def part(text: str, first: int) -> dict[str, Any]:
    """Returns a part of a text from a character on, and `next`."""
    # A character may be six in JSON.
    most = (ANSWER_CHARS_MAX - _FRAME_CHARS) // 6
    kept = text[first:first + most]
    end = first + len(kept)
    return {"text": kept, "next": end if end < len(text) else None}


def thin(points: Sequence[Any], most: int) -> list[Any]:
    """Returns at most `most` of the points, evenly spread, with both ends.

        >>> thin(range(10), 4)
        [0, 3, 6, 9]
    """
    if len(points) <= most:
        return list(points)
    if most < 2:
        return list(points[-1:])
    last = len(points) - 1
    return [points[round(i * last / (most - 1))] for i in range(most)]


def tree_in_short(tree: Mapping[str, Any], most: int) -> dict[str, Any]:
    """Returns the size of a stage tree, the steps at which it branches, and
    the stages that the most trials share.

    Args:
        tree: its columns, as lists: docs/http.md.
    """
    stages = [dict(zip(_STAGE, values)) for values in
              zip(*(tree[name] for name in _STAGE))]
    children: dict[int, int] = {}
    for x in stages:
        children[x["parent"]] = children.get(x["parent"], 0) + 1
    branches: dict[int, int] = {0: children[0]} if children.get(0) else {}
    for x in stages:
        if children.get(x["id"], 0) > 1:
            branches[x["end"]] = branches.get(x["end"], 0) + children[x["id"]]
    shared = sorted(stages, key=lambda x: (-x["trials"], x["begin"], x["id"]))
    steps = sorted(branches.items(), key=lambda x: (-x[1], x[0]))
    return {
        "stages": tree.get("all_nodes", len(stages)),
        "unique_steps": sum(x["end"] - x["begin"] for x in stages),
        "last_step": max((x["end"] for x in stages), default=0),
        "branches": [{"step": step, "stages": count}
                     for step, count in steps[:most]],
        "shared_most": [row(x, 600) for x in shared[:most]]}


_STAGE = ("id", "parent", "begin", "end", "trials", "label", "value")


def rows_of(columns: Mapping[str, Iterable[Any]]) -> list[dict[str, Any]]:
    """Returns columns as rows."""
    return [dict(zip(columns, values)) for values in zip(*columns.values())]
