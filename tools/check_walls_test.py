#!/usr/bin/env python3
"""tools/check-walls on small trees: what it must find, and what it must leave in peace."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

CHECKER = pathlib.Path(__file__).resolve().parent / "check-walls"
ARROWS = """# Architecture

A folder may use only those to its right:
`cli -> server -> kube, store -> base`

Inside `server/`, where `top` are the files that stand in the folder itself:
`top -> verbs, watch -> request`
"""
RIGHT = {
    "ARCHITECTURE.md": ARROWS,
    "base/CMakeLists.txt": "sublet_library(base)",
    "base/base.cpp": '#include "sublet/base/base.h"\n#include <vector>\n',
    "include/sublet/base/base.h": "",
    "store/CMakeLists.txt": "sublet_library(store DEPS sublet_base SQLite::SQLite3 TEST_DEPS sublet_kube)",
    "store/store.cpp": '#include "store/tree.h"\n',
    "store/tree.h": '#include "sublet/base/base.h"\n',
    "store/store_test.cpp": '#include "sublet/kube/kube.h"\n#include "base/base_testing.h"\n',
    "kube/CMakeLists.txt": "sublet_library(kube DEPS sublet_base)",
    "kube/kube.cpp": '#include "sublet/kube/kube.h"\n',
    "include/sublet/kube/kube.h": '#include "sublet/base/base.h"\n',
    "server/CMakeLists.txt": "sublet_library(server DEPS sublet_store)",
    "server/server.cpp": '#include "server/verbs/get.h"\n#include "sublet/store/store.h"\n',
    "server/verbs/get.h": '#include "server/request/request.h"\n',
    "server/request/request.h": "",
    "tests/all_test.cpp": '#include "store/tree.h"\n',
}


def findings(changes):
    """The checker's lines about the right tree with these files changed or added."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in {**RIGHT, **changes}.items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        answer = subprocess.run([sys.executable, str(CHECKER), folder], capture_output=True, text=True)
        lines = answer.stdout.splitlines()[:-1]
        assert answer.returncode == (1 if lines else 0), answer
        return lines


class CheckWalls(unittest.TestCase):
    def one(self, changes, *words):
        lines = findings(changes)
        self.assertEqual(len(lines), 1, lines)
        for word in words:
            self.assertIn(word, lines[0])

    def test_a_right_tree_has_no_findings(self):
        self.assertEqual(findings({}), [])

    def test_an_include_to_the_left(self):
        self.one({"base/up.cpp": '#include "sublet/store/store.h"\n'}, "base/up.cpp", "base/ may not use store/")

    def test_an_include_of_a_neighbour(self):
        self.one({"kube/side.cpp": '#include "sublet/store/store.h"\n'}, "kube/ may not use store/")

    def test_a_contract_that_looks_left(self):
        self.one({"include/sublet/base/base.h": '#include "sublet/kube/kube.h"\n'}, "include/sublet/base/base.h", "may not use kube/")

    def test_a_private_header_of_another_folder(self):
        self.one({"server/deep.cpp": '#include "store/tree.h"\n'}, '"store/tree.h" is private to store/')

    def test_a_link_to_the_left(self):
        self.one({"base/CMakeLists.txt": "sublet_library(base DEPS sublet_store)"}, "sublet_base may not link sublet_store")

    def test_a_link_that_nothing_uses(self):
        self.one({"server/CMakeLists.txt": "sublet_library(server\n  DEPS sublet_store sublet_kube)"}, "links sublet_kube", "no source")

    def test_a_folder_in_no_arrow(self):
        self.one({"new/new.cpp": ""}, "new/ stands in no arrow")

    def test_up_inside_a_folder(self):
        self.one({"server/request/bad.cpp": '#include "server/verbs/get.h"\n'}, "server/request may not use server/verbs")

    def test_sideways_inside_a_folder(self):
        self.one({"server/watch/bad.cpp": '#include "server/verbs/get.h"\n'}, "server/watch may not use server/verbs")

    def test_to_the_top_files_from_inside(self):
        self.one({"server/verbs/bad.cpp": '#include "server/server.h"\n'}, "server/verbs may not use server/top")

    def test_an_inner_folder_in_no_arrow(self):
        self.one({"server/other/x.cpp": ""}, "server/other/ stands in no arrow")

    def test_a_lock_that_nothing_checks(self):
        self.one({"tests/all_test.cpp": "std::recursive_mutex lock;"}, "tests/all_test.cpp", "std::recursive_mutex")
        self.one({"store/store.cpp": "std::unique_lock lock(mutex);"}, "store/store.cpp", "std::unique_lock")
        self.assertEqual(findings({"include/sublet/base/mutex.h": "std::mutex mutex_;"}), [])


if __name__ == "__main__":
    unittest.main()
