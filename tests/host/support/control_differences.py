#!/usr/bin/env python3
"""control_differences.py A B: how the ends of two control_story.sh differ.

Every object becomes one line of JSON without what is the server's or the moment's (uids, versions, times, addresses, random
parts of names, keys); lines of one side only are printed.
"""
import collections
import json
import re
import sys

RANDOM = r"[bcdfghjklmnpqrstvwxz2456789]"
SERVERS = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "deletionTimestamp", "selfLink")
# What may differ, and why.
LEFT_OUT = {
    # Upstream hashes a dump of Go's structures: docs/decisions/controllers-runtime.md
    "pod-template-hash", "controller-revision-hash",
}
# A list of an EndpointSlice that is empty is null in upstream's JSON, after a round through protobuf.
NULL_LISTS = ("endpoints", "ports")


def plain_text(text):
    text = re.sub(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "UID", text)
    text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "TIME", text)
    text = re.sub(r"\b10\.96\.\d+\.\d+\b|\b10\.(?:0|9[0-9]|1[01][0-9])\.\d+\.\d+\b(?<!10\.9\.9\.11)", "IP", text)
    text = re.sub(rf"\b([a-z][a-z0-9-]*?)-{RANDOM}{{8,10}}-{RANDOM}{{5}}\b", r"\1-SET-POD", text)
    text = re.sub(rf"\b([a-z][a-z0-9-]*?)-{RANDOM}{{8,10}}\b", r"\1-SET", text)
    text = re.sub(r"\b([A-Z][A-Za-z]+)\d+(?=\W)", r"\1", text)  # a type that upstream names anew each time: Deployment123.spec
    return re.sub(rf"\b([a-z][a-z0-9-]*?)-{RANDOM}{{5}}\b", r"\1-POD", text)


def plain(value, key=""):
    if value is None and key in NULL_LISTS:
        return []
    if isinstance(value, dict):
        return {plain_text(k): plain(v, k) for k, v in value.items() if k not in SERVERS and k not in LEFT_OUT}
    if isinstance(value, list):
        items = [plain(v) for v in value]
        return sorted(items, key=lambda v: json.dumps(v, sort_keys=True)) if key in ("conditions", "endpoints", "secrets") else items
    if isinstance(value, str):
        if key in ("ca.crt", "token", "namespace", "client-ca-file") and len(value) > 20:
            return "DATA"
        if key.endswith("Time") or key.endswith("Timestamp") or key == "time":
            return "TIME"
        if key == "clusterIP" or key.endswith("trigger-time"):
            return "IP"
        return plain_text(value)
    return value


def line_of(item):
    kind, metadata = item["kind"], item["metadata"]
    if kind == "Event":
        about = item["involvedObject"]
        who = item.get("source", {}).get("component") or item.get("reportingComponent") or ""
        if "scheduler" in who or "kwok" in who or "kubelet" in who:
            return None
        return [kind, about["kind"], plain_text(about["name"]), who, item["type"], item["reason"],
                plain_text(item.get("message", ""))]
    shown = plain(item)
    shown["metadata"].get("annotations", {}).pop("kubectl.kubernetes.io/last-applied-configuration", None)
    if kind == "Pod":  # what becomes of it; what is asked for comes from its template
        shown["spec"] = {k: shown["spec"].get(k) for k in ("hostname", "subdomain", "nodeName")}
    return [kind, plain_text(metadata["name"]), shown]


def lines(base):
    counted = collections.Counter()
    for part in ("namespaced", "volumes", "cluster", "policies"):
        with open(f"{base}.{part}", encoding="utf-8") as file:
            for item in json.load(file)["items"]:
                line = line_of(item)
                if line is None:
                    continue
                text = json.dumps(line, sort_keys=True)
                counted[text] = 1 if item["kind"] == "Event" else counted[text] + 1
    return counted


def main():
    left, right = lines(sys.argv[1]), lines(sys.argv[2])
    for base in sys.argv[1:3]:
        with open(f"{base}.errors", encoding="utf-8") as file:
            for text in file:
                if text.startswith("story:"):
                    print(f"{base}: {text.strip()}")
    for line in sorted((left - right) + (right - left), key=lambda text: json.loads(text)[:3].__repr__()):
        print("only in " + (sys.argv[1] if left[line] > right[line] else sys.argv[2]) + ": " + line)
    print(f"{sum((left & right).values())} lines are the same")
    return 1 if left != right or not left else 0


if __name__ == "__main__":
    sys.exit(main())
