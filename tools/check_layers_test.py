#!/usr/bin/env python3
"""Tests tools/check-layers on small trees: what it must report, and what it must accept."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

CHECKER = pathlib.Path(__file__).resolve().parent / "check-layers"
ORDERS = """# Architecture

A folder may use only those to its right:
`cli -> server
 -> kube, store -> base`

Inside `server/`, where `top` means the files directly in the folder:
`top -> verbs, watch -> request`
"""
RIGHT = {
    "ARCHITECTURE.md": ORDERS,
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
    """Returns the findings for the right tree with these files changed or added."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in {**RIGHT, **changes}.items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        answer = subprocess.run([sys.executable, str(CHECKER), folder], capture_output=True, text=True)
        lines = answer.stdout.splitlines()[:-1]
        assert answer.returncode == (1 if lines else 0), answer
        return lines


class CheckLayers(unittest.TestCase):
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

    def test_a_contract_with_an_include_to_the_left(self):
        self.one({"include/sublet/base/base.h": '#include "sublet/kube/kube.h"\n'}, "include/sublet/base/base.h", "may not use kube/")

    def test_a_private_header_of_another_folder(self):
        self.one({"server/deep.cpp": '#include "store/tree.h"\n'}, '"store/tree.h" is private to store/')

    def test_a_link_to_the_left(self):
        self.one({"base/CMakeLists.txt": "sublet_library(base DEPS sublet_store)"}, "sublet_base may not link sublet_store")

    def test_a_link_that_nothing_uses(self):
        self.one({"server/CMakeLists.txt": "sublet_library(server\n  DEPS sublet_store sublet_kube)"}, "links sublet_kube", "no source")

    def test_a_folder_in_no_order(self):
        self.one({"new/new.cpp": ""}, "new/ is in no order")

    def test_up_inside_a_folder(self):
        self.one({"server/request/bad.cpp": '#include "server/verbs/get.h"\n'}, "server/request may not use server/verbs")

    def test_sideways_inside_a_folder(self):
        self.one({"server/watch/bad.cpp": '#include "server/verbs/get.h"\n'}, "server/watch may not use server/verbs")

    def test_to_the_top_files_from_inside(self):
        self.one({"server/verbs/bad.cpp": '#include "server/server.h"\n'}, "server/verbs may not use server/top")

    def test_an_inner_folder_in_no_order(self):
        self.one({"server/other/x.cpp": ""}, "server/other/ is in no order")

    def test_a_cycle_of_two_modules(self):
        self.one({"server/tree.h": "", "server/tree.cpp": '#include "server/log.h"\n', "server/log.h": "",
                  "server/log.cpp": '#include "server/log.h"\n#include "server/tree.h"\n'},
                 "server: include cycle of 2 modules", "server/log -> server/tree -> server/log")

    def test_a_cycle_through_a_contract(self):
        self.one({"include/sublet/server/server.h": "", "server/server.cpp": '#include "server/tree.h"\n#include "sublet/store/store.h"\n',
                  "server/tree.h": '#include "sublet/server/server.h"\n'},
                 "server: include cycle of 2 modules", "server/server -> server/tree -> server/server")

    def test_a_long_cycle_is_shown_by_its_shortest_one(self):
        self.one({"server/a.h": '#include "server/b.h"\n', "server/b.h": '#include "server/c.h"\n',
                  "server/b.cpp": '#include "server/a.h"\n', "server/c.h": '#include "server/a.h"\n'},
                 "include cycle of 3 modules", "server/a -> server/b -> server/a")

    def test_a_contract_and_its_implementation_are_no_cycle(self):
        self.assertEqual(findings({"include/sublet/server/tree.h": '#include "sublet/server/uid.h"\n', "include/sublet/server/uid.h": "",
                                   "server/verbs/tree.cpp": '#include "sublet/server/tree.h"\n',
                                   "server/verbs/tree_reads.cpp": '#include "sublet/server/tree.h"\n'}), [])

    def test_a_lock_of_the_standard_library(self):
        self.one({"tests/all_test.cpp": "std::recursive_mutex lock;"}, "tests/all_test.cpp", "std::recursive_mutex")
        self.one({"store/store.cpp": "std::unique_lock lock(mutex);"}, "store/store.cpp", "std::unique_lock")
        self.assertEqual(findings({"include/sublet/base/mutex.h": "std::mutex mutex_;"}), [])


if __name__ == "__main__":
    unittest.main()
