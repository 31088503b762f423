#!/usr/bin/env python3
# host: given, 200 s
"""The same rights on a real kube-apiserver ($HOST_KUBECONFIG) and on ours: every resource and subresource x every verb x
{nobody, anonymous, view, edit, admin and cluster-admin in the cluster and in a namespace, each controller's account}, asked by
SubjectAccessReview; and every role and binding that a cluster begins with, word by word.

    tests/host/rights_matrix.py [OURS.kubeconfig THEIRS.kubeconfig]
"""
import concurrent.futures
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
loader = importlib.machinery.SourceFileLoader("api_run", str(ROOT / "tests" / "api" / "run"))
api_run = importlib.util.module_from_spec(importlib.util.spec_from_loader("api_run", loader))
sys.modules["api_run"] = api_run
loader.exec_module(api_run)

VERBS = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
OTHER_VERBS = ("impersonate", "bind", "escalate", "approve", "use", "*")
PATHS = ("/", "/api", "/apis/apps/v1", "/healthz", "/livez/ping", "/readyz", "/metrics", "/version", "/version/", "/openapi/v2",
         "/openapi/v3/api/v1", "/openid/v1/jwks", "/.well-known/openid-configuration", "/logs/x", "/none")
ROLES = ("view", "edit", "admin", "cluster-admin")
SPACE = "rights-matrix"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
# What no discovery lists and rules are about all the same.
VIRTUAL = (("", "users"), ("", "groups"), ("authentication.k8s.io", "userextras/scopes"), ("certificates.k8s.io", "signers"),
           ("none.example", "things"), ("*", "*"), ("", "pods/none"))


class Peer:
    """One kept connection to a server, as its administrator."""

    def __init__(self, kubeconfig):
        self.connection = api_run.Side("", kubeconfig).connect(True)

    def call(self, method, path, body=None, good=(200, 201)):
        self.connection.request(method, path, json.dumps(body) if body is not None else None, {"Content-Type": "application/json"})
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status not in good:
            raise SystemExit(f"{method} {path}: {answer.status} {text[:500]!r}")
        return json.loads(text)


def resources_of(peer):
    found = set()
    groups = ["/api/v1"] + [f"/apis/{version['groupVersion']}" for group in peer.call("GET", "/apis")["groups"]
                            for version in group["versions"]]
    for path in groups:
        group = path.split("/")[2] if path.startswith("/apis") else ""
        found |= {(group, resource["name"]) for resource in peer.call("GET", path)["resources"]}
    return found


def subjects_of(peer):
    """Name -> (user, groups): who is asked about. Binds those who must be bound."""
    subjects = {"nobody": ("matrix-nobody", ["system:authenticated"]),
                "anonymous": ("system:anonymous", ["system:unauthenticated"])}
    for role in ROLES:
        for scope in ("cluster", "namespace"):
            user = f"matrix-{scope}-{role}"
            subjects[user] = (user, ["system:authenticated"])
            kind, path = ("ClusterRoleBinding", "") if scope == "cluster" else ("RoleBinding", f"/namespaces/{SPACE}")
            peer.call("POST", f"{RBAC}{path}/{kind.lower()}s", {
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": {"name": user},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
                "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}]}, good=(201, 409))
    for item in peer.call("GET", f"{RBAC}/clusterrolebindings")["items"]:
        for subject in item.get("subjects", []):
            if subject["kind"] == "ServiceAccount":
                user = f"system:serviceaccount:{subject['namespace']}:{subject['name']}"
                subjects[user] = (user, ["system:serviceaccounts", f"system:serviceaccounts:{subject['namespace']}",
                                         "system:authenticated"])
            elif subject["name"].startswith("system:") and subject["kind"] == "User":
                subjects[subject["name"]] = (subject["name"], ["system:authenticated"])
    return subjects


def questions_of(resources, everywhere):
    for group, resource in sorted(resources):
        name, _, sub = resource.partition("/")
        more = OTHER_VERBS if group.startswith(("rbac", "certificates", "auth")) or (group, resource) in VIRTUAL else ()
        for verb in VERBS + more:
            asked = {"verb": verb, "group": group, "resource": name, "subresource": sub}
            yield {"resourceAttributes": {**asked, "namespace": SPACE}}
            if everywhere:
                yield {"resourceAttributes": asked}
    for path in PATHS:
        for verb in ("get", "post"):
            yield {"nonResourceAttributes": {"path": path, "verb": verb}}


def ask(kubeconfig, subject, questions):
    peer, answers = Peer(kubeconfig), []
    user, groups = subject
    for question in questions:
        review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
                  "spec": {"user": user, "groups": groups, **question}}
        answers.append(peer.call("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review)["status"]["allowed"])
    return answers


def rights_of(peer):
    """What every cluster begins with, without what is a server's own."""
    found = {}
    for resource in ("clusterroles", "clusterrolebindings", "roles", "rolebindings"):
        for item in peer.call("GET", f"{RBAC}/{resource}")["items"]:
            meta = item["metadata"]
            if meta.get("labels", {}).get("kubernetes.io/bootstrapping") != "rbac-defaults":
                continue
            kept = {key: value for key, value in item.items() if key not in ("metadata", "kind", "apiVersion")}
            found[f"{resource}/{meta.get('namespace', '')}/{meta['name']}"] = {
                **kept, "labels": meta["labels"], "annotations": meta.get("annotations")}
    return found


def compare(kubeconfigs):
    peers = [Peer(kubeconfig) for kubeconfig in kubeconfigs]
    failures = 0
    ours, theirs = (rights_of(peer) for peer in peers)
    for name in sorted(ours.keys() | theirs.keys()):
        if ours.get(name) != theirs.get(name):
            failures += 1
            print(f"FAIL {name} differs\n  ours:   {json.dumps(ours.get(name))}\n  theirs: {json.dumps(theirs.get(name))}")
    print(f"{len(theirs)} roles and bindings that upstream begins with, {failures} differ")
    for peer in peers:
        peer.call("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}}, good=(201, 409))
    subjects = [subjects_of(peer) for peer in peers]
    if subjects[0].keys() != subjects[1].keys():
        failures += 1
        print(f"FAIL other subjects: {sorted(subjects[0].keys() ^ subjects[1].keys())}")
    resources = set.union(*(resources_of(peer) for peer in peers)) | set(VIRTUAL)
    asked = allowed = 0
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        for subject in sorted(subjects[0].keys() & subjects[1].keys()):
            questions = list(questions_of(resources, "namespace" in subject))
            first, second = pool.map(ask, kubeconfigs, [subjects[0][subject]] * 2, [questions] * 2)
            asked += len(questions)
            allowed += sum(second)
            for question, a, b in zip(questions, first, second):
                if a != b:
                    failures += 1
                    print(f"FAIL {subject}: {json.dumps(question)}: ours {a}, theirs {b}")
    print(f"{len(subjects[0])} subjects, {len(resources)} resources and subresources: {asked} questions asked of both servers, {allowed} allowed, {asked - allowed} not")
    return failures


def main():
    if len(sys.argv) == 3:
        failures = compare(sys.argv[1:])
    else:
        with api_run.OwnServer() as kubeconfig:
            failures = compare([kubeconfig, os.environ["HOST_KUBECONFIG"]])
    print("1 passed, 0 failed" if failures == 0 else "0 passed, 1 failed")
    return failures != 0


if __name__ == "__main__":
    sys.exit(main())
