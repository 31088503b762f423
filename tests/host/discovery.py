#!/usr/bin/env python3
# host: given, 1 s
"""tests/host/discovery.py: what a real kube-apiserver ($HOST_KUBECONFIG) serves by group, version, resource, subresource and verb, our
own server serves too, and nothing else; what may differ is in support/discovery_differences.txt with its reason. Prints the counts.

  discovery.py [OURS_KUBECONFIG]     without it a `subletd apiserver` of its own (from PATH)
"""

import contextlib
import fnmatch
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE.parents[1] / "tools/differential"))

import sides  # noqa: E402

FACTS = ("kind", "group", "version", "namespaced", "singularName", "shortNames", "categories", "verbs")


def own_versions(server):
    """Those that the server has of itself, and not by a definition or an APIService of another test's."""
    services = server.ask("GET", "/apis/apiregistration.k8s.io/v1/apiservices").body["items"]
    if not services:  # nobody's controllers take part in a server of this test's own, and it has only what it has of itself
        groups = server.ask("GET", "/apis").body["groups"]
        return ["v1"] + [version["groupVersion"] for group in groups for version in group["versions"]]
    own = [s["spec"] for s in services if s["metadata"].get("labels", {}).get("kube-aggregator.kubernetes.io/automanaged") == "onstart"]
    return ["apiregistration.k8s.io/v1"] + ["/".join(filter(None, (spec.get("group"), spec["version"]))) for spec in own]


def served(server):
    """{"apps/v1 deployments/scale": its facts}."""
    found = {}
    for version in own_versions(server):
        for facts in server.ask("GET", ("/api/" if "/" not in version else "/apis/") + version).body["resources"]:
            found[f"{version} {facts['name']}"] = {
                key: sorted(facts[key]) if isinstance(facts.get(key), list) else facts.get(key) for key in FACTS
            }
    return found


def differences(ours, theirs):
    for name in sorted(ours.keys() | theirs.keys()):
        if name not in ours or name not in theirs:
            yield f"{name} | {'only ours' if name in ours else 'missing'}"
            continue
        for key in FACTS:
            if ours[name][key] != theirs[name][key]:
                yield f"{name} | {key}: {theirs[name][key]} is {ours[name][key]}"


def main():
    rows = []
    for line in (HERE / "support/discovery_differences.txt").read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            rows.append([cell.strip() for cell in line.split(" | ")])
    runner = sides.api_runner()
    with contextlib.ExitStack() as stack:
        mine = sys.argv[1] if len(sys.argv) > 1 else stack.enter_context(runner.OwnServer("--controllers", "none"))
        ours = served(sides.Server("subletd", mine, runner))
        theirs = served(sides.Server("the reference", os.environ["HOST_KUBECONFIG"], runner))
    used, wrong = set(), []
    for difference in differences(ours, theirs):
        cells = difference.split(" | ", 1)
        row = next((n for n, r in enumerate(rows) if fnmatch.fnmatchcase(cells[0], r[0]) and fnmatch.fnmatchcase(cells[1], r[1])), None)
        used.add(row)
        if row is None:
            wrong.append(difference)
    for difference in wrong:
        print(difference)
    for number, row in enumerate(rows):
        if number not in used:
            wrong.append(row)
            print(f"support/discovery_differences.txt excuses what is no difference any more: {row[0]} | {row[1]}")
    print(f"{len(theirs)} resources and subresources of the reference, {len(ours)} of ours; {len(used - {None})} excuses used")
    print(f"{int(not wrong)} passed, {len(wrong)} failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
