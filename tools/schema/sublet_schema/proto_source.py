"""Reads upstream's generated.proto files: for each message its fields with number, type and label."""

import dataclasses
import os
import re


@dataclasses.dataclass
class ProtoField:
    name: str
    number: int
    label: str  # "optional", "repeated", "required", "map"
    type_text: str  # scalar name, or full message name without the leading dot


_MESSAGE = re.compile(r"^message (\w+) \{$")
_FIELD = re.compile(r"^(optional|repeated|required) ([\w.]+) (\w+) = (\d+);$")
_MAP = re.compile(r"^map<string, ([\w.]+)> (\w+) = (\d+);$")
_SCALARS = {"string", "bool", "int32", "int64", "double", "bytes"}


def _full_name(text, package):
    if text in _SCALARS:
        return text
    return text[1:] if text.startswith(".") else f"{package}.{text}"


def read_proto(folder):
    """Message name (within the package) -> [ProtoField]; {} when the package has no protobuf form."""
    path = os.path.join(folder, "generated.proto")
    if not os.path.exists(path):
        return {}
    messages, fields, package = {}, None, ""
    with open(path, encoding="utf-8") as file:
        for line in (raw.strip() for raw in file):
            if line.startswith("package "):
                package = line[len("package "):-1]
            elif match := _MESSAGE.match(line):
                fields = messages.setdefault(match[1], [])
            elif fields is None or not line or line.startswith("//"):
                continue
            elif line == "}":
                fields = None
            elif match := _FIELD.match(line):
                fields.append(ProtoField(match[3], int(match[4]), match[1], _full_name(match[2], package)))
            elif match := _MAP.match(line):
                fields.append(ProtoField(match[2], int(match[3]), "map", _full_name(match[1], package)))
            else:
                raise ValueError(f"{path}: line not understood: {line}")
    return messages
