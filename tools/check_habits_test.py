#!/usr/bin/env python3
"""Tests tools/check-habits on small trees: what it must report, and what it must accept."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import cpp_functions  # noqa: E402

CHECKER = pathlib.Path(__file__).resolve().parent / "check-habits"
LONG = "int store::Log::read(const std::string& name) {\n" + "  read_page();\n" * 59 + "}\n"
TABLE = "std::vector<Row> rows() {\n  return {\n" + '      {"name", 1},\n' * 80 + "  };\n}\n"


class Tree:
    """A tree of files in a folder of its own."""

    def __init__(self, files):
        self.folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.folder.name)
        self.put(files)

    def __del__(self):
        self.folder.cleanup()

    def put(self, files):
        for name, text in files.items():
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_text(text)

    def git(self, *words):
        subprocess.run(["git", "-C", self.root, "-c", "user.name=a", "-c", "user.email=a@example.com", *words],
                       check=True, capture_output=True)

    def findings(self, *flags):
        answer = subprocess.run([sys.executable, CHECKER, *flags, self.root], capture_output=True, text=True)
        lines = answer.stdout.splitlines()[:-1]
        assert answer.returncode == (1 if lines else 0), answer
        return lines


class CheckHabits(unittest.TestCase):
    def one(self, tree, *words):
        lines = tree.findings()
        self.assertEqual(len(lines), 1, lines)
        for word in words:
            self.assertIn(word, lines[0])

    def test_a_long_function(self):
        self.one(Tree({"store/log.cpp": LONG}), "store/log.cpp:1: function store::Log::read has 61 lines")

    def test_a_function_of_sixty_lines(self):
        self.assertEqual(Tree({"store/log.cpp": LONG.replace("  read_page();\n", "", 1)}).findings(), [])

    def test_a_long_method_behind_a_constructor(self):
        body = "".join("  " + line + "\n" for line in LONG.replace("store::Log::", "").splitlines())
        self.one(Tree({"store/log.h": "class Log {\n public:\n  Log() : name_{1} {}\n" + body + "};\n"}), "function read has 61 lines")

    def test_a_table_is_no_long_function(self):
        self.assertEqual(Tree({"store/rows.cpp": TABLE}).findings(), [])

    def test_code_in_a_table_counts(self):
        self.one(Tree({"store/rows.cpp": TABLE.replace('{"name", 1}', "[] { run(); }")}), "function rows has 84 lines")

    def test_braces_in_comments_and_literals_do_not_count(self):
        text = "void f() {\n  // }\n  call(\"{\", '{', R\"(}{{)\", 1'000);\n}\n"
        self.assertEqual([(name, lines) for name, _, lines, _ in cpp_functions.functions(text)], [("f", 4)])

    def test_private_words(self):
        self.one(Tree({"store/log.h": "// Told by whoever.\nbool is_nobodys; int kRoomMax; int saidNothing;\n"}),
                 "store/log.h: 5 private words, at most 0")

    def test_private_words_in_a_doc(self):
        self.one(Tree({"docs/a.md": "It is kept here.\n"}), "docs/a.md: 1 private words", "kept 1")

    def test_other_words(self):
        self.assertEqual(Tree({"store/log.h": "// A toll near the roommate's earth; forbade a standard.\n",
                               "store/log_test.cpp": "// told\n", "bench/log.cpp": "// told\n"}).findings(), [])

    def test_words_may_move_but_not_grow(self):
        tree = Tree({"store/log.h": "// told told\n", "tools/habit-exceptions.txt": "words store/log.h 2\n"})
        self.assertEqual(tree.findings(), [])
        tree.put({"store/log.h": "// told\n", "store/page.h": "// told\n"})
        self.assertEqual(tree.findings(), [])
        tree.put({"store/page.h": "// told told\n"})
        self.one(tree, "store/page.h: 2 private words, at most 0")

    def test_update_only_lowers(self):
        tree = Tree({"store/log.h": "// told\n", "store/page.h": "// told told\n", "store/log.cpp": LONG,
                     "tools/habit-exceptions.txt": "words store/log.h 2\nfunction store::Log::read 70\n"})
        self.assertEqual(len(tree.findings("--update")), 1)
        lines = (tree.root / "tools/habit-exceptions.txt").read_text().splitlines()
        self.assertEqual([line for line in lines if line[0] != "#"], ["function store::Log::read 61", "words store/log.h 1"])

    def test_a_function_that_grows_beyond_its_exception(self):
        self.one(Tree({"store/log.cpp": LONG.replace("{\n", "{\n  more();\n", 1),
                       "tools/habit-exceptions.txt": "function store::Log::read 61\n"}), "has 62 lines")

    def test_paths_that_do_not_exist(self):
        self.one(Tree({"store/log.cpp": "// See store/tree.cpp.\n"}), "store/log.cpp: names store/tree.cpp")
        self.one(Tree({"docs/a.md": "See `old_name.cpp`.\n"}), "docs/a.md: names old_name.cpp")
        self.one(Tree({"docs/a.md": "See `docs/old/`.\n"}), "docs/a.md: names docs/old/")
        gone = "tests/old.sh"
        self.one(Tree({"tests/run.sh": f"#!/bin/bash\nexit 0 # see {gone}\n"}), f"names {gone}")

    def test_paths_that_exist(self):
        self.assertEqual(Tree({"store/log/tree.cpp": "// See log/tree.h, store/log/, store/log/tree.*, build/x.h and KIND.cpp.\n",
                               "store/log/tree.h": "", "docs/a.md": "[log](../store/log/tree.h), https://example.com/docs/b.md, 5 MB/s\n"}
                              ).findings(), [])

    def test_a_long_subject_after_the_check_was_added(self):
        tree = Tree({"a.txt": "1"})
        tree.git("init", "-q")
        tree.git("add", ".")
        tree.git("commit", "-qm", "Before: " + "x" * 80)
        tree.put({"tools/check-habits": ""})
        tree.git("add", ".")
        tree.git("commit", "-qm", "Add the check")
        self.assertEqual(tree.findings(), [])
        tree.git("commit", "-q", "--allow-empty", "-m", "y" * 73)
        self.one(tree, "its subject has 73 characters, at most 72")


if __name__ == "__main__":
    unittest.main()
