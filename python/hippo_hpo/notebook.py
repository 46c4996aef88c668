"""Studies in notebooks: cards that are updated, and cells as files.

    %load_ext hippo_hpo

    %%hippo train.py
    @hippo.workload(seed=1)
    def train(ctx): ...

`%%hippo FILE` writes its cell to a file and imports it, so that scripts and
study files may name the same file. It needs no package for widgets: cards are
HTML that is displayed again under the same id.
"""

from __future__ import annotations

import html
import importlib
import importlib.util
import linecache
import os
import sys
from typing import TYPE_CHECKING, Any

from ._whole import whole_file
from .errors import InvalidArgument
from .records import StudyInfo

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["LiveCard", "card_of", "import_cell", "in_notebook"]


# -- cards --------------------------------------------------------------------

# Colours are those of the page around, light or dark.
_STYLE = ("border:1px solid;border-radius:6px;padding:8px 12px;margin:4px 0;"
          "max-width:640px;font-family:sans-serif;line-height:1.5")


def _row(name: str, value: str) -> str:
    return (f"<tr><td style=\"text-align:left;opacity:.7\">{name}</td>"
            f"<td style=\"text-align:left\">{value}</td></tr>")


def _seconds(x: float) -> str:
    """Says a time in its two largest units.

        >>> _seconds(3.21), _seconds(75), _seconds(7380)
        ('3.2 s', '1 min 15 s', '2 h 3 min')
    """
    if x < 60:
        return f"{x:.1f} s"
    if x < 3600:
        return f"{int(x) // 60} min {int(x) % 60} s"
    return f"{int(x) // 3600} h {int(x) % 3600 // 60} min"


def card_of(info: StudyInfo) -> str:
    """Returns HTML that shows how a study is. It names nothing to be loaded."""
    share = info.finished / info.trials if info.trials else 0.0
    shared = info.shared_steps / max(info.delivered_steps, 1)
    trained = info.delivered_steps - info.shared_steps
    rows = [_row("trials", f"{info.finished} of {info.trials} finished"),
            _row("steps", f"{info.delivered_steps:,} delivered, {trained:,} "
                 f"trained: {shared:.0%} shared")]
    if info.front is not None:
        volume = info.front.hypervolume
        rows.append(_row("front", f"{len(info.front.points)} measurements"
                         + ("" if volume is None
                            else f", hypervolume {volume:.6g}")))
    best = info.best_trial
    if best is not None and best.value is not None:
        values = ", ".join(f"{name} = {value}"
                           for name, value in best.params.items())
        rows.append(_row(
            html.escape(info.metric),
            f"<b>{best.value:.6g}</b> at step {best.step} of trial "
            f"{best.number}<br><span style=\"opacity:.7\">"
            f"{html.escape(values)}</span>"))
    rows.append(_row("time", _seconds(info.active_seconds)
                     + (f", {_seconds(info.saved_seconds)} saved by merging"
                        if info.saved_seconds >= 0.05 else "")))
    for name, text in ("reason", info.reason), ("waiting", info.waiting):
        if text:
            rows.append(_row(name, html.escape(text)))
    return (
        f"<div style=\"{_STYLE}\"><b>{html.escape(info.name)}</b> "
        f"<span style=\"opacity:.7\">study {info.id}, "
        f"{html.escape(info.algorithm)}, {html.escape(info.state)}</span>"
        f"<progress value=\"{share:.4f}\" max=\"1\" aria-label=\"trials "
        "finished\" style=\"display:block;width:100%\"></progress>"
        f"<table style=\"border:0\">{''.join(rows)}</table></div>")


def in_notebook() -> bool:
    """Whether somebody looks at what is displayed as HTML."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and getattr(shell, "kernel", None) is not None


class LiveCard:
    """A card that is drawn anew with each state of its study."""

    def __init__(self) -> None:
        self._handle: Any = None
        self._shown = ""

    def __call__(self, info: StudyInfo) -> None:
        text = card_of(info)
        if text == self._shown:
            return
        self._shown = text
        # What a notebook shows that has no HTML, such as one in a terminal.
        data = {"text/html": text,
                "text/plain": f"{info.name}: {info.state}"}
        if self._handle is None:
            display = importlib.import_module("IPython.display").display
            self._handle = display(data, raw=True, display_id=True)
        else:
            self._handle.update(data, raw=True)

    def end(self) -> None:
        """Leaves the last card as it is."""


# -- cells as files -----------------------------------------------------------


def import_cell(line: str, cell: str, names: dict[str, Any]) -> ModuleType:
    """Writes a cell to a file and imports that, as `%%hippo FILE` does.

    Args:
        line: the file's name, such as `train.py`, in the working directory.
        names: gets what the file defines, and the module under its name.

    Raises:
        InvalidArgument: the line names no file of Python.
        SyntaxError: the cell is no Python; the file stays as it was.
    """
    path = line.strip()
    module_name, extension = os.path.splitext(path)
    if extension != ".py" or not module_name.isidentifier():
        raise InvalidArgument(
            f"%%hippo {path}: give a file in this folder that can be imported, "
            "such as %%hippo train.py")
    if module_name in sys.stdlib_module_names | {"hippo_hpo"}:
        raise InvalidArgument(f"%%hippo {path}: {module_name} is the name of "
                              "another module; choose one of your own")
    compile(cell, path, "exec")
    path = os.path.abspath(path)
    with whole_file(path) as part, open(part, "w", encoding="utf-8") as file:
        file.write(cell)
    linecache.checkcache(path)
    spec = importlib.util.spec_from_file_location(module_name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    before = sys.modules.get(module_name)
    sys.modules[module_name] = module
    try:
        # Not from a cache, which would take two edits of a second for one.
        exec(compile(cell, path, "exec"), vars(module))
    except BaseException:
        if before is None:
            del sys.modules[module_name]
        else:
            sys.modules[module_name] = before
        raise
    names.update({name: x for name, x in vars(module).items()
                  if not name.startswith("_")})
    names.setdefault(module_name, module)
    return module


def load_ipython_extension(shell: Any) -> None:
    """Adds `%%hippo` to a notebook; `%load_ext hippo_hpo` calls it."""
    def magic(line: str, cell: str) -> None:
        import_cell(line, cell, shell.user_ns)
    shell.register_magic_function(magic, "cell", "hippo")
