#!/usr/bin/env python3
"""Writes apiserver/authz/generated/bootstrap_rights.inc: the roles and bindings that every cluster begins with.

    tools/rbac/generate.py [--check]

They are upstream's own facts: the YAML files of plugin/pkg/auth/authorizer/rbac/bootstrappolicy/testdata in k8s.io/kubernetes,
of the release in tools/schema/RELEASE, as the Go module cache has it (fetched when it does not). One object per line, as JSON;
what an aggregated role gathers from the others is filled in, so that a new cluster does not wait for the controller.
"""
import argparse
import json
import pathlib
import subprocess
import sys

import yaml

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
OUT = ROOT / "apiserver" / "authz" / "generated" / "bootstrap_rights.inc"
POLICY = "plugin/pkg/auth/authorizer/rbac/bootstrappolicy/testdata"
# The order of upstream's reconciliation. cluster-roles.yaml is what a server has with its default feature gates.
FILES = ("cluster-roles", "controller-roles", "cluster-role-bindings", "controller-role-bindings", "namespace-roles",
         "namespace-role-bindings")
UNAVAILABLE = 77  # ctest: skipped


def upstream(release):
    command = ["go", "mod", "download", "-json", f"k8s.io/kubernetes@{release}"]
    answer = subprocess.run(command, capture_output=True, text=True, env={**__import__("os").environ, "GOFLAGS": "-mod=mod"})
    if answer.returncode != 0:
        print(f"tools/rbac: k8s.io/kubernetes@{release} is neither in the module cache nor to be had: {answer.stderr}{answer.stdout}",
              file=sys.stderr)
        sys.exit(UNAVAILABLE)
    return pathlib.Path(json.loads(answer.stdout)["Dir"]) / POLICY


def objects_of(folder):
    found = []
    for name in FILES:
        for item in yaml.safe_load((folder / f"{name}.yaml").read_text())["items"]:
            item["metadata"].pop("creationTimestamp", None)
            found.append(item)
    return found


def selects(rule, role):
    labels = role["metadata"].get("labels", {})
    return any(all(labels.get(k) == v for k, v in one["matchLabels"].items()) for one in rule["clusterRoleSelectors"])


def aggregate(objects):
    """What the aggregation controller makes of the rules: those of the selected roles by name, each rule once."""
    roles = sorted((o for o in objects if o["kind"] == "ClusterRole"), key=lambda role: role["metadata"]["name"])
    aggregated = [role for role in roles if role.get("aggregationRule")]
    for _ in aggregated:  # an aggregated role may be gathered by another
        for role in aggregated:
            rules = []
            for other in roles:
                if other is not role and selects(role["aggregationRule"], other):
                    rules += [rule for rule in other.get("rules") or [] if rule not in rules]
            role["rules"] = rules


def text_of(objects):
    lines = []
    for item in objects:
        body = json.dumps(item, separators=(",", ":"), sort_keys=True)
        assert ')"' not in body
        lines.append(f'R"({body})",\n')
    return "".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; fail when the file would change")
    options = parser.parse_args()
    objects = objects_of(upstream((ROOT / "tools" / "schema" / "RELEASE").read_text().strip()))
    aggregate(objects)
    text = text_of(objects)
    if options.check:
        if OUT.read_text() != text:
            print(f"{OUT.relative_to(ROOT)} is not what tools/rbac/generate.py writes")
            return 1
        return 0
    OUT.write_text(text)
    print(f"{OUT.relative_to(ROOT)}: {len(objects)} objects, {len(text)} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
