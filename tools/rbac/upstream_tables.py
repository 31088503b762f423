#!/usr/bin/env python3
"""Writes tests/rights/tables.jsonl: what upstream's own tests of the authorizer and of escalation judge, and what upstream says of it.

    tools/rbac/upstream_tables.py [--out FILE]

Runs the tests of k8s.io/kubernetes/{pkg/registry/rbac/validation,pkg/registry/rbac/*role/policybased,plugin/pkg/auth/authorizer/rbac}
and k8s.io/component-helpers/auth/rbac/{validation,reconciliation} of the release in tools/testhost/pins.toml, with the functions below
made to report what they are asked and what they answer. The sources are changed by Go's -overlay alone; nothing of them is kept.
authz/upstream_tables_test.cpp asks the same of ours. Needs `go`.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE.parent / "testhost"))

import build  # noqa: E402

# In each package: a file, a function of it, and what is reported of its parameters and results (r0, r1 ...).
REPORTED = {
    "component-helpers/auth/rbac/validation": [
        ("policy_comparator.go", "Covers", '"owner": ownerRules, "servant": servantRules, "uncovered": r1'),
    ],
    "component-helpers/auth/rbac/reconciliation": [
        ("reconcile_role.go", "computeReconciledRole",
         '"existing": existing.DeepCopyRuleOwner(), "expected": expected.DeepCopyRuleOwner(), "remove": removeExtraPermissions, "result": r0'),
        ("reconcile_rolebindings.go", "computeReconciledRoleBinding",
         '"existing": existing, "expected": expected, "remove": removeExtraSubjects, "result": r0'),
    ],
    "kubernetes/pkg/registry/rbac/validation": [
        ("rule.go", "RulesFor", '"stored": r.stored(), "user": describedUser(user), "namespace": namespace, "rules": r0'),
        ("rule.go", "appliesTo", '"user": describedUser(user), "subjects": bindingSubjects, "namespace": namespace, "applies": r1'),
        ("rule.go", "ConfirmNoEscalation", '"user": contextUser(ctx), "namespace": contextNamespace(ctx), "stored": storedOf(ruleResolver), "rules": rules, "refused": errorText(r0)'),
        ("policy_compact.go", "CompactRules", '"rules": rules, "lines": linesOf(r0)'),
    ],
    "kubernetes/plugin/pkg/auth/authorizer/rbac": [
        ("rbac.go", "Authorize", '"stored": storedOf(r), "attributes": described(requestAttributes), "allowed": r0 == authorizer.DecisionAllow'),
        ("rbac.go", "RuleAllows", '"rule": rule, "attributes": described(requestAttributes), "allowed": r0'),
    ],
}
TESTED = [*REPORTED, "kubernetes/pkg/registry/rbac/role/policybased", "kubernetes/pkg/registry/rbac/clusterrole/policybased"]

REPORT = """
package PACKAGE

import (
	reportJSON "encoding/json"
	reportOS "os"
)

func reportCase(function string, members map[string]any) {
	members["function"] = function
	line, err := reportJSON.Marshal(members)
	if err != nil {
		panic(err)
	}
	file, err := reportOS.OpenFile(reportOS.Getenv("SUBLET_CASES"), reportOS.O_APPEND|reportOS.O_CREATE|reportOS.O_WRONLY, 0o644)
	if err != nil {
		panic(err)
	}
	defer file.Close()
	if _, err := file.Write(append(line, '\\n')); err != nil {
		panic(err)
	}
}
"""
# What the reports of one package need beside.
HELPERS = {
    "kubernetes/pkg/registry/rbac/validation": """
package validation

import (
	"context"
	"sort"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	rbacv1helpers "k8s.io/kubernetes/pkg/apis/rbac/v1"
)

func (r *DefaultRuleResolver) stored() any { return r.Stored() }

func (r *DefaultRuleResolver) Stored() map[string]any {
	static, ok := r.roleGetter.(*StaticRoles)
	if !ok {
		return nil
	}
	return map[string]any{"roles": static.roles, "clusterroles": static.clusterRoles, "rolebindings": static.roleBindings, "clusterrolebindings": static.clusterRoleBindings}
}

func storedOf(resolver AuthorizationRuleResolver) any {
	if one, ok := resolver.(*DefaultRuleResolver); ok {
		return one.Stored()
	}
	return nil
}

func describedUser(one user.Info) any { return map[string]any{"name": one.GetName(), "groups": one.GetGroups()} }

func contextUser(ctx context.Context) any {
	one, _ := genericapirequest.UserFrom(ctx)
	return describedUser(one)
}

func contextNamespace(ctx context.Context) string { return genericapirequest.NamespaceValue(ctx) }

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func linesOf(rules []rbacv1.PolicyRule) []string {
	lines := []string{}
	for _, rule := range rules {
		lines = append(lines, rbacv1helpers.CompactString(rule))
	}
	sort.Strings(lines)
	return lines
}
""",
    "kubernetes/plugin/pkg/auth/authorizer/rbac": """
package rbac

import "k8s.io/apiserver/pkg/authorization/authorizer"

func storedOf(r *RBACAuthorizer) any {
	if one, ok := r.authorizationRuleResolver.(interface{ Stored() map[string]any }); ok {
		return one.Stored()
	}
	return nil
}

func described(a authorizer.Attributes) any {
	made := map[string]any{"verb": a.GetVerb(), "resourceRequest": a.IsResourceRequest(), "group": a.GetAPIGroup(), "resource": a.GetResource(),
		"subresource": a.GetSubresource(), "namespace": a.GetNamespace(), "name": a.GetName(), "path": a.GetPath(), "user": "", "groups": []string{}}
	if who := a.GetUser(); who != nil {
		made["user"], made["groups"] = who.GetName(), who.GetGroups()
	}
	return made
}
""",
}


def parameters(text):
    """The names of `a, b *T, c U`; of results: how many."""
    return [part.split()[0] for part in text.split(",") if part.strip()]


def reporting(source, function, members):
    """The source with `function` as a shell around itself that reports."""
    head = re.search(rf"^func (\((\w+) [^)]+\) )?{function}\((.*)\) (\(.*\)|\S+) \{{$", source, re.M)
    if not head:
        raise SystemExit(f"upstream_tables: no function {function}")
    receiver, owner, arguments, results = head.groups()
    count = len(results.split(","))
    names = ", ".join(f"r{i}" for i in range(count))
    passed = ", ".join(name + ("..." if f"{name} ..." in arguments else "") for name in parameters(arguments))
    shell = (f"func {receiver or ''}{function}({arguments}) {results} {{\n\t{names} := {owner + '.' if owner else ''}unreported{function}({passed})\n"
             f"\treportCase(\"{function}\", map[string]any{{{members}}})\n\treturn {names}\n}}\n\n")
    inner = head.group(0).replace(f"{function}(", f"unreported{function}(", 1)
    return source[:head.start()] + shell + inner + source[head.end():]


def overlay_of(folder, package, work):
    """{file of the package: changed file}"""
    place, label, replaced = folder / package, package.replace("/", "_"), {}

    def put(name, text):
        path = work / f"{label}_{name}"
        path.write_text(text)
        replaced[str(place / name)] = str(path)

    changed = {}
    for name, function, members in REPORTED[package]:
        changed[name] = reporting(changed.get(name) or (place / name).read_text(), function, members)
    for name, text in changed.items():
        put(name, text)
    put("zz_report.go", REPORT.replace("PACKAGE", "rbac" if package.endswith("/rbac") else package.rsplit("/", 1)[1]))
    if package in HELPERS:
        put("zz_report_helpers.go", HELPERS[package])
    return replaced


def shortened(case):
    """Without what an object has of itself and nobody asks about."""
    if isinstance(case, dict):
        return {key: shortened(value) for key, value in case.items() if key not in ("creationTimestamp", "managedFields") and value is not None}
    return [shortened(one) for one in case] if isinstance(case, list) else case


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, default=HERE.parent.parent / "tests/rights/tables.jsonl")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sublet-rights-") as folder:
        work = pathlib.Path(folder)
        build.linked_kubernetes(work, ["kubernetes", "component-helpers"])
        replaced = {}
        for package in REPORTED:
            replaced |= overlay_of(work, package, work)
        (work / "overlay.json").write_text(json.dumps({"Replace": replaced}))
        cases = work / "cases.jsonl"
        environment = {**os.environ, "GOFLAGS": "-mod=mod", "CGO_ENABLED": "0", "SUBLET_CASES": str(cases)}
        command = ["go", "test", "-count=1", "-p", "1", "-vet=off", "-run", "^Test", "-overlay", str(work / "overlay.json")]
        done = subprocess.run([*command, *(f"k8s.io/{package}" for package in TESTED)], cwd=work, env=environment, capture_output=True, text=True)
        print(done.stdout, end="")
        if done.returncode:
            print(done.stderr[-4000:], file=sys.stderr)
            return 1
        lines = []
        for line in cases.read_text().splitlines():
            text = json.dumps(shortened(json.loads(line)), sort_keys=True, separators=(",", ":"))
            if text not in lines:
                lines.append(text)
    arguments.out.write_text("\n".join(sorted(lines)) + "\n")
    counts = {}
    for line in lines:
        counts[json.loads(line)["function"]] = counts.get(json.loads(line)["function"], 0) + 1
    print(f"{len(lines)} cases: " + ", ".join(f"{name} {count}" for name, count in sorted(counts.items())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
