#!/usr/bin/env python3
"""workloads_differences.py A B: how the ends of two workloads_story.sh differ.

Each object and event becomes a line without times, versions and random parts of names; lines of one side only are
printed. Hashes in names are replaced by the image of the template that they stand for.
"""
import collections
import json
import re
import sys

# Who schedules and runs pods differs between the two sides; what is compared are the controllers.
OTHERS = re.compile(r"kubelet|kwok|scheduler")
RANDOM = r"[bcdfghjklmnpqrstvwxz2456789]"


def image(spec):
    return spec["template"]["spec"]["containers"][0]["image"]


def hashes(items):
    found = {}
    for item in items:
        name = item["metadata"]["name"]
        if item["kind"] == "ReplicaSet" and "pod-template-hash" in item["metadata"].get("labels", {}):
            found[item["metadata"]["labels"]["pod-template-hash"]] = "SET-" + image(item["spec"])
        if item["kind"] == "ControllerRevision":
            found[name.rsplit("-", 1)[1]] = "REVISION-" + image(item["data"]["spec"])
    return found


def lines(path):
    with open(path, encoding="utf-8") as file:
        items = json.load(file)["items"]
    known = hashes(items)

    def plain(text):
        for value, name in known.items():
            text = text.replace(value, name)
        text = re.sub(rf"(SET-\w)-{RANDOM}{{5}}\b", r"\1-POD", text)
        text = re.sub(rf"\b(agent|surge|absent|rc)-{RANDOM}{{5}}\b", r"\1-POD", text)
        return re.sub(rf"\b([a-z]+)-{RANDOM}{{6,10}}(-{RANDOM}{{5}})?\b", r"\1-GONE", text)  # of sets that are no more

    def owners(metadata):
        return [(o["kind"], plain(o["name"]), o.get("controller"), o.get("blockOwnerDeletion"))
                for o in metadata.get("ownerReferences", [])]

    def event(item):
        who = item.get("source", {}).get("component") or item.get("reportingComponent") or ""
        about = item["involvedObject"]
        return None if OTHERS.search(who) else [
            "Event", about["kind"], plain(about["name"]), who, item["type"], item["reason"], plain(item.get("message", ""))]

    def pod(item):
        spec = item["spec"]
        tolerations = sorted(t.get("key", "") + ":" + t.get("effect", "") for t in spec.get("tolerations", []))
        return [plain(item["metadata"].get("generateName", "")), spec["containers"][0]["image"], spec.get("hostname"),
                spec.get("subdomain"), tolerations]

    def workload(item):
        status = dict(item.get("status", {}))
        conditions = sorted([c["type"], c["status"], c.get("reason"), plain(c.get("message", ""))]
                            for c in status.pop("conditions", []))
        annotations = {key: plain(value) for key, value in item["metadata"].get("annotations", {}).items()
                       if "last-applied" not in key}
        return [item["metadata"].get("generation"), item.get("spec", {}).get("replicas"), item.get("revision"),
                annotations, plain(json.dumps(status, sort_keys=True)), conditions]

    counted = collections.Counter()
    for item in items:
        if item["kind"] == "Event":
            line = event(item)
        else:
            metadata = item["metadata"]
            # Pods bear the region of their node, and nodes of one side only have one.
            labels = {key: plain(value) for key, value in metadata.get("labels", {}).items() if not key.startswith("topology.kubernetes.io/")}
            line = [item["kind"], plain(metadata["name"]), labels, owners(metadata)]
            line += pod(item) if item["kind"] == "Pod" else workload(item)
        if line:
            text = json.dumps(line, sort_keys=True)
            # How often a refused pod is tried again before the story goes on is up to the machine.
            counted[text] = 1 if item["kind"] == "Event" and "FailedCreate" in text else counted[text] + 1
    return counted


def main():
    left, right = lines(sys.argv[1]), lines(sys.argv[2])
    for line in sorted((left - right) + (right - left)):
        print("only in " + (sys.argv[1] if left[line] > right[line] else sys.argv[2]) + ": " + line)
    print(f"{sum((left & right).values())} lines are the same")
    return 1 if left != right or not left else 0


if __name__ == "__main__":
    sys.exit(main())
