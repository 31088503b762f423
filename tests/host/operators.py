#!/usr/bin/env python3
# host: none, 60 s
"""Real managers of custom resources, unmodified, against `subletd apiserver`: JobSet, LeaderWorkerSet and Kueue.

    tests/host/operators.py [--verbose]                     jobset and lws, as make test-host has it
    tests/host/operators.py jobset|lws|kueue ... [--verbose]

Each is installed as its module's config/default has it (kubectl kustomize), but for the Deployment: its program, built from the
module (tools/testhost), runs here in the place of the pod, behind the same Service, with its webhooks on: LeaderWorkerSet and Kueue make
their certificates by themselves, JobSet is given some, as cert-manager would. A sample is then defaulted, refused, reconciled, scaled
and finished; nobody but this script plays the kubelet. Kueue's API server for pending workloads is left out: it serves on a port and in
a folder of this machine that nothing can change. Needs an address of this machine that is not loopback; Go, or built programs.
"""

import argparse
import base64
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
LOADER = importlib.machinery.SourceFileLoader("api_run", str(ROOT / "tests/api/run"))
SPEC = importlib.util.spec_from_loader("api_run", LOADER)
sys.dont_write_bytecode = True
api = importlib.util.module_from_spec(SPEC)
LOADER.exec_module(api)

WAIT = 90
DEFAULT = ("jobset", "lws")  # Kueue's program takes minutes to build
MODULES = {"jobset": "sigs.k8s.io/jobset@v0.10.1", "lws": "sigs.k8s.io/lws@v0.7.0", "kueue": "sigs.k8s.io/kueue@v0.15.0"}


class Failure(Exception):
    pass


def own_address():
    """An address of this machine that others could have, too: Services' endpoints may not be loopback."""
    probe = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        probe.connect(("198.51.100.1", 9))  # sends nothing
        return probe.getsockname()[0]
    except OSError:
        return subprocess.run(["hostname", "-I"], capture_output=True, text=True, check=True).stdout.split()[0]
    finally:
        probe.close()


def free_port():
    with socket.socket() as probe:
        probe.bind(("", 0))
        return probe.getsockname()[1]


def run(command, **options):
    made = subprocess.run(command, capture_output=True, text=True, **options)
    if made.returncode != 0:
        raise Failure(f"{' '.join(map(str, command[:3]))}: {made.stderr or made.stdout}")
    return made.stdout


class World:
    """An API server with one manager beside it."""

    def __init__(self, name, verbose):
        self.name, self.verbose, self.checks = name, verbose, 0
        self.space = f"{name}-system"
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix=f"sublet-{name}-"))
        self.processes = []
        self.address, self.port = own_address(), free_port()
        self.kubectl = os.environ.get("KUBECTL") or run([ROOT / "tools/kubectl-path"]).strip()

    def say(self, text):
        self.checks += 1
        if self.verbose:
            print(f"  {self.name}: {text}", flush=True)

    def start(self, name, command, **options):
        log = open(self.folder / f"{name}.log", "wb")
        process = subprocess.Popen([str(word) for word in command], stdout=log, stderr=log, **options)
        self.processes.append(process)
        return process

    def __enter__(self):
        self.kubeconfig = str(self.folder / "kubeconfig")
        server = self.start("server", ["subletd", "apiserver", "--data", self.folder / "data", "--listen", "127.0.0.1:0", "--admin-kubeconfig",
                                       self.kubeconfig, "--outbound-allow", f"{self.address}/32"])  # fmt: skip
        self.until("the API server", lambda: os.path.exists(self.kubeconfig), server)
        self.side = api.Side("ours", self.kubeconfig)
        return self

    def __exit__(self, kind, *_):
        if kind:
            for log in ("server", "manager"):
                path = self.folder / f"{log}.log"
                if path.exists():
                    print(f"--- {log}.log ends with:\n" + "\n".join(path.read_text(errors="replace").splitlines()[-15:]))
        for process in reversed(self.processes):
            process.send_signal(signal.SIGTERM)
            process.wait()
        subprocess.run(["rm", "-rf", str(self.folder)], check=False)

    def until(self, what, holds, process=None):
        end = time.monotonic() + WAIT
        while True:
            value = holds()
            if value:
                return value
            if process and process.poll() is not None:
                raise Failure(f"{self.name}: {what}: the process ended")
            if time.monotonic() > end:
                raise Failure(f"{self.name}: {what} did not come in {WAIT} s")
            time.sleep(0.05)  # between two looks at a condition

    def ask(self, method, path, body=None, content="application/json"):
        step = api.Step("", 0)
        step.method, step.path = method, path
        step.headers = [("Content-Type", content)] if body is not None else []
        step.body = "@saved body" if body is not None else ""
        return api.ask(self.side, step, {"body": json.dumps(body).encode()}, None)

    def get(self, path):
        answer = self.ask("GET", path)
        return answer.body if answer.status == 200 else None

    def items(self, path):
        return (self.get(path) or {}).get("items", [])

    def kube(self, *arguments, stdin=None):
        return run([self.kubectl, "--kubeconfig", self.kubeconfig, "--cache-dir", str(self.folder / "cache"), *arguments], input=stdin)

    # --- installing ---

    def install(self, change):
        """config/default of the module but its Deployment; `change` may alter what is applied."""
        listed = run(["go", "mod", "download", "-json", MODULES[self.name]], cwd="/", env=dict(os.environ, GOFLAGS="-mod=mod"))
        module = json.loads(listed)["Dir"]
        rendered = run([self.kubectl, "kustomize", f"{module}/config/default"])
        documents = [d for d in re.split(r"^---$", rendered, flags=re.M) if not re.search(r"^kind: Deployment$", d, re.M)]
        self.kube("apply", "--server-side", "-f", "-", stdin="---".join(change(documents)))
        self.slice("webhook-service", self.port)

    def slice(self, service, port):
        """What the endpoints controller would make of the manager's pod."""
        made = self.ask("POST", f"/apis/discovery.k8s.io/v1/namespaces/{self.space}/endpointslices", {
            "metadata": {"name": f"{self.name}-here", "labels": {"kubernetes.io/service-name": f"{self.name}-{service}"}},
            "addressType": "IPv4", "ports": [{"port": port, "protocol": "TCP"}],
            "endpoints": [{"addresses": [self.address], "conditions": {"ready": True}}]})  # fmt: skip
        if made.status != 201:
            raise Failure(f"no EndpointSlice: {made.body}")

    def manager(self, configuration):
        program = run([ROOT / "tools/testhost/testhost", "build", self.name]).splitlines()[-1]
        path = self.folder / "manager.yaml"
        path.write_text(configuration)
        self.process = self.start("manager", [program, "--config", path], env=dict(os.environ, KUBECONFIG=self.kubeconfig))

    def webhooks_answer(self, sample):
        """Until the manager's webhooks take `sample` (a dry run); then it is created."""
        path, body = sample
        self.until("the webhooks", lambda: self.ask("POST", path + "?dryRun=All", body).status == 201, self.process)
        made = self.ask("POST", path, body)
        if made.status != 201:
            raise Failure(f"{self.name}: {made.body}")
        self.say("the sample is created")
        return made.body

    # --- the kubelet's part ---

    def pods(self, labels):
        return self.items(f"/api/v1/namespaces/default/pods?labelSelector={labels}")

    def pod_status(self, pod, phase):
        ready = "True" if phase == "Running" else "False"
        state = {"running": {"startedAt": "2026-01-01T00:00:00Z"}} if phase == "Running" else {"terminated": {"exitCode": 0}}
        status = {"phase": phase, "conditions": [{"type": kind, "status": ready} for kind in ("Ready", "ContainersReady")],
                  "containerStatuses": [{"name": c["name"], "image": c["image"], "imageID": "", "ready": phase == "Running", "restartCount": 0,
                                         "state": state} for c in pod["spec"]["containers"]]}  # fmt: skip
        name = pod["metadata"]["name"]
        answer = self.ask("PATCH", f"/api/v1/namespaces/default/pods/{name}/status", {"status": status}, "application/merge-patch+json")
        if answer.status != 200:
            raise Failure(f"{name}/status: {answer.body}")

    def play(self, labels, phase):
        for pod in self.pods(labels):
            if pod.get("status", {}).get("phase") in (None, "Pending") and not pod["metadata"].get("deletionTimestamp"):
                self.pod_status(pod, phase)

    # --- looking ---

    def expect(self, what, holds):
        self.until(what, holds, self.process)
        self.say(what)

    def refused(self, what, method, path, body, text, content="application/json"):
        answer = self.ask(method, path, body, content)
        if answer.status < 400 or text not in answer.body.get("message", ""):
            raise Failure(f"{self.name}: {what}: wanted a refusal with {text!r}, got {answer.status} {answer.body}")
        self.say(what)

    def condition(self, path, kind):
        for condition in ((self.get(path) or {}).get("status") or {}).get("conditions", []):
            if condition["type"] == kind and condition["status"] == "True":
                return condition
        return None


def certificate(world, name):
    """A self-signed certificate of a Service, as files of its folder and as a caBundle."""
    folder = world.folder / "certificates"
    folder.mkdir()
    run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", f"/CN={name}",
         "-addext", f"subjectAltName=DNS:{name}", "-keyout", folder / "tls.key", "-out", folder / "tls.crt"])  # fmt: skip
    return folder, base64.b64encode((folder / "tls.crt").read_bytes()).decode()


def mounted_certificates(world, folder):
    """Those that the manager makes, as a pod's mount shows them."""
    secret = f"/api/v1/namespaces/{world.space}/secrets/{world.name}-webhook-server-cert"
    data = world.until("the certificates that it makes", lambda: ((world.get(secret) or {}).get("data") or {}), world.process)
    for name in ("ca.crt", "tls.key", "tls.crt"):
        (folder / (name + ".new")).write_bytes(base64.b64decode(data[name]))
        (folder / (name + ".new")).rename(folder / name)


def configuration(world, certificates, internal, version="v1alpha1"):
    return f"""apiVersion: config.{world.name}.x-k8s.io/{version}
kind: Configuration
leaderElection: {{leaderElect: true, resourceNamespace: {world.space}}}
internalCertManagement: {{enable: {internal}}}
webhook: {{port: {world.port}, certDir: {certificates}}}
metrics: {{bindAddress: "0"}}
health: {{healthProbeBindAddress: "0"}}
"""


def container(name):
    return {"name": name, "image": "registry.example/none:1"}


def jobset(world):
    folder, bundle = certificate(world, "jobset-webhook-service.jobset-system.svc")

    def inject(documents):
        return [re.sub(r"^(  clientConfig:)$", rf"\1\n    caBundle: {bundle}", d, flags=re.M) for d in documents]

    world.install(inject)
    world.manager(configuration(world, folder, "false"))
    path = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets"

    def job(name, replicas):
        pod = {"spec": {"restartPolicy": "Never", "containers": [container("main")]}}
        return {"name": name, "replicas": replicas, "template": {"spec": {"parallelism": 1, "completions": 1, "template": pod}}}

    sample = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "train"},
              "spec": {"replicatedJobs": [job("driver", 1), job("worker", 2)]}}  # fmt: skip
    made = world.webhooks_answer((path, sample))
    if made["spec"].get("successPolicy", {}).get("operator") != "All" or made["spec"]["replicatedJobs"][0]["template"]["spec"].get("completionMode") != "Indexed":
        raise Failure(f"jobset: the webhook has set no defaults: {made['spec']}")
    world.say("its webhook sets defaults")
    unclear = {"apiVersion": sample["apiVersion"], "kind": "JobSet", "metadata": {"name": "x" * 62}, "spec": sample["spec"]}
    world.refused("its webhook refuses a name that is too long", "POST", path, unclear, 'admission webhook "vjobset.kb.io" denied the request')
    change = {"spec": {"replicatedJobs": [job("other", 1)]}}
    world.refused("its webhook refuses a change of what may not", "PATCH", path + "/train", change, 'admission webhook "vjobset.kb.io" denied the request',
                  "application/merge-patch+json")  # fmt: skip
    jobs, mine = "/apis/batch/v1/namespaces/default/jobs", "jobset.sigs.k8s.io%2Fjobset-name%3Dtrain"
    world.expect("three Jobs", lambda: sorted(j["metadata"]["name"] for j in world.items(jobs)) == ["train-driver-0", "train-worker-0", "train-worker-1"])
    world.expect("a headless Service", lambda: (world.get("/api/v1/namespaces/default/services/train") or {}).get("spec", {}).get("clusterIP") == "None")
    world.expect("three pods", lambda: len(world.pods(mine)) == 3)

    def driven():
        world.play(mine, "Succeeded")
        return world.condition(path + "/train", "Completed")

    world.expect("the JobSet is completed when its pods are", driven)
    if world.get(path + "/train")["status"].get("terminalState") != "Completed":
        raise Failure("jobset: no terminalState")
    columns = world.kube("get", "jobsets")
    if not re.search(r"NAME\s+TERMINALSTATE\s+RESTARTS\s+COMPLETED\s+SUSPENDED\s+AGE\ntrain\s+Completed\s+\S*\s*True", columns):
        raise Failure(f"jobset: kubectl get shows {columns}")
    world.say("columns")
    world.kube("delete", "jobset", "train", "--wait")
    world.expect("its Jobs go with it", lambda: not world.items(jobs))


def lws(world):
    folder = world.folder / "certificates"
    folder.mkdir()
    world.install(lambda documents: documents)
    world.manager(configuration(world, folder, "true"))
    mounted_certificates(world, folder)
    path = "/apis/leaderworkerset.x-k8s.io/v1/namespaces/default/leaderworkersets"
    template = {"size": 2, "workerTemplate": {"spec": {"containers": [container("nginx")]}}}
    sample = {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "metadata": {"name": "serve"},
              "spec": {"replicas": 2, "leaderWorkerTemplate": template}}  # fmt: skip
    made = world.webhooks_answer((path, sample))
    if made["spec"].get("networkConfig", {}).get("subdomainPolicy") != "Shared":
        raise Failure(f"lws: the webhook has set no defaults: {made['spec']}")
    world.say("its webhook sets defaults")
    rollout = {"type": "RollingUpdate", "rollingUpdateConfiguration": {"maxUnavailable": 0, "maxSurge": 0}}
    wrong = {**sample, "metadata": {"name": "wrong"}, "spec": {**sample["spec"], "rolloutStrategy": rollout}}
    world.refused("its webhook refuses a rollout that cannot go on", "POST", path, wrong, 'admission webhook "vleaderworkerset.kb.io" denied the request')
    sets, mine = "/apis/apps/v1/namespaces/default/statefulsets", "leaderworkerset.sigs.k8s.io%2Fname%3Dserve"

    def names(path):
        return sorted(item["metadata"]["name"] for item in world.items(path))

    def ready(pods):
        def look():
            world.play(mine, "Running")
            return sorted(p["metadata"]["name"] for p in world.pods(mine)) == pods
        return look

    world.expect("the leaders' StatefulSet", lambda: "serve" in names(sets))
    world.expect("leaders, and their workers", ready(["serve-0", "serve-0-1", "serve-1", "serve-1-1"]))
    leader = next(p for p in world.pods(mine) if p["metadata"]["name"] == "serve-0")
    if leader["metadata"]["labels"].get("leaderworkerset.sigs.k8s.io/worker-index") != "0" or not leader["metadata"]["labels"].get("leaderworkerset.sigs.k8s.io/group-key"):
        raise Failure(f"lws: the pod's webhook has set no labels: {leader['metadata']['labels']}")
    world.say("pods are mutated by its webhook")
    world.expect("the set is available when its pods are ready", lambda: ready([])() or world.condition(path + "/serve", "Available"))
    world.kube("scale", "leaderworkersets/serve", "--replicas=1")
    world.expect("scaled down by kubectl scale", lambda: sorted(p["metadata"]["name"] for p in world.pods(mine)) == ["serve-0", "serve-0-1"])
    world.expect("its status follows", lambda: world.get(path + "/serve")["status"].get("replicas") == 1)
    world.kube("delete", "leaderworkerset", "serve", "--wait")
    world.expect("its StatefulSets go with it", lambda: not names(sets))


def kueue(world):
    folder = world.folder / "certificates"
    folder.mkdir()
    world.install(lambda documents: [d for d in documents if not re.search(r"^kind: APIService$", d, re.M)])
    world.manager(configuration(world, folder, "true", "v1beta2") + f"namespace: {world.space}\nintegrations: {{frameworks: [batch/job]}}\n"
                  "featureGates: {VisibilityOnDemand: false}\n")  # fmt: skip
    mounted_certificates(world, folder)
    base, jobs = "/apis/kueue.x-k8s.io/v1beta2", "/apis/batch/v1/namespaces/default/jobs"
    workloads, local = base + "/namespaces/default/workloads", base + "/namespaces/default/localqueues"

    def queue(name, **of_resource):
        flavor = {"name": "batch", "resources": [{"name": "cpu", "nominalQuota": "2", **of_resource}]}
        return {"metadata": {"name": name}, "spec": {"namespaceSelector": {}, "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [flavor]}]}}

    def made(path, body):
        answer = world.ask("POST", path, body)
        if answer.status != 201:
            raise Failure(f"kueue: {path}: {answer.body}")
        return answer.body

    def job(name):
        work = {**container("main"), "resources": {"requests": {"cpu": "1"}}}
        return made(jobs, {"metadata": {"name": name, "labels": {"kueue.x-k8s.io/queue-name": "user"}},
                           "spec": {"parallelism": 2, "completions": 2, "template": {"spec": {"restartPolicy": "Never", "containers": [work]}}}})  # fmt: skip

    def condition_of(name, kind):
        for one in world.items(workloads):
            if one["metadata"]["ownerReferences"][0]["name"] == name:
                return next((c["status"] for c in one.get("status", {}).get("conditions", []) if c["type"] == kind), None)
        return None

    flavor = {"metadata": {"name": "batch"}, "spec": {"nodeLabels": {"pool": "batch"}}}
    if world.webhooks_answer((base + "/resourceflavors", flavor))["metadata"].get("finalizers") != ["kueue.x-k8s.io/resource-in-use"]:
        raise Failure("kueue: the webhook has set no finalizer")
    world.say("its webhook sets a finalizer")
    whole = queue("team")
    whole["spec"]["cohortName"] = "all"
    made(base + "/clusterqueues", whole)
    other = world.get("/apis/kueue.x-k8s.io/v1beta1/clusterqueues/team")
    if not other or other["spec"].get("cohort") != "all" or "cohortName" in other["spec"]:
        raise Failure(f"kueue: the ClusterQueue in its other version is {other}")
    world.say("its conversion webhook says a ClusterQueue in another version")
    lending = queue("lending", lendingLimit="3")
    lending["spec"]["cohort"] = "all"
    world.refused("its webhook, which is of the newer version, refuses what is sent in the older one", "POST", "/apis/kueue.x-k8s.io/v1beta1/clusterqueues",
                  lending, 'admission webhook "vclusterqueue.kb.io" denied the request: spec.resourceGroups[0].flavors[0].resources[0].lendingLimit')  # fmt: skip
    made(local, {"metadata": {"name": "user"}, "spec": {"clusterQueue": "team"}})
    world.expect("the ClusterQueue is active", lambda: world.condition(base + "/clusterqueues/team", "Active"))
    if job("first")["spec"].get("suspend") is not True:
        raise Failure("kueue: the webhook has not suspended the Job")
    world.say("its webhook suspends a Job")
    world.expect("the Job is admitted, and goes on", lambda: condition_of("first", "Admitted") == "True" and world.get(jobs + "/first")["spec"]["suspend"] is False)
    world.expect("its pods come", lambda: len(world.pods("job-name%3Dfirst")) == 2)
    if any(pod["spec"].get("nodeSelector") != {"pool": "batch"} for pod in world.pods("job-name%3Dfirst")):
        raise Failure("kueue: the pods have not the flavor's node labels")
    world.say("on the flavor's nodes")
    job("second")
    world.expect("a second Job waits for quota", lambda: condition_of("second", "QuotaReserved") == "False")
    world.expect("the LocalQueue counts both", lambda: [world.get(local + "/user").get("status", {}).get(k) for k in ("pendingWorkloads", "admittedWorkloads")] == [1, 1])
    if world.pods("job-name%3Dsecond") or not re.search(r"^user\s+team\s+1\s+1$", world.kube("get", "localqueues", "--no-headers").strip()):
        raise Failure(f"kueue: {world.kube('get', 'localqueues,pods')}")
    world.say("columns, and no pod of the second")
    world.refused("its webhook lets no running Job go to another queue", "PATCH", jobs + "/first", {"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "x"}}},
                  'admission webhook "vjob.kb.io" denied the request: metadata.labels[kueue.x-k8s.io/queue-name]', "application/merge-patch+json")  # fmt: skip

    def finished(name):
        def look():
            world.play(f"job-name%3D{name}", "Succeeded")
            return condition_of(name, "Finished") == "True"
        return look

    world.expect("the first Job's end is its Workload's", finished("first"))
    world.expect("then the second is admitted", lambda: condition_of("second", "Admitted") == "True")
    world.expect("and ends, too", finished("second"))
    world.kube("delete", "jobs", "first", "second", "--wait")
    world.expect("their Workloads go with them", lambda: not world.items(workloads))
    world.kube("delete", "localqueue/user", "clusterqueue/team", "resourceflavor/batch", "--wait", "--timeout=60s")
    world.say("what is in use no more is let go")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="jobset|lws|kueue")
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    wanted = arguments.names or DEFAULT
    if not set(wanted) <= set(MODULES):
        parser.error(f"there are: {', '.join(MODULES)}")
    passed = failed = 0
    for tour in (jobset, lws, kueue):
        name = tour.__name__
        if name not in wanted:
            continue
        begin = time.monotonic()
        try:
            with World(name, arguments.verbose) as world:
                tour(world)
            passed += 1
            print(f"{MODULES[name]}: {world.checks} things seen in {time.monotonic() - begin:.1f} s", flush=True)
        except (Failure, api.ScriptError, OSError) as error:
            failed += 1
            print(f"FAILED {name}: {error}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
