#!/usr/bin/env python3
"""Writes schema/generated from a pinned Kubernetes release. See README.md beside this file."""

import argparse
import os
import sys

from sublet_schema import emit, markers, model, modules

HERE = os.path.dirname(os.path.abspath(__file__))
DEFAULT_OUT = os.path.join(HERE, "..", "..", "schema", "generated")
UNAVAILABLE = 77  # ctest: skipped


def pinned_release():
    with open(os.path.join(HERE, "RELEASE"), encoding="utf-8") as file:
        return file.read().strip()


def differing(folder, files):
    different = []
    for name, text in files.items():
        path = os.path.join(folder, name)
        if not os.path.exists(path):
            different.append(name)
            continue
        with open(path, encoding="utf-8", newline="") as file:
            if file.read() != text:
                different.append(name)
    return different


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--release", default=pinned_release(), help="Kubernetes release, default: %(default)s")
    parser.add_argument("--out", default=DEFAULT_OUT, help="folder to write to")
    parser.add_argument("--check", action="store_true", help="write nothing; compare with the folder")
    parser.add_argument("--markers", action="store_true", help="write nothing; count upstream's markers of declarative validation")
    options = parser.parse_args()
    try:
        folders = modules.locate(options.release)
    except modules.ModulesUnavailable as error:
        print(f"skipped: the modules of {options.release} cannot be had: {error}")
        return UNAVAILABLE
    builder = model.Builder(options.release, folders)
    files = emit.files(builder.build())
    if options.markers:
        print(markers.table(builder))
        return 0
    if options.check:
        different = differing(options.out, files)
        for name in different:
            print(f"{name} differs from what {options.release} gives; run tools/schema/generate.py")
        return 1 if different else 0
    os.makedirs(options.out, exist_ok=True)
    for name, text in files.items():
        with open(os.path.join(options.out, name), "w", encoding="utf-8", newline="") as file:
            file.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
