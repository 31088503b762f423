#!/usr/bin/env python3
"""Writes texts.zz: what `kubectl explain` shows on the embedded host.

The texts are Kubernetes' own (Apache License 2.0): the generated types_swagger_doc_generated.go of the Go modules k8s.io/api and
k8s.io/apimachinery. Run it in a module that requires both, such as tests/clients/go:

    cd tests/clients/go && ../../../simhost/descriptions/generate.py

The file is a JSON document, compressed by zlib: {"paths": [GROUP VERSION, ...], "components": {"schemas": {...}}}, of the stable
versions only. simhost/descriptions.cpp serves it as a host's OpenAPI v3.
"""
import json
import pathlib
import re
import subprocess
import zlib

MAP = re.compile(r'^var map_(\w+) = map\[string\]string\{\n(.*?)^\}', re.M | re.S)
ENTRY = re.compile(r'^\t"([^"]*)":\s+("(?:[^"\\]|\\.)*"),?$', re.M)
STABLE = re.compile(r"v\d+$")
WITHOUT_DOCUMENT = {"admission", "apidiscovery", "imagepolicy"}  # no group that a server lists


def module(name):
    return pathlib.Path(subprocess.run(["go", "list", "-m", "-f", "{{.Dir}}", name], check=True, capture_output=True,
                                       text=True).stdout.strip())


def read(folder, prefix, schemas):
    """Adds the types of one package; true if it has any."""
    file = folder / "types_swagger_doc_generated.go"
    if not file.exists():
        return False
    for name, body in MAP.findall(file.read_text()):
        texts = {field: json.loads(text) for field, text in ENTRY.findall(body)}
        schema = {"description": texts.pop("", "")}
        schema["properties"] = {field: {"description": text} for field, text in sorted(texts.items())}
        schemas[f"{prefix}.{name}"] = schema
    return True


def main():
    schemas, paths = {}, []
    api = module("k8s.io/api")
    for folder in sorted(api.glob("*/*")):
        group = folder.parent.name
        if not STABLE.match(folder.name) or group in WITHOUT_DOCUMENT:
            continue
        if not read(folder, f"io.k8s.api.{group}.{folder.name}", schemas):
            continue
        full = re.search(r'GroupName = "([^"]*)"', (folder / "register.go").read_text())[1]
        paths.append(f"apis/{full}/{folder.name}" if full else f"api/{folder.name}")
    read(module("k8s.io/apimachinery") / "pkg/apis/meta/v1", "io.k8s.apimachinery.pkg.apis.meta.v1", schemas)
    document = json.dumps({"paths": paths, "components": {"schemas": schemas}}, separators=(",", ":"), ensure_ascii=False)
    packed = zlib.compress(document.encode(), 9)
    (pathlib.Path(__file__).parent / "texts.zz").write_bytes(len(document.encode()).to_bytes(4, "little") + packed)
    print(f"{len(paths)} group versions, {len(schemas)} types, {len(document)} characters, {len(packed)} bytes compressed")


main()
