#!/usr/bin/env python3
"""Writes what follows from the views that model.capnp declares.

    generate_views.py --cpp FOLDER   headers and sources of C++, for the build
    generate_views.py --write        the tracked parts: records of Python and
                                     tables of the docs, between their marks
    generate_views.py --check        whether these are what it would write
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import textwrap

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
SCHEMA = HERE / "model.capnp"
NUMBERS = {"uint64": ("std::uint64_t", "int"),
           "uint32": ("std::uint32_t", "int"), "float64": ("double", "float"),
           "bool": ("bool", "bool")}
# The place in a union of a field that is in none.
NO_UNION = "65535"
# The kinds of values that are lists in messages.
LISTS = ("map", "structs", "list")
# The type in Python of a noun whose JSON a text holds, its reader and default.
PYTHON_NOUNS = {"Params": ("dict[str, Any]", "values_of",
                           "field(default_factory=dict)")}


# -- the schema ---------------------------------------------------------------


def parse(text):
    """Reads a value as `capnp convert` prints it: dicts, lists and words."""
    tokens = re.findall(r'"(?:[^"\\]|\\.)*"|[()\[\]=,]|[^\s()\[\]=,"]+', text)
    at = 0

    def value():
        nonlocal at
        token = tokens[at]
        at += 1
        if token == "[":
            result = []
            while tokens[at] != "]":
                result.append(value())
                at += tokens[at] == ","
            at += 1
            return result
        if token == "(":
            result = {}
            while tokens[at] != ")":
                if tokens[at + 1] == "=":
                    name = tokens[at]
                    at += 2
                    result[name] = value()
                else:  # a pointer that has no text
                    at += 1
                at += tokens[at] == ","
            at += 1
            return result
        if token[0] == '"':
            return token[1:-1].encode().decode("unicode_escape")
        while at < len(tokens) and tokens[at] not in ")],":
            at += 1  # the other words of an opaque pointer
        return token

    return value()


def snake(name):
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def capital(name):
    return name[0].upper() + name[1:]


class Field:
    """A field of a view. Its `type` is (kind, detail): a number's or `text`,
    `direction`, `struct`, `structs`, `map` or `list`. `member` names the value
    of a union with nothing; the field `is_choice` if it is a member of a union
    without a name. `default` is that of the schema, None if it has none."""

    def __init__(self, raw, comment, notes):
        self.capnp = raw["name"]
        self.comment = comment
        self.notes = notes
        self.member = None
        self.is_choice = raw.get("discriminantValue") != NO_UNION
        self.default = None
        slot = raw.get("slot", {})
        if slot.get("hadExplicitDefault") == "true":
            self.default, = slot["defaultValue"].values()
        self.name = "direction" if "direction" in notes else snake(self.capnp)
        self.python = notes.get("python", self.name)
        self.key = notes.get("key", self.name)

    @property
    def is_optional(self):
        return (self.member is not None or self.is_choice
                or self.is_zero_none)

    @property
    def is_zero_none(self):
        return "nullable" in self.notes and self.type[0] in NUMBERS

    @property
    def is_empty_none(self):
        return "nullable" in self.notes and not self.is_zero_none

    @property
    def cpp_type(self):
        kind, detail = self.type
        if kind in ("struct", "structs"):
            inner = snake(detail.name)
        elif kind == "map":
            value = NUMBERS[detail.fields[1].type[0]][0]
            inner = f"std::map<std::string, {value}>"
        elif kind == "list":
            inner = "std::string" if detail == "text" else NUMBERS[detail][0]
        else:
            inner = {"text": self.notes.get("cpp", "std::string"),
                     "direction": "hippo::direction"}.get(kind) \
                or NUMBERS[kind][0]
        if kind in ("structs", "list"):
            inner = f"std::vector<{inner}>"
        return f"std::optional<{inner}>" if self.is_optional else inner

    @property
    def cpp_zero(self):
        """The value in C++ of a field that is unset."""
        if "cpp" in self.notes and self.default:
            return f" = {self.notes['cpp']}::{self.default.lower()}"
        if self.is_optional or self.type[0] in ("text", "struct", *LISTS):
            return "{}"
        if self.type[0] in ("direction", "bool"):
            return (" = false" if self.type[0] == "bool"
                    else " = hippo::direction::minimize")
        return f" = {self.default or 0}"


class Struct:
    def __init__(self, name, comment, notes):
        self.name, self.comment, self.notes = name, comment, notes
        self.python = notes.get("python", name)
        self.fields = []


class Enum:
    def __init__(self, name, comment, words):
        self.name, self.comment, self.words = name, comment, words


def load():
    """Returns the structs and enums of the schema, by name, in its order."""
    request = subprocess.run(["capnp", "compile", "-o-", str(SCHEMA.name)],
                             cwd=HERE, env={**os.environ, "PWD": str(HERE)},
                             check=True, stdout=subprocess.PIPE)
    capnp = pathlib.Path(shutil.which("capnp")).resolve()
    include = capnp.parents[1] / "include"
    text = subprocess.run(
        ["capnp", "convert", "binary:text", f"-I{include}",
         f"{include}/capnp/schema.capnp", "CodeGeneratorRequest"],
        input=request.stdout, check=True, stdout=subprocess.PIPE).stdout
    read = parse(text.decode())
    nodes = {x["id"]: x for x in read["nodes"]}
    comments = {x["id"]: x for x in read["sourceInfo"]}
    home = next(x["id"] for x in read["nodes"]
                if x["displayName"] == SCHEMA.name)

    def name_of(node):
        return node["displayName"][int(node["displayNamePrefixLength"]):]

    def notes_of(raw):
        result = {}
        for x in raw.get("annotations", []):
            if nodes[x["id"]]["scopeId"] == home:
                value = x["value"]
                result[name_of(nodes[x["id"]])] = (
                    value.get("text", "") if isinstance(value, dict) else "")
        return result

    def prose(x):
        return " ".join(x.get("docComment", "").split())

    structs = {}

    def type_of(raw):
        (kind, detail), = raw.items() if isinstance(raw, dict) else [(raw, {})]
        if kind == "struct":
            return "struct", structs[name_of(nodes[detail["typeId"]])]
        if kind == "list":
            (inner, of), = detail["elementType"].items()
            if inner == "struct":
                known = structs[name_of(nodes[of["typeId"]])]
                return "map" if "map" in known.notes else "structs", known
            return "list", inner
        return kind, None

    def add_struct(node):
        about = comments[node["id"]]
        known = Struct(name_of(node), prose(about), notes_of(node))
        structs[known.name] = known
        members = about.get("members", [])
        rows = sorted(enumerate(node["struct"]["fields"]),
                      key=lambda x: int(x[1].get("codeOrder", 0)))
        for i, raw in rows:
            field = Field(raw, prose(members[i]) if i < len(members) else "",
                          notes_of(raw))
            if "group" in raw:
                group = nodes[raw["group"]["typeId"]]
                field.comment = field.comment or prose(comments[group["id"]])
                value, = [x for x in group["struct"]["fields"]
                          if "void" not in x["slot"]["type"]]
                field.member = value["name"]
                field.type = type_of(value["slot"]["type"])
            else:
                field.type = type_of(raw["slot"]["type"])
            if "direction" in field.notes:
                field.type = "direction", None
            if not field.comment:
                sys.exit(f"{SCHEMA.name}: {known.name}.{field.capnp} has no"
                         " comment")
            known.fields.append(field)

    for nested in nodes[home].get("nestedNodes", []):
        node = nodes[nested["id"]]
        if "struct" in node:
            add_struct(node)
        elif "enum" in node:
            structs[name_of(node)] = Enum(
                name_of(node), prose(comments[node["id"]]),
                [x["name"] for x in node["enum"]["enumerants"]])
    return structs


# -- C++ ----------------------------------------------------------------------

MADE = ("// Made of schemas/model.capnp by schemas/generate_views.py.\n")


def comment(text, indent=""):
    return textwrap.fill(text, 79, initial_indent=indent + "/// ",
                         subsequent_indent=indent + "/// ") + "\n"


def views(structs):
    """The structs that are views: the others are entries of maps."""
    return [x for x in structs.values()
            if isinstance(x, Struct) and "map" not in x.notes]


def meaning(field):
    """A field's comment, with its unit and its first release."""
    unit, since = field.notes.get("unit"), field.notes.get("since")
    return (field.comment
            + (f" In {unit}." if unit not in (None, "steps") else "")
            + (f" New in {since}." if since else ""))


def cpp_structs(structs):
    out = (MADE + "#pragma once\n\n#include <array>\n#include <cstdint>\n"
           "#include <map>\n"
           "#include <optional>\n#include <string>\n#include <vector>\n\n"
           '#include "hippo/base/types.hpp"\n\nnamespace hippo {\n')
    for x in views(structs):
        out += "\n" + comment(x.comment) + f"struct {snake(x.name)} {{\n"
        for field in x.fields:
            out += comment(meaning(field), "  ")
            out += f"  {field.cpp_type} {field.name}{field.cpp_zero};\n"
        name = snake(x.name)
        out += (f"\n  friend bool operator==(const {name}&, const {name}&)"
                " = default;\n};\n")
    for x in structs.values():
        if isinstance(x, Enum):
            words = ", ".join(f'"{y}"' for y in x.words)
            out += ("\n" + comment(x.comment)
                    + f"inline constexpr std::array<const char*,"
                    f" {len(x.words)}> {snake(x.name)}s{{{words}}};\n")
    return out + "\n} // namespace hippo\n"


def json_header(structs):
    out = (MADE + "#pragma once\n\n#include <vector>\n\n"
           "#include <nlohmann/json.hpp>\n\n"
           '#include "hippo/model/view/views.hpp"\n\nnamespace hippo {\n\n'
           "// Views as HTTP shows them: docs/http.md.\n\n")
    for x in views(structs):
        name = snake(x.name)
        out += (f"nlohmann::ordered_json to_json(const {name}& x);\n"
                "nlohmann::ordered_json"
                f" to_json(const std::vector<{name}>& xs);\n")
    return out + "\n} // namespace hippo\n"


def json_value(field):
    """The expression of a field's value in JSON."""
    x, kind = f"x.{field.name}", field.type[0]
    if "cpp" in field.notes:
        return f"to_string({x})"
    if "json" in field.notes:
        return f"parsed({x})"
    if kind == "direction":
        return (f'{x} == hippo::direction::maximize ? "maximize" : "minimize"')
    if kind in ("struct", "structs"):
        return f"{x} ? to_json(*{x}) : json()" if field.is_optional \
            else f"to_json({x})"
    if field.is_optional:
        return f"{x} ? json(*{x}) : json()"
    if "needs" in field.notes:
        return f"x.{field.notes['needs']}.empty() ? json() : json({x})"
    if "nullable" in field.notes:
        return f"{x}.empty() ? json() : json({x})"
    return x


def json_source(structs):
    out = (MADE + '#include "hippo/model/view/view_json.hpp"\n\n'
           "namespace hippo {\n\nnamespace {\n\n"
           "using json = nlohmann::ordered_json;\n\n"
           "/// Reads JSON that is stored; an object if it is none.\n"
           "json parsed(const std::string& text) {\n"
           "  auto result = json::parse(text, nullptr, false);\n"
           "  return result.is_discarded() ? json::object() : result;\n}\n\n"
           "} // namespace\n")
    for x in views(structs):
        name = snake(x.name)
        out += f"\njson to_json(const {name}& x) {{\n  json result;\n"
        for field in x.fields:
            guard = ""
            if field.is_choice or "omitted" in field.notes:
                guard = f"  if (x.{field.name})\n  "
            if "flat" in field.notes:
                value = "*" * field.is_optional + f"x.{field.name}"
                out += f"{guard}  result.update(to_json({value}));\n"
                continue
            out += f"{guard}  result[\"{field.key}\"] = {json_value(field)};\n"
            if "former" in field.notes:
                out += (f"{guard}  result[\"{field.notes['former']}\"] ="
                        f" result[\"{field.key}\"];\n")
        out += ("  return result;\n}\n\n"
                f"json to_json(const std::vector<{name}>& xs) {{\n"
                "  auto result = json::array();\n  for (const auto& x : xs)\n"
                "    result.push_back(to_json(x));\n  return result;\n}\n")
    return out + "\n} // namespace hippo\n"


def wire_header(structs):
    out = (MADE + "#pragma once\n\n#include <model.capnp.h>\n\n"
           '#include "hippo/model/view/views.hpp"\n\nnamespace hippo {\n\n'
           "// Views as messages. `decode` throws a kj::Exception with\n"
           "// `errc::malformed_message` for a word that is unknown.\n\n")
    for x in views(structs):
        name = snake(x.name)
        out += (f"void fill(schema::{x.name}::Builder to, const {name}& x);\n"
                f"{name} decode(schema::{x.name}::Reader x);\n")
    return out + "\n} // namespace hippo\n"


def fill_lines(field):
    x, camel, kind = f"x.{field.name}", capital(field.capnp), field.type[0]
    to, guard = "to", []
    if field.member or field.is_choice:
        guard = [f"if ({x}) {{"]
        x = f"(*{x})" if kind in LISTS else f"*{x}"
    if field.member:
        to, camel = f"to.get{camel}()", capital(field.member)
    if kind in LISTS:
        lines = [f"auto items = {to}.init{camel}(count({x}.size()));"]
        if kind == "map":
            key, value = (capital(y.capnp) for y in field.type[1].fields)
            lines += ["capnp::uint i = 0;",
                      f"for (const auto& [key, value] : {x}) {{",
                      f"  items[i].set{key}(text(key));",
                      f"  items[i++].set{value}(value);", "}"]
        else:
            act = (f"fill(items[i], {x}[i])" if kind == "structs"
                   else f"items.set(i, text({x}[i]))"
                   if field.type[1] == "text"
                   else f"items.set(i, {x}[i])")
            lines += ["for (capnp::uint i = 0; i < items.size(); ++i)",
                      f"  {act};"]
    elif kind == "struct":
        lines = [f"fill({to}.init{camel}(), {x});"]
    else:
        value = (f"to_string({x})" if "cpp" in field.notes
                 else f"text({x})" if kind == "text"
                 else f"{x} == hippo::direction::maximize"
                 if kind == "direction"
                 else f"{x}.value_or(0)" if field.is_zero_none else x)
        lines = [f"{to}.set{camel}({value});"]
    if guard:
        return [*guard, *("  " + y for y in lines), "}"]
    return ["{", *("  " + y for y in lines), "}"] if len(lines) > 1 else lines


def decode_lines(field):
    y, kind = f"result.{field.name}", field.type[0]
    camel = capital(field.capnp)
    got = f"x.get{camel}()"
    guard = f"if (x.is{camel}()) {{" if field.is_choice else ""
    if field.member:
        guard = f"if ({got}.is{capital(field.member)}()) {{"
        got = f"{got}.get{capital(field.member)}()"
    if field.is_zero_none:
        guard = f"if ({got} != 0) {{"
    if kind in LISTS:
        lines = []
        if guard:
            lines, y = [f"auto& xs = {y}.emplace();"], "xs"
        lines.append(f"for (auto entry : {got})")
        if kind == "map":
            key, value = (capital(z.capnp) for z in field.type[1].fields)
            lines.append(f"  {y}[entry.get{key}()] = entry.get{value}();")
        else:
            value = ("decode(entry)" if kind == "structs"
                     else "entry.cStr(), entry.size()"
                     if field.type[1] == "text" else "entry")
            lines.append(f"  {y}.emplace_back({value});")
    else:
        value = (f"decode({got})" if kind == "struct"
                 else f"{field.notes['cpp']}_of({got}.cStr())"
                 if "cpp" in field.notes
                 else f"{got} ? hippo::direction::maximize\n"
                 "                    : hippo::direction::minimize"
                 if kind == "direction" else got)
        lines = [f"{y} = {value};"]
    return [guard, *("  " + z for z in lines), "}"] if guard else lines


def wire_source(structs):
    out = (MADE + '#include "hippo/model/view/view_wire.hpp"\n\n'
           '#include "hippo/model/view/trial_states.hpp"\n\n'
           "namespace hippo {\n\nnamespace {\n\n"
           "kj::StringPtr text(const std::string& x) {"
           " return {x.data(), x.size()}; }\n\n"
           "capnp::uint count(std::size_t x) {"
           " return static_cast<capnp::uint>(x); }\n\n"
           "} // namespace\n")
    for x in views(structs):
        name = snake(x.name)
        out += (f"\nvoid fill(schema::{x.name}::Builder to,"
                f" const {name}& x) {{\n")
        for field in x.fields:
            out += "".join(f"  {y}\n" for y in fill_lines(field))
        out += f"}}\n\n{name} decode(schema::{x.name}::Reader x) {{\n"
        out += f"  {name} result;\n"
        for field in x.fields:
            out += "".join(f"  {y}\n" for y in decode_lines(field))
        out += "  return result;\n}\n"
    return out + "\n} // namespace hippo\n"


def columns_header(structs):
    out = (MADE + "#pragma once\n\n#include <vector>\n\n"
           '#include "hippo/report/listing.hpp"\n\nnamespace hippo {\n\n'
           "/// A column whose values are those of a field of a view's JSON.\n"
           "struct view_column {\n  const char* field;\n"
           "  listing_column column;\n"
           "  bool if_any = false; ///< it is shown if any row has a value\n"
           "};\n")
    for x in views(structs):
        rows = []
        for field in x.fields:
            if "column" not in field.notes:
                continue
            name, look = field.notes["column"].split(": ")
            look, *flags = look.split(", ")
            spare = next((y[6:] for y in flags if y.startswith("spare ")), "0")
            former = field.notes.get("formerColumn", "")
            known = {"hidden", "if-any", "whole", "in-data", f"spare {spare}"}
            if set(flags) - known:
                sys.exit(f"{x.name}.{field.capnp}: unknown column flags")

            def flag(word):
                return "true" if word in flags else "false"

            shown = "false" if {"hidden", "if-any"} & set(flags) else "true"
            rows.append(f'    {{"{field.name}",\n     {{"{name}",'
                        f" cell_look::{look}, {shown}, {spare},"
                        f" {flag('whole')}, {flag('in-data')},"
                        f' "{former}"}},\n'
                        f"     {flag('if-any')}}}")
        if rows:
            out += (f"\n/// The columns of a `{snake(x.name)}`.\n"
                    "inline std::vector<view_column>"
                    f" columns_of_{snake(x.name)}() {{\n  return {{\n"
                    + ",\n".join(rows) + "};\n}\n")
    return out + "\n} // namespace hippo\n"


CPP = {"hippo/model/view/views.hpp": cpp_structs,
       "hippo/model/view/view_json.hpp": json_header,
       "hippo/model/view/view_json.cpp": json_source,
       "hippo/model/view/view_wire.hpp": wire_header,
       "hippo/model/view/view_wire.cpp": wire_source,
       "hippo/report/view_columns.hpp": columns_header}


# -- Python -------------------------------------------------------------------


def python_type(struct):
    return struct.python.split("(")[0]


def python_list(field, got):
    """Returns the type, the default and the expression of a list."""
    kind, detail = field.type
    if kind == "map" or "dict" in getattr(detail, "notes", ()):
        key, value = detail.fields
        read = f"x.{value.capnp}"
        if value.type[0] == "direction":
            read = f'"maximize" if {read} else "minimize"'
        kind = NUMBERS.get(value.type[0], ("", "str"))[1]
        return (f"dict[str, {kind}]", "field(default_factory=dict)",
                f"{{x.{key.capnp}: {read} for x in {got}}}")
    if kind == "structs":
        name = python_type(detail)
        return (f"tuple[{name}, ...]", "()",
                f"tuple({snake(name)}_of(x) for x in {got})")
    inner = "str" if detail == "text" else NUMBERS[detail][1]
    return f"tuple[{inner}, ...]", "()", f"tuple({inner}(x) for x in {got})"


def python_members(struct, message="message"):
    """Yields name, type, default, meaning and expression of each field."""
    for field in struct.fields:
        got, kind = f"{message}.{field.capnp}", field.type[0]
        if "spread" in field.notes:
            for i, inner in enumerate(field.type[1].fields):
                yield (inner.python, NUMBERS[inner.type[0]][1] + " | None",
                       "None", meaning(inner if i > 0 else field),
                       f"given({got}, lambda x: x.{inner.capnp})")
            continue
        if "flat" in field.notes and not field.is_optional:
            yield from python_members(field.type[1], got)
            continue
        about = meaning(field)
        if "json" in field.notes:
            kind, read, default = PYTHON_NOUNS[field.notes["json"]]
            yield field.python, kind, default, about, f"{read}({got})"
            continue
        read, value = "", got
        if kind in LISTS:
            name, default, value = python_list(field, got)
        elif kind == "struct":
            name = python_type(field.type[1])
            default = f"{name}()"
            read = f"{snake(name)}_of"
            value = f"{read}({got})"
        elif kind in NUMBERS:
            zero = "False" if kind == "bool" else "0"
            name, default = NUMBERS[kind][1], field.default or zero
        else:
            name, default = "str", '""'
        if kind == "direction":
            value = f'"maximize" if {got} else "minimize"'
            default = '"minimize"'
        if field.member:
            read = field.notes.get("read", read)
            value = f"given({got}{', ' + read if read else ''})"
        elif field.is_choice:
            value += (f' if {message}.which() == "{field.capnp}"'
                      " else None")
        elif field.is_zero_none or (field.is_empty_none and kind in LISTS):
            value += " or None"
        if field.is_optional or (field.is_empty_none and kind in LISTS):
            name, default = name + " | None", "None"
            about += " None if there is none."
        elif field.is_empty_none:
            about += " Empty if there is none."
        yield field.python, name, default, about, value


def python_class(x, rows):
    """Returns a record's class: a dataclass, unless it names a base."""
    base = x.python.partition("(")[2].rstrip(")")
    text = "" if base == "NamedTuple" else "@dataclass(frozen=True)\n"
    text += f"class {x.python}:\n"
    text += textwrap.fill(f'"""{x.comment}', 79, initial_indent="    ",
                          subsequent_indent="    ")
    text += "\n\n    Attributes:\n"
    for name, _, _, about, _ in rows:
        if about[1].islower():
            about = about[0].lower() + about[1:]
        text += textwrap.fill(f"{name}: {about}", 79,
                              initial_indent=" " * 8,
                              subsequent_indent=" " * 12) + "\n"
    text += '    """\n\n'
    for name, kind, default, _, _ in rows:
        text += f"    {name}: {kind} = {default}\n"
    for field in x.fields:
        former = field.notes.get("deprecated") or (
            field.notes.get("former") if "python" not in field.notes else None)
        # A word of the language names no field.
        if former in (None, *(y[0] for y in rows), "from"):
            continue
        kind = next(y[1] for y in rows if y[0] == field.python)
        text += (f"\n    @property\n    def {former}(self) -> {kind}:\n"
                 f'        """The former name of `{field.python}`."""\n'
                 f'        warn_renamed("{former}", "{field.python}")\n'
                 f"        return self.{field.python}\n")
    return text


def python_views(structs):
    out = []
    for x in views(structs):
        if "python" not in x.notes:
            continue
        rows = list(python_members(x))
        text = python_class(x, rows)
        made = python_type(x)
        text += f"\n\ndef {snake(made)}_of(message: Any) -> {made}:\n"
        text += f"    return {made}(\n"
        for name, _, _, _, value in rows:
            line = f"        {name}={value}"
            for word in (" for ", " if "):
                if len(line.split("\n")[-1]) > 77:  # with what ends it
                    head, found, tail = line.rpartition(word)
                    line = f"{head}\n          {found}{tail}" if found else line
            text += line + (")\n" if name == rows[-1][0] else ",\n")
        out.append(text)
    return "\n\n" + "\n\n".join(out) + "\n\n"


# -- tables of the docs -------------------------------------------------------


def docs_rows(struct, is_choice=False):
    """Yields the rows of a struct's fields; `is_choice` if it is itself one of
    several."""
    for field in struct.fields:
        kind, detail = field.type
        if "flat" in field.notes:
            yield from docs_rows(detail, field.is_choice)
            continue
        value = ("object" if kind in ("map", "struct") or "json" in field.notes
                 else "list" if kind in ("list", "structs")
                 else "text" if kind in ("text", "direction")
                 else "true or false" if kind == "bool" else "number")
        if kind != "struct" and "unit" in field.notes:
            value += ", " + field.notes["unit"]
        is_left_out = (is_choice or field.is_choice or "omitted" in field.notes)
        if not is_left_out and (field.is_optional or field.is_empty_none
                                or "needs" in field.notes):
            value += ", or null"
        about = field.comment
        if kind in ("struct", "structs"):
            whose = "Its fields" if kind == "struct" else "Fields of each"
            names = ", ".join(f"`{x.name}`" for x in detail.fields)
            about += f" {whose}: {names}."
        about += " Left out otherwise." if is_left_out else ""
        yield f"| `{field.key}` | {value} | {about} |"


def docs_table(struct):
    return "\n".join(["", "| field | value | meaning |", "| --- | --- | --- |",
                      *docs_rows(struct), ""])


def tracked(structs):
    """Returns what is between marks of tracked files: path, mark, text."""
    return [
        (ROOT / "python/hippo_hpo/records.py", "# -- {} --", "views",
         python_views(structs)),
        (ROOT / "docs/http.md", "<!-- {} -->", "study-fields",
         docs_table(structs["StudyView"])),
        (ROOT / "docs/http.md", "<!-- {} -->", "trial-fields",
         docs_table(structs["TrialView"])),
        (ROOT / "docs/http.md", "<!-- {} -->", "trainer-fields",
         docs_table(structs["TrainerView"])),
        (ROOT / "docs/http.md", "<!-- {} -->", "lease-fields",
         docs_table(structs["LeaseView"])),
        *((ROOT / "docs/http.md", "<!-- {} -->", f"{name.lower()}-fields",
           docs_table(structs[f"{name}View"]))
          for name in ("Timeline", "Event", "Front", "Importance", "Demand",
                       "SpaceChange", "ParameterChange")),
        *((ROOT / "docs/http.md", "<!-- {} -->", f"{name}-fields",
           docs_table(structs[struct]))
          for name, struct in (("work-demand", "WorkDemand"),
                               ("connected", "ConnectedTrainer"),
                               ("refused", "RefusedTrainer"))),
        *((ROOT / "docs/clients.md", "<!-- {} -->", f"{name}-fields",
           docs_table(structs[struct]))
          for name, struct in (("trained", "TrainedTrial"),
                               ("outcome", "TrialOutcome")))]


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    how = arguments.add_mutually_exclusive_group(required=True)
    how.add_argument("--cpp", type=pathlib.Path, metavar="FOLDER")
    how.add_argument("--write", action="store_true")
    how.add_argument("--check", action="store_true")
    how = arguments.parse_args()
    structs = load()
    if how.cpp:
        for name, make in CPP.items():
            path = how.cpp / name
            path.parent.mkdir(parents=True, exist_ok=True)
            text = make(structs)
            if not path.exists() or path.read_text() != text:
                path.write_text(text)
        return
    stale = set()
    for path, mark, name, text in tracked(structs):
        before = path.read_text()
        begin, end = (mark.format(f"{name} {x}") for x in ("begins", "ends"))
        if before.count(begin) != 1 or before.count(end) != 1:
            sys.exit(f"{path}: has no marks '{begin}' and '{end}'")
        head, rest = before.split(begin)
        after = head + begin + text + end + rest.split(end)[1]
        if after != before:
            stale.add(str(path.relative_to(ROOT)))
            if how.write:
                path.write_text(after)
    if how.check and stale:
        sys.exit(f"{', '.join(sorted(stale))}: not what schemas/model.capnp"
                 " says; run schemas/generate_views.py --write")


if __name__ == "__main__":
    main()
