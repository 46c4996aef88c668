"""The text of study files, by the service's rules: what is a number there is
one here, and a word is a word (libhippo/hippo/yaml/document.cpp). They are
those of YAML 1.2, where PyYAML's own are those of 1.1; its parser alone is of
use here. Nothing else in this package reads or writes study files.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any

import yaml

from .errors import InvalidStudy
from .space import plain

# The limits of the service.
VALUES_MAX = 50_000
DEPTH_MAX = 64

_INTEGER = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_NULLS = ("", "~", "null", "Null", "NULL")

# Where the service takes a word for what it is spelt as, be it a number:
# `numpy: 2.10`.
_WORDS = re.compile(
    r"(study|workload|algorithm|objective(\[\d+\])?\.metric|constraints\[\d+\]"
    r"|workload\.(name|python|python_executable|packages\..*"
    r"|(command|files|packages)\[\d+\]))", re.DOTALL)

# What YAML 1.2 has and PyYAML does not, or takes for the end of a line.
_FOREIGN = re.compile("[^\t\n\r -~\xa0-\u2027\u202a-\ufffd"
                      "\U00010000-\U0010ffff]")
_SURROGATE = re.compile("[\ud800-\udfff]")

# What stands without quotes: words that no reader of YAML takes for anything
# else.
_BARE = re.compile(r"[A-Za-z_](?:[A-Za-z0-9_.+/-]|:(?=[A-Za-z0-9_/]))*")
_NOT_BARE = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y",
                       "n", "nan", "inf", "infinity"})

_WIDTH = 78

# The longest key that may stand without a question mark before it.
_KEY_MAX = 1000


def read_document(text: str) -> dict[str, Any]:
    """Reads the text of a study file: maps, lists, numbers, words, truth values
    and None.

    Raises:
        InvalidStudy: it is no such text; with the place, as ``3:7: ...``.
    """
    if wrong := re.search("[\0\ud800-\udfff]", text):
        raise InvalidStudy("a study file is UTF-8 without zero bytes, found "
                           f"{wrong[0]!r}")
    replaced = _replacements(text)
    for foreign, own in replaced.items():
        text = text.replace(foreign, own)
    loader = _Loader(text)
    try:
        reader = _Reader(_events(loader),
                         {own: foreign for foreign, own in replaced.items()})
        return reader.read()
    except yaml.MarkedYAMLError as why:
        raise _wrong(why.problem_mark or why.context_mark,
                     f"is not valid YAML: {why.problem}") from None
    except yaml.YAMLError as why:
        raise InvalidStudy(f"is not valid YAML: {why}") from None
    finally:
        loader.dispose()


def write_document(x: Any) -> str:
    """Writes a study, of whatever `hippo_hpo.space.plain` takes.
    `read_document` gives the same values back, and so does the service.

    Raises:
        InvalidArgument: there is something that no study file has.
    """
    return "".join(line + "\n" for line in _block(plain(x)))


def _wrong(mark: Any, what: str) -> InvalidStudy:
    return InvalidStudy(f"{mark.line + 1}:{mark.column + 1}: {what}"
                        if mark else what)


# -- reading


def _replacements(text: str) -> dict[str, str]:
    """For each foreign character one of no meaning that the text has not."""
    free = (x for x in map(chr, range(0xe000, 0xf900)) if x not in text)
    return dict(zip(sorted(set(_FOREIGN.findall(text))), free))


class _Loader(yaml.SafeLoader):  # type: ignore[misc]
    """PyYAML's, which lets a scalar begin with a colon within brackets too, as
    `[::1]`, and tabs stand where spaces do, but in the margin."""

    def check_value(self) -> bool:
        if not self.flow_level:
            return bool(super().check_value())
        return self.peek(1) in "\0 \t\r\n,[]{}" \
            or self.prefix_before() in "\"']}"

    def check_plain(self) -> bool:
        return bool(super().check_plain()) or (
            self.flow_level > 0 and self.peek() in "?:"
            and self.peek(1) not in "\0 \t\r\n,[]{}")

    def scan_to_next_token(self) -> None:
        super().scan_to_next_token()
        while self.peek() == "\t" and self.buffer[
                self.pointer - self.column:self.pointer].strip():
            self.forward()
            super().scan_to_next_token()

    def scan_plain_spaces(self, indent: Any, start_mark: Any) -> Any:
        length = 0
        while self.peek(length) in " \t":
            length += 1
        if length == 0 or self.peek(length) in "\0\r\n#":
            return super().scan_plain_spaces(indent, start_mark)
        spaces = self.prefix(length)
        self.forward(length)
        return [spaces]

    def prefix_before(self) -> str:
        """What stands before the next character; a quote if nothing does."""
        return str(self.buffer[self.pointer - 1:self.pointer]) or "'"


def _events(loader: Any) -> Iterator[Any]:
    while loader.check_event():
        yield loader.get_event()


class _Reader:
    """Makes values of events. Aliases are spelt out, so it is here that what
    they come to is counted."""

    def __init__(self, events: Iterator[Any], foreign: dict[str, str]) -> None:
        self._foreign = foreign
        self._events: list[Any] = []
        self._anchors: dict[str, int] = {}
        self._values = 0
        documents = 0
        for x in events:
            documents += isinstance(x, yaml.DocumentStartEvent)
            if documents > 1:
                raise _wrong(x.start_mark, "holds more than one document, a "
                                           "study is one")
            if isinstance(x, yaml.AliasEvent):
                # What an anchor names at this place; it may be named again.
                if x.anchor not in self._anchors:
                    raise _wrong(x.start_mark, f"unknown anchor {x.anchor!r}")
                self._events.append((x, self._anchors[x.anchor]))
                continue
            if getattr(x, "anchor", None):
                self._anchors[x.anchor] = len(self._events)
            if isinstance(x, (yaml.NodeEvent, yaml.CollectionEndEvent)):
                self._events.append((x, len(self._events)))

    def read(self) -> dict[str, Any]:
        if not self._events or not isinstance(self._events[0][0],
                                              yaml.MappingStartEvent):
            raise InvalidStudy("must be a map that describes a study")
        result: dict[str, Any] = self._value(0, "", 0)[0]
        return result

    def _value(self, at: int, path: str, depth: int) -> tuple[Any, int]:
        """The value at an event, and the event behind it."""
        x, there = self._events[at]
        self._count(x, depth)
        if isinstance(x, yaml.AliasEvent):
            return self._value(there, path, depth)[0], at + 1
        if isinstance(x, yaml.ScalarEvent):
            return self._leaf(x, path), at + 1
        at += 1
        if isinstance(x, yaml.MappingStartEvent):
            return self._map(at, path, depth)
        items: list[Any] = []
        while not isinstance(self._events[at][0], yaml.SequenceEndEvent):
            item, at = self._value(at, f"{path}[{len(items)}]", depth + 1)
            items.append(item)
        return items, at + 1

    def _map(self, at: int, path: str, depth: int
             ) -> tuple[dict[str, Any], int]:
        own: dict[str, Any] = {}
        merge: tuple[Any, int, int] | None = None
        while not isinstance(self._events[at][0], yaml.MappingEndEvent):
            key = self._events[self._events[at][1]][0]
            if not isinstance(key, yaml.ScalarEvent) or _is_null(key):
                raise _wrong(key.start_mark, "a key must be a word")
            name = self._text(key)
            if name == "<<" and not _is_quoted(key):
                if merge:
                    raise _wrong(key.start_mark, "the merge key '<<' is there "
                                                 "twice: give it a list of "
                                                 "maps")
                merge = key, at + 1, len(own)
                at = self._behind(at + 1)
                continue
            if name in own:
                raise _wrong(key.start_mark,
                             f"the key {name!r} is there twice")
            own[name], at = self._value(
                at + 1, f"{path}.{name}" if path else name, depth + 1)
        if not merge:
            return own, at + 1
        key, begin, place = merge
        all_own = list(own.items())
        brought = [(k, x) for k, x in self._brought(key, begin, path,
                                                    depth).items()
                   if k not in own]
        return dict(all_own[:place] + brought + all_own[place:]), at + 1

    def _brought(self, key: Any, at: int, path: str, depth: int
                 ) -> dict[str, Any]:
        """What a map gets of others by a merge key, in whose place it comes;
        of equal keys the first one's value."""
        at = self._events[at][1]
        places = [at]
        if isinstance(self._events[at][0], yaml.SequenceStartEvent):
            self._count(self._events[at][0], depth + 1)
            places = []
            at += 1
            while not isinstance(self._events[at][0], yaml.SequenceEndEvent):
                places.append(at)
                at = self._behind(at)
        result: dict[str, Any] = {}
        for place in places:
            x = self._value(place, path, depth + 2)[0]
            if not isinstance(x, dict):
                raise _wrong(key.start_mark, "the merge key '<<' takes a map "
                                             "or a list of maps (write \"<<\" "
                                             "for a name)")
            result = {**result,
                      **{k: y for k, y in x.items() if k not in result}}
        return result

    def _behind(self, at: int) -> int:
        """The event behind a value."""
        depth = 0
        while True:
            x = self._events[at][0]
            depth += isinstance(x, yaml.CollectionStartEvent)
            depth -= isinstance(x, yaml.CollectionEndEvent)
            at += 1
            if depth == 0:
                return at

    def _count(self, x: Any, depth: int) -> None:
        self._values += 1
        if self._values > VALUES_MAX:
            raise _wrong(x.start_mark,
                         f"the file holds more than {VALUES_MAX} values")
        if depth > DEPTH_MAX:
            raise _wrong(x.start_mark,
                         f"is nested more than {DEPTH_MAX} levels deep")

    def _text(self, x: Any) -> str:
        text = str(x.value)
        if self._foreign:
            text = "".join(self._foreign.get(c, c) for c in text)
        if _SURROGATE.search(text):
            raise _wrong(x.start_mark, "is not valid UTF-8 once its escapes "
                                       "are read")
        return text

    def _leaf(self, x: Any, path: str) -> Any:
        text = self._text(x)
        if _is_null(x):
            return None
        if _is_quoted(x) or _WORDS.fullmatch(path):
            return text
        return _meaning(text)


def _is_quoted(x: Any) -> bool:
    """Whether the text of a scalar is a word, whatever it looks like."""
    return x.tag == "!" or (x.tag is None and bool(x.style))


def _is_null(x: Any) -> bool:
    return x.tag is None and not x.style and x.value in _NULLS


def _meaning(text: str) -> int | float | bool | str:
    """What a text without quotes means."""
    if _INTEGER.fullmatch(text) and len(text.lstrip("+-0")) <= 20:
        whole = int(text)
        return whole if -2**63 <= whole < 2**64 else float(text)
    if _NUMBER.fullmatch(text):
        number = float(text)
        digits = re.split("[eE]", text)[0].strip("+-0.")
        if math.isinf(number) or (number == 0 and digits):
            return text  # no double is as large, or as small
        return number
    if text in (".inf", "+.inf"):
        return math.inf
    if text == "-.inf":
        return -math.inf
    if text == ".nan":
        return math.nan
    return text == "true" if text in ("true", "false") else text


# -- writing


def _scalar(x: Any) -> str:
    if x is None:
        return "null"
    if isinstance(x, bool):
        return "true" if x else "false"
    if isinstance(x, float):
        if math.isnan(x):
            return ".nan"
        return repr(x) if math.isfinite(x) else ".inf" if x > 0 else "-.inf"
    if isinstance(x, int):
        return str(x)
    if _BARE.fullmatch(x) and x.lower() not in _NOT_BARE:
        return str(x)
    return json.dumps(x, ensure_ascii=False)


def _flow(x: Any) -> str | None:
    """A value in one line; None: it has maps or lists within."""
    if not isinstance(x, (dict, list)):
        return _scalar(x)
    items = list(x.values() if isinstance(x, dict) else x)
    if any(isinstance(y, (dict, list)) and y for y in items):
        return None
    shown = [str(_flow(y)) for y in items]
    if isinstance(x, list):
        return f"[{', '.join(shown)}]"
    keys = [_scalar(key) for key in x]
    if any(len(key) > _KEY_MAX for key in keys):
        return None
    return "{" + ", ".join(map("{}: {}".format, keys, shown)) + "}"


def _block(x: Any) -> Iterator[str]:
    """The lines of a value that is not written in one."""
    if isinstance(x, dict):
        for name, value in x.items():
            key = _scalar(name)
            before = f"{key}:"
            if is_long := len(key) > _KEY_MAX:
                yield f"? {key}"
                before = ":"
            yield from _entry(before, value,
                              is_long or isinstance(value, dict))
    else:
        for value in x:
            yield from _item(value)


def _is_short(x: Any, text: str | None, used: int) -> bool:
    return text is not None and (not isinstance(x, (dict, list)) or not x
                                 or used + len(text) <= _WIDTH)


def _entry(before: str, x: Any, is_deeper: bool) -> Iterator[str]:
    text = _flow(x)
    if _is_short(x, text, len(before) + 1):
        yield f"{before} {text}"
        return
    yield before
    for line in _block(x):
        yield ("  " if is_deeper else "") + line


def _item(x: Any) -> Iterator[str]:
    text = _flow(x)
    if _is_short(x, text, 2):
        yield f"- {text}"
        return
    mark = "- "
    for line in _block(x):
        yield mark + line
        mark = "  "
