"""Reads the type declarations of one Go package: structs with their tags and markers, named types, constants.

This is no Go parser. It reads gofmt's layout of the API packages, and stops with the place when it meets a line that it
does not understand, so that nothing is lost silently.
"""

import dataclasses
import os
import re


@dataclasses.dataclass
class GoField:
    go_name: str  # "" for an embedded field
    type_text: str  # as written: "*metav1.Time", "[]string"
    json_name: str
    json_options: tuple
    proto_number: int  # 0: no protobuf tag
    patch_strategy: str
    patch_merge_key: str
    markers: list  # (name, value) of "+name=value" comment lines

    @property
    def inlined(self):
        """An embedded field without a JSON name, said with `inline` or by itself; encoding/json knows only the latter."""
        return "inline" in self.json_options or not (self.go_name or self.json_name)


@dataclasses.dataclass
class GoStruct:
    name: str
    fields: list
    markers: list
    problems: list  # lines that were not understood; fatal only for structs that are used


@dataclasses.dataclass
class GoNamed:
    """type Name Underlying, or type Name = Underlying."""
    name: str
    underlying: str
    alias: bool
    markers: list


@dataclasses.dataclass
class GoPackage:
    path: str  # import path
    structs: dict
    named: dict
    constants: dict  # name -> (type or "", literal text)
    imports: dict  # local name -> import path
    group: str = ""


_STRUCT = re.compile(r"^type (\w+) struct ?\{(\})?$")
_NAMED = re.compile(r"^type (\w+) (=\s*)?([\[\]\w.*]+)$")
_FIELD = re.compile(r"^(?:(\w+)\s+)?([*\[\]\w.]+(?:\{\})?)(?:\s+`([^`]*)`)?\s*(?://.*)?$")
_CONVERTED = re.compile(r"^(?:const\s+)?(\w+)\s*=\s*(\w+)\((\"[^\"]*\"|[\w.]+)\)\s*(?://.*)?$")  # Name = Type(value)
_CONSTANT = re.compile(r"^(?:const\s+)?(\w+)\s*(?:\s([\w.]+)\s*)?=\s*(\"[^\"]*\"|[\w.]+)\s*(?://.*)?$")
_IMPORT = re.compile(r"^(?:([\w.]+)\s+)?\"([^\"]+)\"$")
_MARKER = re.compile(r"^//\s*\+([\w:]+(?:\([^)]*\))?)(?:=(.*))?$")


def _markers(comments):
    found = []
    for comment in comments:
        match = _MARKER.match(comment.strip())
        if match:
            found.append((match[1], (match[2] or "").strip()))
    return found


def _tag(text, key):
    match = re.search(rf'(?:^|\s){key}:"([^"]*)"', text or "")
    return match[1] if match else None


def _field(line, comments):
    match = _FIELD.match(line)
    if not match:
        raise ValueError(f"field not understood: {line}")
    go_name, type_text, tag = match[1] or "", match[2], match[3]
    json_tag = _tag(tag, "json")
    if json_tag is None:
        return None  # unexported or without a wire form
    name, *options = json_tag.split(",")
    if name == "-":
        return None
    proto = _tag(tag, "protobuf")
    number = int(proto.split(",")[1]) if proto and proto != "-" else 0
    return GoField(go_name, type_text, name, tuple(options), number, _tag(tag, "patchStrategy") or "",
                   _tag(tag, "patchMergeKey") or "", _markers(comments))


def _without_block_comments(text):
    # Only those that start a line: "/*" also stands inside ordinary comments. Keeps the line count for messages.
    return re.sub(r"^[ \t]*/\*.*?\*/", lambda match: "\n" * match[0].count("\n"), text, flags=re.S | re.M)


class _FileReader:
    """Walks over the lines of one file; comments holds the comment block just above the current line."""

    def __init__(self, package, path, text):
        self.package, self.path = package, path
        self.lines = _without_block_comments(text).split("\n")
        self.at = 0
        self.comments = []
        self.older_comments = []  # the block before, set apart by one blank line: type markers may stand there

    def where(self):
        return f"{self.package.path}/{self.path}:{self.at}"

    def next_line(self):
        line = self.lines[self.at]
        self.at += 1
        return line

    def run(self):
        while self.at < len(self.lines):
            line = self.next_line()
            text = line.strip()
            if line.startswith("//"):
                self.comments.append(text)
            elif not text:
                self.older_comments, self.comments = self.comments, []
            else:
                self._declaration(line, text)
                self.comments, self.older_comments = [], []

    def _declaration(self, line, text):
        if text == "import (":
            self._imports()
        elif text == "const (":
            self._constants()
        elif line.startswith("const "):
            self._constant(text)
        elif match := _STRUCT.match(line):
            markers = _markers(self.older_comments + self.comments)
            fields, problems = ([], []) if match[2] else self._fields()
            self.package.structs[match[1]] = GoStruct(match[1], fields, markers, problems)
        elif match := _NAMED.match(text):
            markers = _markers(self.older_comments + self.comments)
            self.package.named[match[1]] = GoNamed(match[1], match[3], bool(match[2]), markers)

    def _imports(self):
        while (text := self.next_line().strip()) != ")":
            if match := _IMPORT.match(text):
                path = match[2]
                self.package.imports[match[1] or path.rsplit("/", 1)[-1]] = path

    def _constants(self):
        while (text := self.next_line().strip()) != ")":
            if text and not text.startswith("//"):
                self._constant(text)

    def _constant(self, text):
        match = _CONSTANT.match(text) or _CONVERTED.match(text)
        if match:
            self.package.constants[match[1]] = (match[2] or "", match[3])

    def _fields(self):
        fields, comments, problems = [], [], []
        while (line := self.next_line()) != "}":
            text = line.strip()
            if text.startswith("//"):
                comments.append(text)
            elif not text:
                comments = []
            else:
                try:
                    field = _field(text, comments)
                except ValueError as error:
                    problems.append(f"{self.where()}: {error}")
                    field = None
                if field:
                    fields.append(field)
                comments = []
        return fields, problems


def read_package(folder, import_path):
    package = GoPackage(import_path, {}, {}, {}, {})
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".go") or name.endswith("_test.go"):
            continue
        if name.startswith(("zz_generated", "generated.", "types_swagger")) or name.endswith("_fuzz.go"):
            continue
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            text = file.read()
        # Variants of a declaration behind build tags would be read twice.
        if re.search(r"^//go:build ", text, re.M) and name != "fieldsv1_byte.go":
            continue
        _read_file(package, name, text)
    if "GroupName" in package.constants:
        package.group = package.constants["GroupName"][1].strip('"')
    return package


def _read_file(package, name, text):
    try:
        _FileReader(package, name, text).run()
    except IndexError as error:
        raise ValueError(f"{package.path}/{name}: ends inside a declaration") from error


def marker(markers, name):
    """Value of the last marker of that name; None when there is none."""
    values = [value for key, value in markers if key == name]
    return values[-1] if values else None


def marker_values(markers, name):
    return [value for key, value in markers if key == name]
