#!/usr/bin/env python3
# host: own, 200 s
"""tests/host/verbs.py: every verb and subresource of every GA kind, with every option of a delete, asked of a `subletd apiserver` and of a
kube-apiserver of its own, where no controller writes: status code, reason, words, causes and object of each answer are compared, and what is
stored afterwards. What may differ is in support/verbs_differences.txt with its reason.

  verbs.py [--only 'apps/v1/*'] [OURS_KUBECONFIG REFERENCE_KUBECONFIG]

The kinds and their objects are those of tools/differential/seeds.txt; what each kind has is what the reference's discovery says.
"""

import argparse
import contextlib
import copy
import fnmatch
import json
import os
import pathlib
import re
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tools/differential"))

import cases  # noqa: E402
import comparison  # noqa: E402
import sides  # noqa: E402

MERGE, JSON_PATCH, STRATEGIC, APPLY = (f"application/{kind}" for kind in ("merge-patch+json", "json-patch+json", "strategic-merge-patch+json", "apply-patch+yaml"))
# They lead to pods and nodes, which are not there.
LEADING_ELSEWHERE = ("attach", "exec", "log", "portforward", "proxy")
# Names that mean something.
KEEP_NAME = ("ipaddresses", "apiservices", "customresourcedefinitions")
# Of these the server itself says in the status what became of them, at any time.
WATCHED = ("apiservices", "customresourcedefinitions", "flowschemas", "prioritylevelconfigurations", "servicecidrs")
DELETES = [  # (query, body)
    ("dryRun=All", None),
    ("dryRun=None", None),
    ("dryRun=All&dryRun=All", None),
    ("", {"dryRun": ["All"]}),
    ("", {"dryRun": ["Some"]}),
    ("", {"dryRun": ["All", "Some"]}),
    ("dryRun=All", {"apiVersion": "v1", "kind": "DeleteOptions", "dryRun": ["All"]}),
    ("dryRun=All", {"apiVersion": "meta.k8s.io/v1", "kind": "DeleteOptions", "dryRun": ["All"]}),
    ("dryRun=All", {"apiVersion": "v1", "kind": "Other", "dryRun": ["All"]}),
    ("dryRun=All", {"apiVersion": "other.example.com/v1", "kind": "DeleteOptions", "dryRun": ["All"]}),
    ("dryRun=All", {"dryRun": ["All"], "more": 1}),
    ("dryRun=All", {"dryRun": ["All"], "preconditions": {"uid": "other"}}),
    ("dryRun=All", {"dryRun": ["All"], "preconditions": {"resourceVersion": "1"}}),
    ("dryRun=All", {"dryRun": ["All"], "preconditions": {"uid": "", "resourceVersion": ""}}),
    ("dryRun=All", {"dryRun": ["All"], "gracePeriodSeconds": "5"}),
    ("dryRun=All", {"dryRun": ["All"], "gracePeriodSeconds": 0}),
    ("dryRun=All", {"dryRun": ["All"], "gracePeriodSeconds": -1}),
    ("dryRun=All", {"dryRun": ["All"], "gracePeriodSeconds": 100}),
    ("dryRun=All", {"dryRun": ["All"], "orphanDependents": True}),
    ("dryRun=All", {"dryRun": ["All"], "orphanDependents": True, "propagationPolicy": "Orphan"}),
    ("dryRun=All", {"dryRun": ["All"], "propagationPolicy": "Foreground"}),
    ("dryRun=All", {"dryRun": ["All"], "propagationPolicy": "Orphan"}),
    ("dryRun=All", {"dryRun": ["All"], "propagationPolicy": "Some"}),
    ("dryRun=All", {"dryRun": ["All"], "ignoreStoreReadErrorWithClusterBreakingPotential": True}),
    ("dryRun=All&propagationPolicy=Background", None),
    ("dryRun=All&propagationPolicy=Some", None),
    ("dryRun=All&propagationPolicy=Orphan&orphanDependents=false", None),
    ("dryRun=All&orphanDependents=true", None),
    ("dryRun=All&orphanDependents=maybe", None),
    ("dryRun=All&gracePeriodSeconds=-1", None),
    ("dryRun=All&gracePeriodSeconds=x", None),
    ("dryRun=All&gracePeriodSeconds=30", None),
    ("dryRun=Some", None),
]
# What makes an object stay, in the order of asking; what each leaves behind is compared.
PROPAGATIONS = [("propagationPolicy=Orphan", None), ("propagationPolicy=Foreground", None), ("propagationPolicy=Background", None), ("orphanDependents=true", None),
                ("orphanDependents=false", None), ("", None), ("", {"propagationPolicy": "Foreground"}), ("gracePeriodSeconds=0", None), ("gracePeriodSeconds=5", None)]
COLLECTIONS = [
    ("labelSelector=verbs%3Done&dryRun=All", None),
    ("labelSelector=verbs%3Done", {"dryRun": ["All"]}),
    ("labelSelector=verbs%3Done&dryRun=Some", None),
    ("labelSelector=verbs%3D%3D%3Done", None),
    ("labelSelector=verbs%3Done&fieldSelector=spec.none%3Dx", None),
    ("labelSelector=verbs%3Done&fieldSelector=metadata.name%3Dnobody", None),
    ("labelSelector=verbs%3Done&limit=x", None),
    ("labelSelector=verbs%3Done&limit=-1&dryRun=All", None),
    ("labelSelector=verbs%3Done&continue=x&dryRun=All", None),
    ("labelSelector=verbs%3Done&resourceVersionMatch=Exact&dryRun=All", None),
    ("labelSelector=verbs%3Done&resourceVersionMatch=Other&resourceVersion=1&dryRun=All", None),
    ("labelSelector=verbs%3Done&resourceVersion=x&dryRun=All", None),
    ("labelSelector=verbs%3Done&sendInitialEvents=true&dryRun=All", None),
    ("labelSelector=verbs%3Done&timeoutSeconds=x&dryRun=All", None),
    ("labelSelector=verbs%3Done&propagationPolicy=Some", None),
    ("labelSelector=verbs%3Done&propagationPolicy=Orphan&orphanDependents=true", None),
    ("labelSelector=verbs%3Done&gracePeriodSeconds=x", None),
    ("labelSelector=verbs%3Done", {"preconditions": {"uid": "other"}}),
    ("labelSelector=verbs%3Done", {"preconditions": {"resourceVersion": "1"}}),
    ("labelSelector=verbs%3Done", {"more": 1, "dryRun": ["All"]}),
    ("labelSelector=verbs%3Done", {"apiVersion": "v1", "kind": "ListOptions", "dryRun": ["All"]}),
    ("labelSelector=verbs%3Done&limit=1&dryRun=All", None),
    ("labelSelector=verbs%3Dtwo&propagationPolicy=Orphan", None),
    ("labelSelector=verbs%3Done&propagationPolicy=Foreground", None),
    ("labelSelector=verbs%3Done&gracePeriodSeconds=0", None),
]


class Sides:
    """Both servers, asked the same; what each stores last under a name is remembered, for bodies made of it."""

    def __init__(self, servers, excuses):
        self.servers, self.excuses = servers, excuses
        self.passed, self.wrong = 0, []
        self.kind = None

    def ask(self, label, method, path, body=None, content_type="application/json", compared=True):
        """Asks both; a body may be a function of the place of the server."""
        answers = [server.ask(method, path, body(place) if callable(body) else body, content_type) for place, server in enumerate(self.servers)]
        if compared:
            self.compare(label, method, path, *answers)
        return answers

    def compare(self, label, method, path, ours, theirs):
        found = [d for d in differences(self.kind, ours, theirs) if not self.excuses.allows(self.kind.name, label, d)]
        if not found:
            self.passed += 1
            return
        self.wrong.append((self.kind.name, label, found[0]))
        print(f"{self.kind.name}: {label}: {method} {path}")
        for difference in found[:4]:
            print(f"    {difference}")
        print(f"    ours   {brief(ours)}\n    theirs {brief(theirs)}")


class Excuses:
    def __init__(self, path):
        self.rows, self.used = [], set()
        for line in path.read_text().splitlines():
            if line.strip() and not line.startswith("#"):
                self.rows.append([cell.strip() for cell in line.split(" | ")])

    def allows(self, *cells):
        for number, row in enumerate(self.rows):
            if all(fnmatch.fnmatchcase(cell, pattern.replace("[", "[[]")) for cell, pattern in zip(cells, row)):
                self.used.add(number)
                return True
        return False


def differences(kind, ours, theirs):
    """What the answers differ in, as texts."""
    if ours.status != theirs.status:
        return [f"status code: {theirs.status} is {ours.status}"]
    a, b = (as_compared(kind, answer.body) for answer in (ours, theirs))
    return [f"{path}: {how}" for path, how in comparison.walk(a, b)]


def brief(answer):
    body = answer.body
    if not isinstance(body, dict) or body.get("kind") == "Status" or answer.status >= 300:
        return f"{answer.status} {json.dumps(body)[:700]}"
    if "items" in body:
        return f"{answer.status} {[(one['metadata']['name'], one['metadata'].get('finalizers'), one['metadata'].get('deletionTimestamp')) for one in body['items'] or []]}"
    metadata = {key: value for key, value in body.get("metadata", {}).items() if key != "managedFields"}
    return f"{answer.status} {json.dumps({**body, 'metadata': metadata})[:700]}"


# What only one of the servers can say: where its Go source is, its own versions, what it has signed.
OWN_WORDS = ((re.compile(r' in scheme "[^"]*"'), ""), (re.compile(r": (no kind|converting \().*$", re.S), ""), (re.compile(r"(ResourceVersion in (?:precondition|object meta|record|the precondition)[: (]+)\d+"), r"\1<version>"))


def words(message):
    message = comparison.exact(message)
    for pattern, own in OWN_WORDS:
        message = pattern.sub(own, message)
    return message


def as_compared(kind, body):
    body = comparison.normal(body)
    if not isinstance(body, dict):
        return body
    if body.get("kind") == "Status":
        details = body.get("details") or {}
        body["message"] = words(body.get("message"))
        if details.get("causes"):  # in which order, and how often the same, is a matter of upstream's layers
            details["causes"] = sorted({(c.get("field"), c.get("reason"), words(comparison.cause_text(c))) for c in details["causes"]}, key=str)
            body["message"] = body["message"].partition(" is invalid: ")[0]
        if not details:
            body.pop("details", None)
        return body
    for one in body.get("items") or [body]:
        metadata = one.get("metadata", {}) if isinstance(one, dict) else {}
        if kind.resource in WATCHED:
            one.pop("status", None)
        if isinstance(one.get("status"), dict) and "token" in one["status"]:
            one["status"]["token"] = "<signed>"
        if kind.resource == "certificatesigningrequests":  # who asks
            for key in ("username", "groups", "extra"):
                one.get("spec", {}).pop(key, None)
        if kind.resource == "namespaces":  # upstream goes through them in the order of a Go map
            metadata["finalizers"] = sorted(metadata.get("finalizers", []))
        if kind.resource == "customresourcedefinitions":  # how soon its objects are gone is the server's own
            metadata["finalizers"] = [f for f in metadata.get("finalizers", []) if not f.startswith("customresourcecleanup.")]
        if kind.resource == "nodes":  # a node that registers itself as ready is not tainted (docs/limits.md)
            taints = [t for t in one.get("spec", {}).get("taints", []) if t["key"] != "node.kubernetes.io/not-ready"]
            one.get("spec", {}).pop("taints", None)
            metadata["taints"] = taints
    if isinstance(body.get("metadata"), dict) and body["metadata"].get("continue"):
        body["metadata"]["continue"] = "<continue>"
    return body


class Tour:
    def __init__(self, both, kind, facts):
        self.both, self.kind = both, kind
        both.kind = kind
        self.verbs = {name.partition("/")[2]: set(one["verbs"]) for name, one in facts.items() if name.partition("/")[0] == kind.resource}
        self.facts = facts
        self.collection = kind.stored_collection
        self.many = kind.resource not in KEEP_NAME

    def seed(self, name=None, label=None):
        body = copy.deepcopy(self.kind.seeds[0])
        if name and self.many:
            body["metadata"]["name"] = name + (".x.y" if self.kind.resource.endswith("webhookconfigurations") else "")
        if label:
            body["metadata"].setdefault("labels", {})["verbs"] = label
        return body

    def path(self, body):
        return f"{self.collection}/{body['metadata']['name']}"

    def stored(self, path):
        """The object of each side, as it is now, without what is the server's to say of it."""
        return [server.ask("GET", path).body for server in self.both.servers]

    def gone(self, path):
        """Without comparing."""
        for server in self.both.servers:
            server.ask("PATCH", path, {"metadata": {"finalizers": None}}, MERGE)
            server.ask("DELETE", path + "?gracePeriodSeconds=0&propagationPolicy=Background")
            server.ask("PATCH", path, {"metadata": {"finalizers": None}}, MERGE)
            if self.kind.resource == "namespaces":
                now = server.ask("GET", path)
                if now.status == 200:
                    server.ask("PUT", path + "/finalize", {**now.body, "spec": {"finalizers": []}})
            end = time.monotonic() + 10
            while self.kind.resource in WATCHED and server.ask("GET", path).status == 200 and time.monotonic() < end:
                time.sleep(0.02)  # between two looks at a condition

    def run(self):
        ask = self.both.ask
        seed = self.seed("verbs-a")
        one = self.path(seed)
        self.gone(one)
        ask("create in a dry run", "POST", self.collection + "?dryRun=All", seed)
        ask("nothing is stored", "GET", one)
        ask("an update that may create, in a dry run", "PUT", one + "?dryRun=All", seed)
        ask("an update that may create leaves nothing in a dry run", "GET", one)
        for kind in (MERGE, JSON_PATCH, STRATEGIC):
            ask("a patch of nothing", "PATCH", one, [] if kind == JSON_PATCH else {"metadata": {"labels": {"a": "c"}}}, kind)
        ask("an apply that creates, in a dry run", "PATCH", one + "?dryRun=All&fieldManager=verbs", seed, APPLY)
        ask("an apply leaves nothing in a dry run", "GET", one)
        ask("a delete of nothing", "DELETE", one)
        ask("an update that may create", "PUT", one, seed)
        ask("what an update has created", "GET", one)
        self.gone(one)
        ask("an apply that creates", "PATCH", one + "?fieldManager=verbs", seed, APPLY)
        ask("what an apply has created", "GET", one)
        self.gone(one)
        made = ask("create", "POST", self.collection, seed)
        if made[1].status != 201:
            return
        self.methods(one, seed)
        self.updates(one)
        if "status" in self.verbs:
            self.status(one)
        if "scale" in self.verbs:
            self.scale(one)
        for name in sorted(self.verbs.keys() - {"", "status", "scale", *LEADING_ELSEWHERE}):
            self.subresource(one, name)
        self.deletes(one)
        self.propagations()
        if "deletecollection" in self.verbs[""] and self.many:
            self.collections()
        self.gone(one)

    def methods(self, one, seed):
        """Those that a path does not have."""
        ask = self.both.ask
        ask("a second create", "POST", self.collection, seed)
        ask("post to an object", "POST", one, seed)
        ask("put to a collection", "PUT", self.collection, seed)
        ask("patch of a collection", "PATCH", self.collection, {}, MERGE)
        if "deletecollection" not in self.verbs[""]:
            ask("delete of a collection that has none", "DELETE", self.collection)
        for query in ("dryRun=Some", "dryRun=All&dryRun=Some", "fieldValidation=Some", "fieldManager=" + "x" * 129, "pretty=x&dryRun=All", "dryRun="):
            ask(f"create with {query[:20]}", "POST", f"{self.collection}?{query}", {**seed, "metadata": {**seed["metadata"], "name": "verbs-q.x.y"}} if self.many else seed)
            if query == "dryRun=":
                self.gone(f"{self.collection}/verbs-q.x.y")
            ask(f"update with {query[:20]}", "PUT", f"{one}?{query}", lambda place: self.both.servers[place].ask("GET", one).body)
            ask(f"patch with {query[:20]}", "PATCH", f"{one}?{query}", {}, MERGE)
        ask("apply without a manager", "PATCH", one, seed, APPLY)
        ask("apply in a dry run", "PATCH", one + "?fieldManager=verbs&dryRun=All&force=true", seed, APPLY)
        ask("merge with force", "PATCH", one + "?force=true", {}, MERGE)

    def updates(self, one):
        ask, stored = self.both.ask, self.stored(one)

        def sends(change):
            def body(place):
                copied = copy.deepcopy(stored[place])
                copied["metadata"].pop("managedFields", None)
                change(copied)
                return copied
            return body

        def metadata(**values):
            def change(body):
                for key, value in values.items():
                    body["metadata"].pop(key, None) if value is None else body["metadata"].__setitem__(key, value)
            return sends(change)

        ask("the same update in a dry run", "PUT", one + "?dryRun=All", metadata())
        ask("the same update", "PUT", one, metadata())
        stored[:] = self.stored(one)  # which some of upstream's kinds store anew
        ask("an update without a version", "PUT", one + "?dryRun=All", metadata(resourceVersion=None))
        ask("an update of an old version", "PUT", one + "?dryRun=All", metadata(resourceVersion="1"))
        ask("an update of version 0", "PUT", one + "?dryRun=All", metadata(resourceVersion="0"))
        ask("an update of another uid", "PUT", one + "?dryRun=All", metadata(uid="other"))
        ask("an update without a uid", "PUT", one + "?dryRun=All", metadata(uid=None))
        ask("an update of another name", "PUT", one + "?dryRun=All", metadata(name="other"))
        ask("an update without a name", "PUT", one + "?dryRun=All", metadata(name=None))
        ask("an update of another namespace", "PUT", one + "?dryRun=All", metadata(namespace="other"))
        ask("an update of another creation", "PUT", one + "?dryRun=All", metadata(creationTimestamp="2020-01-01T00:00:00Z"))
        ask("an update of another generation", "PUT", one + "?dryRun=All", metadata(generation=77))
        ask("an update of its labels", "PUT", one + "?dryRun=All", metadata(labels={"verbs": "new"}, annotations={"verbs": "new"}))
        ask("an update that says when it is deleted", "PUT", one + "?dryRun=All", metadata(deletionTimestamp="2020-01-01T00:00:00Z", deletionGracePeriodSeconds=5))
        ask("an update of another kind", "PUT", one + "?dryRun=All", sends(lambda body: body.update(kind="Other")))
        ask("an update of another version's kind", "PUT", one + "?dryRun=All", sends(lambda body: body.update(apiVersion="other.example.com/v1")))
        ask("an update of its status", "PUT", one + "?dryRun=All", sends(lambda body: body.update(status={})))
        for patch in ({"metadata": {"name": "other"}}, {"metadata": {"uid": "other"}}, {"metadata": {"resourceVersion": "1"}}, {"metadata": {"generation": 9}}, {"kind": "Other"},
                      {"apiVersion": "v9"}, {"metadata": {"labels": None}}, {"metadata": None}, {"status": None}, {"spec": None}, {"unknown": 1}):
            for kind in (MERGE, STRATEGIC):
                ask(f"{kind[12:17]} of {json.dumps(patch)}", "PATCH", one + "?dryRun=All", patch, kind)
        ask("a patch in JSON that does nothing", "PATCH", one + "?dryRun=All", [{"op": "test", "path": "/metadata/name", "value": stored[0]["metadata"]["name"]}], JSON_PATCH)
        ask("a patch in JSON of a label", "PATCH", one + "?dryRun=All", [{"op": "add", "path": "/metadata/annotations", "value": {"a": "b"}}], JSON_PATCH)
        ask("what stands after all this", "GET", one)

    def status(self, one):
        """A write of the status changes the status, and of the rest what upstream lets it."""
        ask, kind, stored = self.both.ask, self.kind, self.stored(one)
        ask("status is read", "GET", one + "/status")
        mutator = cases.Mutator(kind, "verbs")
        schema = kind.schema_at(("status",))
        statuses = [mutator.synthetic(schema, "status") for _ in range(6)] + [{}, None]

        def sends(change):
            def body(place):
                copied = copy.deepcopy(stored[place])
                copied["metadata"].pop("managedFields", None)
                change(copied)
                return copied
            return body

        def all_metadata(body):
            body["metadata"].update(labels={"verbs": "status"}, annotations={"verbs": "status"}, finalizers=["example.com/verbs"],
                                    ownerReferences=[{"apiVersion": "v1", "kind": "ConfigMap", "name": "none", "uid": "none"}], generation=77, generateName="verbs-")

        def other_spec(body):
            for key, value in kind.seeds[-1].items():
                if key not in ("apiVersion", "kind", "metadata"):
                    body[key] = value

        ask("the same status", "PUT", one + "/status?dryRun=All", sends(lambda body: None))
        ask("a status with other metadata", "PUT", one + "/status?dryRun=All", sends(all_metadata))
        ask("a status with another spec", "PUT", one + "/status?dryRun=All", sends(other_spec))
        ask("a status without a spec", "PUT", one + "/status?dryRun=All", sends(lambda body: body.pop("spec", None)))
        ask("a status without a version", "PUT", one + "/status?dryRun=All", sends(lambda body: body["metadata"].pop("resourceVersion")))
        ask("a status of an old version", "PUT", one + "/status?dryRun=All", sends(lambda body: body["metadata"].update(resourceVersion="1")))
        ask("a status of nobody", "PUT", one + "x/status?dryRun=All", sends(lambda body: body["metadata"].update(name=body["metadata"]["name"] + "x")))
        for status in statuses:
            ask("a status", "PUT", one + "/status?dryRun=All", sends(lambda body: body.update(status=status)))
            for patch_type in (MERGE, STRATEGIC):
                ask("a patch of the status", "PATCH", one + "/status?dryRun=All", {"status": status, "metadata": {"labels": {"verbs": "patched"}, "finalizers": ["example.com/verbs"]}}, patch_type)
            applied = {"apiVersion": kind.version, "kind": kind.kind, "metadata": {"name": stored[0]["metadata"]["name"], "labels": {"verbs": "applied"}}, "status": status}
            ask("an apply of the status", "PATCH", one + "/status?dryRun=All&fieldManager=verbs&force=true", applied, APPLY)
        ask("a status is deleted", "DELETE", one + "/status")
        ask("a status is posted", "POST", one + "/status", sends(lambda body: None))
        ask("a status that stays", "PUT", one + "/status", sends(all_metadata))
        ask("what a status leaves", "GET", one)
        ask("finalizers are taken back", "PATCH", one, {"metadata": {"finalizers": None, "ownerReferences": None}}, MERGE)

    def scale(self, one):
        ask = self.both.ask
        ask("scale is read", "GET", one + "/scale")
        now = self.stored(one + "/scale")

        def sends(**spec):
            return lambda place: {**now[place], "metadata": {k: v for k, v in now[place]["metadata"].items() if k != "managedFields"}, "spec": spec}

        for replicas in (0, 3, -1, "x", None):
            ask(f"scale to {replicas}", "PUT", one + "/scale?dryRun=All", sends(replicas=replicas))
            ask(f"scale patched to {replicas}", "PATCH", one + "/scale?dryRun=All", {"spec": {"replicas": replicas}}, MERGE)
        ask("scale without a spec", "PUT", one + "/scale?dryRun=All", lambda place: {k: v for k, v in now[place].items() if k != "spec"})
        ask("scale of an old version", "PUT", one + "/scale?dryRun=All", lambda place: {**now[place], "metadata": {**now[place]["metadata"], "resourceVersion": "1"}})
        ask("scale of another kind", "PUT", one + "/scale?dryRun=All", lambda place: {**now[place], "kind": "Other"})
        ask("scale of nobody", "GET", one + "x/scale")
        ask("scale of nobody is patched", "PATCH", one + "x/scale", {"spec": {"replicas": 1}}, MERGE)
        ask("scale is deleted", "DELETE", one + "/scale")
        ask("scale for real", "PATCH", one + "/scale", {"spec": {"replicas": 2}}, MERGE)
        ask("what a scale leaves", "GET", one)

    def subresource(self, one, name):
        """Whatever it is: each method with nothing, with the object as it is stored, in a dry run."""
        ask, stored = self.both.ask, self.stored(one)
        bodies = [("nothing", lambda place: {}), ("the object", lambda place: {**stored[place], "metadata": {k: v for k, v in stored[place]["metadata"].items() if k != "managedFields"}})]
        kind = self.facts[f"{self.kind.resource}/{name}"]
        version = "/".join(filter(None, (kind.get("group"), kind.get("version")))) or self.kind.version
        bodies.append(("an empty one of its kind", lambda place: {"apiVersion": version, "kind": kind["kind"], "metadata": {"name": stored[place]["metadata"]["name"]}}))
        ask(f"{name} is read", "GET", f"{one}/{name}")
        for label, body in bodies:
            for method, content_type in (("PUT", "application/json"), ("POST", "application/json"), ("PATCH", MERGE), ("PATCH", STRATEGIC)):
                ask(f"{method} of {label} to {name}", method, f"{one}/{name}?dryRun=All", body, content_type)
            ask(f"POST of {label} to {name} of nobody", "POST", f"{one}x/{name}?dryRun=All", body)
        ask(f"apply to {name}", "PATCH", f"{one}/{name}?dryRun=All&fieldManager=verbs&force=true", lambda place: {"apiVersion": self.kind.version, "kind": self.kind.kind, "metadata": {"name": stored[place]["metadata"]["name"]}}, APPLY)
        ask(f"{name} is deleted", "DELETE", f"{one}/{name}?dryRun=All")

    def deletes(self, one):
        for query, body in DELETES:
            self.both.ask(f"delete {query} {json.dumps(body) if body else ''}", "DELETE", f"{one}?{query}" if query else one, body)
            self.both.ask(f"after delete {query} {json.dumps(body) if body else ''}", "GET", one)
        self.gone(one)

    def propagations(self):
        ask = self.both.ask
        for number, (query, body) in enumerate(PROPAGATIONS):
            label = f"{query}{json.dumps(body) if body else ''}"
            for held in (False, True):
                seed = self.seed(f"verbs-p{number}")
                if held:
                    seed["metadata"]["finalizers"] = ["example.com/verbs"]
                one = self.path(seed)
                made = ask(f"create to be deleted by {label}", "POST", self.collection, seed)
                if made[1].status != 201:
                    continue
                watched = self.kind.resource in WATCHED  # what stays of it is the server's own to finish
                ask(f"a delete by {label}{', held' if held else ''}", "DELETE", f"{one}?{query}", body)
                if not watched or held:
                    ask(f"after a delete by {label}{', held' if held else ''}", "GET", one)
                if held:
                    ask(f"a second delete by {label}, held", "DELETE", f"{one}?propagationPolicy=Background", None)
                    ask(f"an update of what is going by {label}", "PATCH", one, {"metadata": {"labels": {"verbs": "going"}}}, MERGE)
                    ask(f"one more finalizer of what is going by {label}", "PATCH", one, [{"op": "add", "path": "/metadata/finalizers/-", "value": "example.com/more"}], JSON_PATCH)
                    ask(f"no finalizers of what is going by {label}", "PATCH", one, {"metadata": {"finalizers": None}}, MERGE)
                    if not watched:
                        ask(f"what is gone by {label}", "GET", one)
                self.gone(one)

    def collections(self):
        ask = self.both.ask
        for query, body in COLLECTIONS:
            for label, names in (("one", ("verbs-c1", "verbs-c2")), ("two", ("verbs-c3",))):
                for name in names:
                    ask("create for a collection", "POST", self.collection, self.seed(name, label), compared=False)
            label = f"{query.replace('labelSelector=', '')} {json.dumps(body) if body else ''}"
            ask(f"deletecollection {label}", "DELETE", f"{self.collection}?{query}", body)
            if self.kind.resource not in WATCHED:
                ask(f"after deletecollection {label}", "GET", f"{self.collection}?labelSelector=verbs")
        for name in ("verbs-c1", "verbs-c2", "verbs-c3"):
            self.gone(self.path(self.seed(name)))


def tour(servers, only, excuses):
    kinds = [kind for kind in cases.read_kinds() if fnmatch.fnmatchcase(kind.name, only)]
    both, documents, facts = Sides(servers, excuses), {}, {}
    for server in servers:
        for name in (cases.NAMESPACE, cases.LIMITED_NAMESPACE):
            server.ask("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
            server.ask("POST", f"/api/v1/namespaces/{name}/serviceaccounts", {"metadata": {"name": "default"}})
        server.ask("POST", "/apis/node.k8s.io/v1/runtimeclasses", {"metadata": {"name": "a"}, "handler": "a"})
    for kind in kinds:
        kind.learn(servers[1], documents)
        if kind.version not in facts:
            found = servers[1].ask("GET", ("/api/" if "/" not in kind.version else "/apis/") + kind.version).body["resources"]
            facts[kind.version] = {one["name"]: one for one in found}
        began, before, wrong = time.monotonic(), both.passed, len(both.wrong)
        Tour(both, kind, facts[kind.version]).run()
        print(f"{kind.name}: {both.passed - before} answers alike, {len(both.wrong) - wrong} not, {time.monotonic() - began:.1f} s", flush=True)
    if only == "*":
        for number, row in enumerate(excuses.rows):
            if number not in excuses.used:
                print(f"support/verbs_differences.txt excuses what is no difference any more: {' | '.join(row)}")
                both.wrong.append(row)
    print(f"{both.passed} passed, {len(both.wrong)} failed")
    return 1 if both.wrong else 0


@contextlib.contextmanager
def own_reference():
    name = f"verbs-{os.getpid()}"
    testhost = str(ROOT / "tools/testhost/testhost")
    subprocess.run([testhost, "up", "--name", name, "--with", ""], check=True, stdout=subprocess.DEVNULL)
    try:
        said = subprocess.run([testhost, "env", "--name", name], check=True, capture_output=True, text=True).stdout
        yield re.search(r"^export KUBECONFIG=(.*)$", said, re.M).group(1)
    finally:
        subprocess.run([testhost, "down", "--name", name], check=True, stdout=subprocess.DEVNULL)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="*")
    parser.add_argument("kubeconfigs", nargs="*")
    arguments = parser.parse_args()
    runner = sides.api_runner()
    with contextlib.ExitStack() as stack:
        files = arguments.kubeconfigs
        if not files:
            files = [stack.enter_context(runner.OwnServer("--controllers", "none")), stack.enter_context(own_reference())]
        elif len(files) == 1:
            files = [stack.enter_context(runner.OwnServer("--controllers", "none")), *files]
        servers = [sides.Server("subletd", files[0], runner), sides.Server("the reference", files[1], runner)]
        return tour(servers, arguments.only, Excuses(HERE / "support/verbs_differences.txt"))


if __name__ == "__main__":
    sys.exit(main())
