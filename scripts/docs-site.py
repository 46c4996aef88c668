"""Turns the pages of docs/, which are written to be read in a checkout, into
those of a site: a hook of mkdocs, see scripts/docs.
"""

import os
import pathlib
import re

from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parents[1]

# Pages of the site that are not in docs/, and where they come from.
FROM_ROOT = {"CONTRIBUTING.md": "contributing.md",
             "CHANGELOG.md": "changelog.md", "README.md": "index.md"}

API = {
    "api/python.md": "# Python API\n\n"
    "The package `hippo_hpo`; [Python](../python.md) is its guide.\n\n"
    "::: hippo_hpo\n    options: {show_root_heading: false}\n\n"
    # In the package it has the name of a module, too.
    "::: hippo_hpo.function.workload\n\n"
    + "\n\n".join(f"::: hippo_hpo.{x}" for x in [
        "torch", "lightning", "transformers", "sklearn", "notebook"]),
    "api/cpp.md": "# C++ API\n\n"
    "[The headers](../cpp/index.html) that `cmake --install` puts into place:\n"
    "the [client library](../clients.md) (`hippo/net/client/client.hpp`) and\n"
    "the base class of [workloads](../workloads.md)"
    " (`hippo/train/workload.hpp`).\n",
}


def on_files(files, config):
    for name, page in FROM_ROOT.items():
        if page != "index.md":
            files.append(File.generated(
                config, page, content=from_root((ROOT / name).read_text())))
    for page, content in API.items():
        files.append(File.generated(config, page, content=content))
    cpp = pathlib.Path(os.environ["HIPPO_CPP_PAGES"])
    for path in sorted(cpp.rglob("*")):
        if path.is_file():
            files.append(File.generated(
                config, f"cpp/{path.relative_to(cpp)}",
                abs_src_path=str(path)))
    return files


def from_root(text):
    """A page of the top folder as one of docs/."""
    return re.sub(r"\]\((?!https?:|#)(?:docs/)?([^)]+)\)",
                  lambda x: f"]({x[1]})" if x[0].startswith("](docs/")
                  else f"](../{x[1]})", text)


def on_page_markdown(markdown, page, config, files):
    if page.file.src_uri.startswith("api/"):
        return markdown
    parts = re.split(r"(?ms)(^```.*?^```)", markdown)
    parts[::2] = map(of_site, parts[::2])
    return "".join(parts)


def of_site(text):
    """Text outside of blocks: files of the checkout are named, not linked."""
    def link(found):
        text, target = found[1], found[2]
        name, mark, anchor = target.partition("#")
        if name in FROM_ROOT:
            return f"[{text}]({FROM_ROOT[name]}{mark}{anchor})"
        return text if text.strip("`") == name else f"{text} (`{name}`)"

    text = re.sub(r"\[([^]]*)\]\(\.\./([^)]+)\)", link, text)
    # In a table GitHub reads `a\|b` as a|b.
    return re.sub(r"(?m)^\|.*$", lambda row: re.sub(
        r"`[^`]*`", lambda code: code[0].replace("\\|", "|"), row[0]), text)
