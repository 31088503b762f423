"""The steps of the matrix with `kr8s`."""
import urllib.request

import kr8s
import steps
from kr8s.objects import ConfigMap, Pod
from steps import NAME, NAMESPACE, POD, config_map, equal


def current():
    return ConfigMap.get(NAME, namespace=NAMESPACE)


def list_objects():
    equal("default in the namespaces", "default" in [item.name for item in kr8s.get("namespaces")], True)


def create_and_patch():
    try:
        current().delete()
    except kr8s.NotFoundError:
        pass
    created = ConfigMap({**config_map("one"), "metadata": {**config_map("one")["metadata"], "namespace": NAMESPACE}})
    created.create()
    created.patch({"data": {"k": "two"}})
    equal("a merge", current().raw["data"]["k"], "two")
    created.patch([{"op": "add", "path": "/data/j", "value": "three"}], type="json")
    equal("a JSON patch", current().raw["data"]["j"], "three")


def watch_objects():
    seen = []
    for event, found in kr8s.watch("configmaps", namespace=NAMESPACE, label_selector=f"client={NAME}"):
        seen.append((event, found.raw["data"]["k"]))
        if len(seen) == 2:
            break
        current().patch({"data": {"k": "watched"}})
    equal("the events", seen, [("ADDED", "two"), ("MODIFIED", "watched")])


def execute():
    done = Pod.get(POD, namespace=NAMESPACE).exec(steps.SCRIPT, check=False)
    equal("standard output", done.stdout, b"out\n")
    equal("standard error", done.stderr, b"err\n")
    equal("the exit code", done.returncode, 3)


def logs():
    lines = list(Pod.get(POD, namespace=NAMESPACE).logs(tail_lines=2))
    equal("the log", lines, steps.LINES)
    equal("the log that is followed", next(iter(Pod.get(POD, namespace=NAMESPACE).logs(follow=True, tail_lines=2))),
          "line-1")


def forward_port():
    with Pod.get(POD, namespace=NAMESPACE).portforward(remote_port=80, local_port="auto") as port:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/path", timeout=30) as answer:
            equal("the answer", b"GET /path" in answer.read(), True)


steps.run([(list_objects, False), (create_and_patch, False), (watch_objects, False), (execute, True), (logs, True),
           (forward_port, True)])
