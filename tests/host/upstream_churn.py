#!/usr/bin/env python3
# host: none, 40 s
"""Upstream's kube-controller-manager, kube-scheduler and KWOK under churn against `subletd apiserver`.

For CHURN_MINUTES (default 0.5) workloads of all kinds come, change and go; then everything is asked to end as it should.
What counts: no answer of 5xx, no watch that had to begin anew with a list, and no process that ended and was started
again. A relist is seen on both sides: clients that log each list-and-watch (-v=3), and the server, which counts LISTs and
watches by verb. SEED=... repeats a run; CHURN_LOGS=FOLDER keeps the logs. The long form: CHURN_MINUTES=20.
"""

import collections
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools/testhost"))
sys.dont_write_bytecode = True

import build  # noqa: E402
import stack  # noqa: E402

MINUTES = float(os.environ.get("CHURN_MINUTES", "0.5"))
SEED = int(os.environ.get("SEED") or time.time())
KUBECTL = os.environ.get("KUBECTL") or subprocess.run([ROOT / "tools/kubectl-path"], capture_output=True, text=True, check=True).stdout.strip()
NODES, NAMES = 3, 4
PATIENCE = 240
# As subletd starts it for `controllers: upstream`, but for nodes: here they are KWOK's, and somebody must look after them.
CONTROLLERS = "--controllers=*,-node-ipam-controller,-persistentvolume-attach-detach-controller,-serviceaccount-token-controller,-pod-garbage-collector-controller"
failed = []


def check(what: str, good: bool, detail: str = ""):
    print(f"{'ok' if good else 'FAILED'}: {what}{'' if good else ': ' + detail}", flush=True)
    if not good:
        failed.append(what)


class Stand:
    """`subletd apiserver` and upstream's programs beside it, each started once."""

    def __init__(self, folder: Path):
        self.folder, self.processes, self.ended = folder, {}, []
        self.kubeconfig = folder / "kubeconfig"
        self.start("subletd", "subletd", "apiserver", "--data", folder / "data", "--listen", "127.0.0.1:0", "--admin-kubeconfig",
                   self.kubeconfig, "--controllers", "upstream")
        self.until("the API server", self.kubeconfig.exists, 60)

    def start(self, name: str, *command):
        with open(self.folder / f"{name}.log", "wb") as log:
            self.processes[name] = subprocess.Popen([str(word) for word in command], stdout=log, stderr=log)

    def start_upstream(self):
        data, config = self.folder / "data", self.folder / "scheduler.json"
        same = [f"{flag}={self.kubeconfig}" for flag in ("--kubeconfig", "--authentication-kubeconfig", "--authorization-kubeconfig")]
        authority = next(data.rglob("ca.crt"))
        self.start("kube-controller-manager", build.build("kube-controller-manager"), *same, CONTROLLERS, f"--root-ca-file={authority}",
                   "--use-service-account-credentials=true", "--leader-elect=true", "--secure-port=0", "--kube-api-qps=500",
                   "--kube-api-burst=1000", "-v=3")
        config.write_text(json.dumps({
            "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", "leaderElection": {"leaderElect": False},
            "clientConnection": {"kubeconfig": str(self.kubeconfig), "qps": 1000, "burst": 2000}}))
        self.start("kube-scheduler", build.build("kube-scheduler"), f"--config={config}", "--secure-port=0", "-v=3")
        pin = build.pins()["component"]["kwok"]
        stages = build.module_dir(pin["module"], pin["version"]) / "kustomize" / "stage"
        files = [f for part in ("node/fast", "node/heartbeat-with-lease", "pod/fast") for f in sorted((stages / part).glob("*.yaml"))
                 if f.name != "kustomization.yaml"]
        self.start("kwok", build.build("kwok"), f"--kubeconfig={self.kubeconfig}", "--manage-all-nodes=false", "--node-lease-duration-seconds=40",
                   "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake", *(f"--config={f}" for f in files))

    def until(self, what: str, condition, seconds: float = PATIENCE):
        deadline = time.monotonic() + seconds
        while not condition():
            self.notice_ends()
            if self.ended or time.monotonic() > deadline:
                raise SystemExit(f"{what}: not within {seconds:.0f} s; ended: {self.ended or 'nobody'}; logs in {self.folder}")
            time.sleep(0.1)

    def notice_ends(self):
        self.ended = [f"{name} (code {p.returncode})" for name, p in self.processes.items() if p.poll() is not None]

    def kubectl(self, *words: str, stdin: str | None = None) -> subprocess.CompletedProcess:
        return subprocess.run([KUBECTL, "--kubeconfig", str(self.kubeconfig), "--request-timeout=60s", *words], input=stdin, capture_output=True, text=True)

    def items(self, kinds: str) -> list:
        answer = self.kubectl("get", kinds, "-A", "-o", "json")
        return json.loads(answer.stdout)["items"] if answer.returncode == 0 else []

    def metrics(self) -> dict:
        """apiserver_request_total by (verb, code)."""
        text = self.kubectl("get", "--raw", "/metrics").stdout
        found = re.findall(r'^apiserver_request_total\{([^}]*)\} (\d+)', text, re.M)
        counts = collections.Counter()
        for labels, count in found:
            named = dict(re.findall(r'(\w+)="([^"]*)"', labels))
            counts[named["verb"], named["code"]] += int(count)
        return counts

    def list_and_watches(self) -> collections.Counter:
        """How often each reflector of the clients began, by what it reflects."""
        begun = collections.Counter()
        for name in ("kube-controller-manager", "kube-scheduler"):
            for line in (self.folder / f"{name}.log").read_text(errors="replace").splitlines():
                if found := re.search(r'"Listing and watching" (.*)', line):
                    begun[name, found[1]] += 1
        return begun

    def stop(self):
        for process in reversed(self.processes.values()):
            process.terminate()
        for process in self.processes.values():
            process.wait(60)


def template(name: str, image: int, **spec) -> dict:
    return {"metadata": {"labels": {"app": name}},
            "spec": {"terminationGracePeriodSeconds": 0, "containers": [{"name": "c", "image": f"i:{image}"}], **spec}}


def workload(kind: str, name: str, replicas: int, image: int) -> dict:
    spec = {"selector": {"matchLabels": {"app": name}}, "template": template(name, image)}
    if kind != "DaemonSet":
        spec["replicas"] = replicas
    if kind == "StatefulSet":
        spec |= {"serviceName": name, "podManagementPolicy": "Parallel"}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def service(name: str) -> dict:
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": {"selector": {"app": name}, "ports": [{"port": 80}]}}


def job(name: str) -> dict:
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": {
        "completions": 4, "parallelism": 2, "completionMode": "Indexed", "template": template(name, 1, restartPolicy="Never")}}


KINDS = {"web": "Deployment", "db": "StatefulSet", "agent": "DaemonSet", "set": "ReplicaSet"}


def wish(dice: random.Random) -> list:
    """A few objects as people want them next."""
    stem = dice.choice(list(KINDS))
    name = f"{stem}-{dice.randrange(NAMES)}"
    made = [workload(KINDS[stem], name, dice.randrange(6), dice.randrange(4))]
    return made + [service(name)] if dice.random() < 0.5 else made


def apply(stand: Stand, objects: list, namespace: str = "default"):
    answer = stand.kubectl("-n", namespace, "apply", "--server-side", "--force-conflicts", "-f", "-",
                           stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    if answer.returncode:
        raise SystemExit(f"apply failed: {answer.stderr.strip()}")


def churn(stand: Stand, dice: random.Random) -> collections.Counter:
    did = collections.Counter()
    end = time.monotonic() + MINUTES * 60
    while time.monotonic() < end:
        stand.notice_ends()
        if stand.ended:
            raise SystemExit(f"ended: {stand.ended}; logs in {stand.folder}")
        way = dice.random()
        if way < 0.7:
            apply(stand, wish(dice))
            did["applied"] += 1
        elif way < 0.8:
            did["Jobs"] += 1
            apply(stand, [job(f"job-{did['Jobs']}")])
        elif way < 0.9:
            stem = dice.choice(list(KINDS))
            policy = dice.choice(["background", "foreground", "orphan"])
            stand.kubectl("delete", KINDS[stem].lower(), f"{stem}-{dice.randrange(NAMES)}", f"--cascade={policy}", "--wait=false", "--ignore-not-found")
            did["deleted"] += 1
        elif way < 0.95:
            stand.kubectl("delete", "jobs", "--field-selector=status.successful=4", "--wait=false")
            did["Jobs cleared"] += 1
        else:
            name = f"n{did['namespaces']}"
            stand.kubectl("create", "namespace", name)
            stand.kubectl("-n", name, "create", "configmap", "c")
            stand.kubectl("delete", "namespace", name, "--wait=false")
            did["namespaces"] += 1
    return did


def settled(stand: Stand, wanted: dict, jobs: int) -> bool:
    items = stand.items("deployments,statefulsets,daemonsets,replicasets,jobs,namespaces,pods")
    done = collections.Counter()
    for item in items:
        status, name = item.get("status", {}), item["metadata"]["name"]
        if item["kind"] == "Job":
            done["Job"] += status.get("succeeded") == 4
        elif (item["kind"], name) in wanted:
            size = wanted[item["kind"], name]
            ready = status.get("numberReady" if item["kind"] == "DaemonSet" else "readyReplicas", 0)
            done["workloads"] += ready == size and status.get("observedGeneration") == item["metadata"]["generation"]
        elif item["kind"] == "Namespace":
            done["terminating"] += item["status"]["phase"] == "Terminating"
        elif item["kind"] == "Pod":
            done["pending"] += item["status"]["phase"] == "Pending"
    have = sum(item["kind"] == "Job" for item in items)
    return bool(items) and done["Job"] == have and done["workloads"] == len(wanted) and not done["terminating"] and not done["pending"]


def main() -> int:
    print(f"seed {SEED}, {MINUTES:g} minutes", flush=True)
    dice = random.Random(SEED)
    kept = os.environ.get("CHURN_LOGS")
    with tempfile.TemporaryDirectory(prefix="sublet-churn-") as temporary:
        folder = Path(kept).resolve() if kept else Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        stand = Stand(folder)
        try:
            for index in range(NODES):
                made = stand.kubectl("create", "-f", "-", stdin=json.dumps(stack.node(index, 0)))
                if made.returncode:
                    raise SystemExit(made.stderr)
            stand.start_upstream()
            stand.until("nodes that take pods", lambda: sum(
                not node["spec"].get("taints") and any(c["type"] == "Ready" and c["status"] == "True" for c in node["status"].get("conditions", []))
                for node in stand.items("nodes")) == NODES)
            apply(stand, [workload("Deployment", "first", 2, 0), job("first-job")])
            stand.until("a first Deployment and Job", lambda: settled(stand, {("Deployment", "first"): 2}, 1))
            before, begun_before = stand.metrics(), stand.list_and_watches()
            did = churn(stand, dice)
            last = {(kind, f"{stem}-{i}"): NODES if kind == "DaemonSet" else 2 for stem, kind in KINDS.items() for i in range(NAMES)}
            for kind, name in last:  # what is still on its way out is waited for
                stand.until(f"{name} is not ending", lambda k=kind, n=name: "deletionTimestamp" not in stand.kubectl("get", k.lower(), n, "-o", "json").stdout)
                apply(stand, [workload(kind, name, 2, 9)])
            stand.until("all is as was asked for last", lambda: settled(stand, last | {("Deployment", "first"): 2}, did["Jobs"] + 1))
            after, begun = stand.metrics(), stand.list_and_watches()
            stand.notice_ends()
        finally:
            stand.stop()
        print("churn: " + ", ".join(f"{count} {what}" for what, count in did.items()))
        answered = {key: after[key] - before[key] for key in after if after[key] > before[key]}
        print("answers: " + ", ".join(f"{verb} {code}: {count}" for (verb, code), count in sorted(answered.items())))
        errors = {key: count for key, count in after.items() if key[1].startswith("5")}
        check(f"no 5xx among {sum(answered.values())} answers", not errors, str(errors))
        # Whoever begins to reflect a kind only now (a quota's controller, a new type) has begun once: that is no relist.
        again = {key: count for key, count in begun.items() if count > max(begun_before[key], 1)}
        check(f"none of {len(begun)} reflections began anew", len(begun) > 40 and not again, str(again) if again else f"only {len(begun)} are seen in the logs")
        gone = after["watch", "410"] + after["list", "410"] + after["WATCH", "410"] + after["LIST", "410"]
        check("no watch was told that its version is gone", gone == 0, str(gone))
        check("nobody ended", not stand.ended, str(stand.ended))
    print(f"{4 - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
