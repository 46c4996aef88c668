"""Makes a file of a function and all that it names, so that it can travel.

It is text, and never pickled by value: the bytes of a pickle change from one
session to the next, so the key of the study would, and nothing would ever be
shared.
"""

from __future__ import annotations

import __future__
import ast
import dataclasses
import importlib
import inspect
import os
import symtable
import sys
import sysconfig
import textwrap
import types
from collections.abc import Iterable, Mapping
from typing import Any

from ._expressions import expression_of, remedy_of
from .errors import InvalidStudy
from .function import TrainingFunction
from .workload import Workload

# Where what is installed lies, which travels by its version and not as text.
_INSTALLED = tuple({os.path.realpath(sysconfig.get_path(x)) + os.sep
                    for x in ("stdlib", "platstdlib", "purelib", "platlib")})


@dataclasses.dataclass
class Source:
    """Code that is whole.

    Attributes:
        text: of a module with the function.
        files: paths of the user's own modules that it imports, by the names
            under which they have to lie beside it.
        places: of parts of the text: first line, number of lines, file that
            they are from and first line there.
        notes: sentences on what it has.
    """

    text: str
    files: dict[str, str]
    places: list[tuple[int, int, str, int]] = dataclasses.field(
        default_factory=list)
    notes: list[str] = dataclasses.field(default_factory=list)

    def place_of(self, name: str, line: int) -> tuple[str, int] | None:
        """The file and the line that a line of a file has come from: of one
        of `files` by its name, or else of the text; None: nobody knows."""
        if name in self.files:
            return self.files[name], line
        for first, count, file, there in self.places:
            if first <= line < first + count:
                return file, there + line - first
        return None


def source_of(function: TrainingFunction | type[Workload],
              modules: Iterable[types.ModuleType] = (),
              home: str | None = None) -> Source:
    """Returns the text of a function or class with the top-level functions,
    classes, constants and imports that it names, and those of these in turn.

    Args:
        modules: which it needs beside, without naming them.
        home: where the user's own modules lie; None: where the function does.

    Raises:
        InvalidStudy: it, or something that it names, cannot travel. The text
            says what and why.
    """
    maker = _Maker(function.function if isinstance(function, TrainingFunction)
                   else function, home)
    maker.add(function.__name__, function)
    for module in modules:
        maker.add_files(module)
    return maker.source()


class _Maker:
    def __init__(self, function: Any, home: str | None) -> None:
        self._function = function
        self._globals = vars(sys.modules[function.__module__])
        self._home = home and os.path.realpath(home) \
            or _folder_of(self._globals)
        self._future = self._globals.get("annotations") \
            is __future__.annotations
        self._imports: set[str] = set()
        self._constants: dict[str, str] = {}
        self._definitions: dict[str, str] = {}
        self._origins: dict[str, tuple[str, int]] = {}
        self._files: dict[str, str] = {}
        self._notes: list[str] = []
        self._seen: set[str] = set()

    def source(self) -> Source:
        parts = []
        if self._future:
            parts.append("from __future__ import annotations")
        if self._imports:
            parts.append("\n".join(sorted(self._imports)))
        if self._constants:
            parts.append("\n".join(f"{name} = {text}" for name, text
                                   in sorted(self._constants.items())))
        places = []
        line = 1 + sum(x.count("\n") + 3 for x in parts)
        for name, text in self._definitions.items():
            count = text.count("\n") + 1
            if name in self._origins:
                places.append((line, count, *self._origins[name]))
            line += count + 2
        parts += self._definitions.values()
        return Source("\n\n\n".join(parts) + "\n", self._files, places,
                      self._notes)

    def add(self, name: str, value: Any) -> None:
        """Adds what a global name stands for."""
        if name in self._seen:
            return
        self._seen.add(name)
        if isinstance(value, types.ModuleType):
            alias = "" if value.__name__ == name else f" as {name}"
            self._imports.add(f"import {value.__name__}{alias}")
            self.add_files(value)
            return
        inner = value.function if isinstance(value, TrainingFunction) else value
        if inspect.isfunction(inner) or inspect.isclass(inner):
            if inner.__module__ == self._globals.get("__name__") \
                    or inner is self._function:
                self._define(name, inner)
            else:
                self._import(name, inner)
        elif (found := expression_of(value)) is not None:
            self._constants[name], modules = found
            self._imports |= {f"import {x}" for x in modules}
            if type(value).__module__ == "torch" \
                    and type(value).__name__ == "device":
                self._notes.append(
                    f"{name} is {value!r} on all trainers, as it is here; "
                    "ctx.device is what each of them has")
        else:
            self._import_instance(name, value)

    def _define(self, name: str, x: Any) -> None:
        if "<lambda>" in x.__qualname__:
            raise self._refusal(f"{name} is a lambda: write it as a function")
        if "<locals>" in x.__qualname__ or "." in x.__qualname__:
            raise self._refusal(
                f"{x.__qualname__} is defined inside of something else: define "
                "it at the top level of the file")
        if closure := getattr(x, "__closure__", None):
            del closure
            raise self._refusal(
                f"{name} uses {', '.join(x.__code__.co_freevars)} of the "
                "function around it, which do not travel: make them arguments, "
                "ctx.args or global constants")
        try:
            lines, first = inspect.getsourcelines(x)
            text = textwrap.dedent("".join(lines)).rstrip()
            self._origins[name] = inspect.getsourcefile(x) or "", max(first, 1)
        except (OSError, TypeError):
            raise self._refusal(
                f"the source of {name} is nowhere: define it in a file or in a "
                "cell of a notebook") from None
        for used in sorted(_names_in(text)):
            if used in self._globals and used != name:
                self.add(used, self._globals[used])
        for chain in _chains_in(text):
            self._add_submodules(chain)
        self._definitions[name] = text

    def _add_submodules(self, chain: list[str]) -> None:
        """Adds the imports that `xml.etree.ElementTree` needs beside `xml`."""
        found = self._globals.get(chain[0])
        if not isinstance(found, types.ModuleType) \
                or found.__name__ != chain[0]:
            return
        whole = chain[0]
        for part in chain[1:]:
            whole += f".{part}"
            if whole not in sys.modules:
                return
            self._imports.add(f"import {whole}")
            self.add_files(sys.modules[whole])

    def _import(self, name: str, x: Any) -> None:
        module = sys.modules.get(x.__module__)
        found: Any = module
        for part in x.__qualname__.split("."):
            found = getattr(found, part, None)
        if found is not x or "." in x.__qualname__ or module is None:
            raise self._refusal(f"{name} cannot be imported from "
                                f"{x.__module__}")
        alias = "" if x.__name__ == name else f" as {name}"
        self._imports.add(f"from {x.__module__} import {x.__name__}{alias}")
        self.add_files(module)

    def _import_instance(self, name: str, value: Any) -> None:
        """Adds an object that a module has under the same name, such as what
        `typing` is made of."""
        home = getattr(value, "__module__", None) or type(value).__module__
        module = sys.modules.get(home)
        if module is not None and getattr(module, name, None) is value \
                and home != self._globals.get("__name__"):
            self._imports.add(f"from {home} import {name}")
            self.add_files(module)
            return
        raise self._refusal(
            f"it uses {name}, a global {type(value).__name__}, which does not "
            f"travel: {remedy_of(name, value)}")

    def add_files(self, module: types.ModuleType) -> None:
        """Lets the user's own modules travel as files, with those that they
        import."""
        path = getattr(module, "__file__", None)
        if path is None:
            return
        path = os.path.realpath(path)
        if path.startswith(_INSTALLED) or self._home is None \
                or not path.startswith(self._home + os.sep) \
                or module.__name__.partition(".")[0] == "hippo_hpo":
            return
        name = os.path.relpath(path, self._home).replace(os.sep, "/")
        if name in self._files:
            return
        self._files[name] = path
        with open(path, encoding="utf-8") as file:
            text = file.read()
        package = module.__name__.rpartition(".")[0]
        for imported in _modules_in(text, package):
            known = sys.modules.get(imported)
            if known is not None:
                self.add_files(known)
        if package:  # its __init__.py
            self.add_files(importlib.import_module(package))

    def _refusal(self, why: str) -> InvalidStudy:
        return InvalidStudy(f"{self._function.__name__} cannot travel to "
                            f"trainers: {why}")


def _folder_of(names: Mapping[str, Any]) -> str | None:
    """The folder of the user's script; of a notebook the working directory."""
    path = names.get("__file__")
    return os.path.realpath(os.path.dirname(os.path.abspath(path)) if path
                            else os.getcwd())


def _names_in(text: str) -> set[str]:
    """The global names that the text of a definition uses: in its body, and in
    decorators, defaults, annotations and base classes."""
    top = symtable.symtable(text, "code", "exec")
    found = {x.get_name() for x in top.get_symbols() if x.is_referenced()}
    tables = list(top.get_children())
    while tables:
        table = tables.pop()
        tables += table.get_children()
        found |= {x.get_name() for x in table.get_symbols()
                  if x.is_global() and x.is_referenced()}
    return found


def _chains_in(text: str) -> list[list[str]]:
    """The names with their attributes: `a.b.c` is ["a", "b", "c"]."""
    found = []
    for node in ast.walk(ast.parse(text)):
        parts = []
        inner: ast.expr | ast.AST = node
        while isinstance(inner, ast.Attribute):
            parts.append(inner.attr)
            inner = inner.value
        if parts and isinstance(inner, ast.Name):
            found.append([inner.id, *reversed(parts)])
    return sorted(found)


def _modules_in(text: str, package: str) -> list[str]:
    """The modules that a file imports, by their whole names."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {x.name for x in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = package.split(".") if package else []
                parts = parts[:len(parts) - node.level + 1]
                base = ".".join([*parts, *([base] if base else [])])
            found |= {base, *(f"{base}.{x.name}" for x in node.names)}
    return sorted(found - {""})
