"""Explanations: the differences that stay, each with its reason, as explained.txt tells them."""

import collections
import fnmatch


class Explained:
    """explained.txt: `kind | verb | what | path | detail | reason`, all but the last with * and ?. Counts what it excused."""

    def __init__(self, path):
        self.rows = []
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if line.strip() and not line.startswith("#"):
                cells = [cell.strip() for cell in line.split(" | ")]
                if len(cells) != 6:
                    raise SystemExit(f"{path.name}:{number}: expected kind | verb | what | path | detail | reason")
                self.rows.append((cells[:5], cells[5]))
        self.used = collections.Counter()

    def excuses(self, case, key):
        for row, (patterns, _) in enumerate(self.rows):
            cells = (case.kind.name, case.verb, *key)
            if all(fnmatch.fnmatchcase(cell, pattern.replace("[", "[[]")) for cell, pattern in zip(cells, patterns)):
                self.used[row] += 1
                return True
        return False
