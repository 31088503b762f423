#!/usr/bin/env python3
"""Each demand of docs/demands.md's table is named in every file that its row says, as `user-pain, demand N:`, and each that a test names
stands in the table. Prints what is missing; exit code 1 then."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
NAMED = re.compile(r"^\s*(?://|#) user-pain, demand (\d+): \S", re.M)

wrong, table = [], {}
for line in (ROOT / "docs/demands.md").read_text().splitlines():
    if row := re.match(r"\| (\d+) \|.*\|(.*)\|$", line):
        files = [path for path in re.findall(r"`([^`]+)`", row[2]) if (ROOT / path).is_file()]
        table[row[1]] = files
        if not files:
            wrong.append(f"docs/demands.md: demand {row[1]} has no file with a test")
if not table:
    wrong.append("docs/demands.md has no table of demands")
for number, files in table.items():
    for path in files:
        if number not in NAMED.findall((ROOT / path).read_text()):
            wrong.append(f"{path}: no test is named `user-pain, demand {number}:`")
tracked = subprocess.run(["git", "-C", ROOT, "grep", "-l", "user-pain, demand", "--", "*_test.cpp", "tests"], capture_output=True, text=True).stdout
for path in tracked.split():
    for number in NAMED.findall((ROOT / path).read_text()):
        if number not in table:
            wrong.append(f"{path}: demand {number} is not in the table of docs/demands.md")
print("\n".join(wrong) or f"{len(table)} demands, each with its tests")
sys.exit(bool(wrong))
