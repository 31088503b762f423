#!/usr/bin/env python3
# host: given, 100 s
"""The CustomResourceDefinitions of real operators, from their Go modules, beside a real kube-apiserver.

    tests/host/operator_types.py [HOST_KUBECONFIG]         jobset, lws and kueue, as make test-host has it
    tests/host/operator_types.py --all [HOST_KUBECONFIG]   all modules, and kubectl explain
    HOST_KUBECONFIG  the real server's, whose answers ours are compared with (default: of that name in the environment)
    --module GLOB    only those modules        --kubectl PATH   the kubectl to apply and explain with (default tools/kubectl-path)
    --max-added MIB  fails when the server with all definitions holds more above its own and their bytes, after a restart
    --cost           only that: what all definitions cost
    --verbose        says what is done

Starts a `subletd apiserver` of its own (from PATH). Each definition is applied with `kubectl apply --server-side`, established,
explained, and gets objects: one of upstream's samples where the module has one, and one with nothing but a name per served
version; columns, /status and /scale where declared; deleted again. Every answer is compared, refusals too. Needs Go's module
proxy or the modules in its cache, kubectl. What differs is named; then the exit code is 1.
"""

import argparse
import concurrent.futures
import fnmatch
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import re
import signal
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

# Module, and the folders or files with its definitions.
GATEWAY_EXPERIMENTS = [f"config/crd/experimental/gateway.networking.x-k8s.io_{name}.yaml" for name in ("xbackends", "xbackendtrafficpolicies", "xmeshes")]
MODULES = (
    ("sigs.k8s.io/jobset@v0.10.1", ["config/components/crd/bases"]),
    ("sigs.k8s.io/lws@v0.7.0", ["config/crd/bases"]),
    ("sigs.k8s.io/kueue@v0.15.0", ["config/components/crd/bases"]),
    ("sigs.k8s.io/gateway-api@v1.6.3", ["config/crd/standard", *GATEWAY_EXPERIMENTS]),
    ("github.com/NVIDIA/KAI-scheduler@v0.12.0", ["deployments/kai-scheduler/crds"]),
    ("github.com/ray-project/kuberay/ray-operator@v1.5.1", ["config/crd/bases"]),
    ("github.com/kubeflow/trainer/v2@v2.1.0", ["manifests/base/crds"]),
    ("github.com/kubeflow/training-operator@v1.9.3", ["manifests/base/crds"]),
    # Its MPIJob has the same name as training-operator's.
    ("github.com/kubeflow/mpi-operator@v0.7.0", ["manifests/base/kubeflow.org_mpijobs.yaml"]),
    ("github.com/cert-manager/cert-manager@v1.21.2", ["deploy/crds"]),
    ("github.com/argoproj/argo-cd/v3@v3.5.7", ["manifests/crds"]),
    ("github.com/prometheus-operator/prometheus-operator@v0.85.0", ["example/prometheus-operator-crd"]),
    ("github.com/external-secrets/external-secrets@v1.3.2", ["config/crds/bases"]),
    ("github.com/cilium/cilium@v1.20.2", ["pkg/k8s/apis/cilium.io/client/crds"]),
)
SHORT = ("*/jobset@*", "*/lws@*", "*/kueue@*")
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
SAMPLE_BYTES_MAX = 64 * 1024


class Failure(Exception):
    pass


# --- definitions and samples -------------------------------------------------------------------------------------------------


def module_folder(module):
    environment = dict(os.environ, GOFLAGS="-mod=mod")
    with tempfile.TemporaryDirectory() as folder:
        made = subprocess.run(["go", "mod", "download", "-json", module], cwd=folder, env=environment, capture_output=True, text=True)
    if made.returncode != 0:
        raise Failure(f"{module} cannot be had: {made.stderr or made.stdout}")
    return pathlib.Path(json.loads(made.stdout)["Dir"])


def yaml_files(folder, names):
    for name in names:
        place = folder / name
        if place.is_file():
            yield place
        elif place.is_dir():
            yield from sorted(p for p in place.rglob("*") if p.suffix in (".yaml", ".yml") and p.is_file())


def documents(path):
    text = path.read_text(errors="replace")
    return [part for part in re.split(r"^---.*$", text, flags=re.M) if part.strip()]


def top_level(document, key):
    found = re.search(rf"^{key}:[ \t]*[\"']?([^\s\"'#]+)", document, re.M)
    return found.group(1) if found else ""


def definitions_of(folder, places):
    found = []
    for path in yaml_files(folder, places):
        for document in documents(path):
            if top_level(document, "kind") == "CustomResourceDefinition" and "{{" not in document.split("spec:")[0]:
                found.append(document)
    return found


def samples_of(folder):
    """The first plain document of each apiVersion and kind: what is called a sample first, then by the length of the path."""
    samples = {}

    def order(path):
        inside = str(path.relative_to(folder))
        return not re.search(r"sample|example|snippet|docs/", inside), len(path.parts), inside

    for path in sorted(yaml_files(folder, ["."]), key=order):
        if path.stat().st_size > SAMPLE_BYTES_MAX or re.search(r"/(templates|invalid|negative)/", str(path)):
            continue
        for document in documents(path):
            kind = (top_level(document, "apiVersion"), top_level(document, "kind"))
            plain = not any(mark in document for mark in ("{{", "{%", "$(", "${"))
            if "/" in kind[0] and plain and re.search(r"^  name: *\S", document, re.M):
                samples.setdefault(kind, re.sub(r"^  namespace:.*\n", "", document, flags=re.M))
    return samples


# --- the two sides -----------------------------------------------------------------------------------------------------------


class Run:
    def __init__(self, sides, kubeconfigs, kubectl, verbose):
        self.sides, self.kubeconfigs, self.kubectl, self.verbose = sides, kubeconfigs, kubectl, verbose
        self.pool = concurrent.futures.ThreadPoolExecutor(2)
        self.passed = self.compared = 0
        self.failures = []
        self.differences = api.Differences(ROOT / "tests/host/support/operator_types_differences.txt")

    def say(self, text):
        if self.verbose:
            print(text, flush=True)

    def fail(self, what, why):
        self.failures.append(what)
        print(f"FAILED {what}: {why}", flush=True)

    def ask(self, method, path, body="", headers=()):
        """The answers of both sides."""
        step = api.Step("", 0)
        step.method, step.path, step.headers = method, path, list(headers)
        body = body if isinstance(body, str) else json.dumps(body)
        step.body = "@saved body" if body else ""  # as it stands, with its braces
        return list(self.pool.map(lambda side: api.ask(side, step, {"body": body.encode()}, None), self.sides))

    def step(self, what, method, path, body="", headers=(), accept=None, wanted=None):
        """One request to both; their answers must be the same. Ours is returned."""
        if accept:
            headers = (*headers, ("Accept", accept))
        answers = self.ask(method, path, body, headers)
        self.judge(what, answers, wanted)
        return answers[0]

    def judge(self, what, answers, wanted=None):
        reasons = []
        if wanted and answers[0].status not in wanted:
            reasons.append(f"answered {answers[0].status}: {json.dumps(answers[0].body)[:600]}")
        if len(answers) == 2:
            self.compared += 1
            both = [in_order(api.normal_answer(answer, api.Step("", 0), {})) for answer in answers]
            module, _, rest = what.partition(" ")
            for path, ours, theirs in api.compare(*both):
                if not self.differences.allows(module, rest, path):
                    reasons.append(f"{path}\n      ours:   {json.dumps(ours)[:500]}\n      theirs: {json.dumps(theirs)[:500]}")
        if reasons:
            self.fail(what, "\n    ".join(reasons[:4]))
        else:
            self.passed += 1

    def kubectl_step(self, what, arguments, stdin=None, compare=False):
        def run(kubeconfig):
            cache = os.path.join(os.path.dirname(self.kubeconfigs[0]), "cache-" + str(self.kubeconfigs.index(kubeconfig)))
            command = [self.kubectl, "--kubeconfig", kubeconfig, "--cache-dir", cache, *arguments]
            end = time.monotonic() + api.WAIT_SECONDS
            while True:
                made = subprocess.run(command, input=stdin, capture_output=True, text=True)
                # The real server publishes what explain reads a while after the definition is established.
                if made.returncode == 0 or not compare or kubeconfig == self.kubeconfigs[0] or time.monotonic() > end:
                    return made
                time.sleep(0.2)

        made = list(self.pool.map(run, self.kubeconfigs))
        if made[0].returncode != 0:
            return self.fail(what, made[0].stderr[:600])
        if compare and len(made) == 2 and made[0].stdout != made[1].stdout:
            pairs = zip(made[0].stdout.splitlines(), made[1].stdout.splitlines())
            first = next((pair for pair in pairs if pair[0] != pair[1]), ("(one is longer)", ""))
            return self.fail(what, f"kubectl says otherwise\n      ours:   {first[0]}\n      theirs: {first[1]}")
        self.passed += 1


def in_order(answer):
    """The same with the causes of an Invalid sorted: upstream's order is that of a Go map, another one each time."""
    body = answer["body"]
    causes = ((body.get("details") or {}).get("causes") if isinstance(body, dict) else None) or []
    listed = "[" + ", ".join(f"{c.get('field')}: {c.get('message')}" for c in causes) + "]"
    if len(causes) > 1 and body["message"].endswith(listed):
        causes.sort(key=lambda cause: (cause.get("field"), cause.get("message")))
        body["message"] = body["message"].removesuffix(listed) + "[sorted]"
    return answer


def wait_established(run, name):
    """Both sides' definitions, once they are established, and what is said of their groups' protection stands."""
    path = f"{DEFINITIONS}/{name}"
    end = time.monotonic() + api.WAIT_SECONDS
    while True:
        answers = run.ask("GET", path)
        states = [
            {c["type"]: c["status"] for c in a.body.get("status", {}).get("conditions") or []} if a.status == 200 else {} for a in answers
        ]
        judged = [
            "KubernetesAPIApprovalPolicyConformant" in state or "api-approved.kubernetes.io" not in (a.body.get("metadata", {}).get("annotations") or {})
            for a, state in zip(answers, states)
        ]
        if all(state.get("Established") == "True" for state in states) and all(judged) or time.monotonic() > end:
            return answers
        time.sleep(0.02)  # between two looks at a condition


def objects_path(definition, version, name=""):
    spec = definition["spec"]
    scope = "" if spec["scope"] == "Cluster" else "namespaces/default/"
    return f"/apis/{spec['group']}/{version}/{scope}{spec['names']['plural']}" + (f"/{name}" if name else "")


def try_object(run, what, definition, version, body, content_type="application/json"):
    """An object's life on both sides, as far as it is accepted."""
    path = objects_path(definition, version["name"])
    made = run.step(f"{what} create", "POST", path + "?fieldManager=tester", body, [("Content-Type", content_type)])
    if made.status != 201:
        return False
    name = made.body["metadata"]["name"]
    one = f"{path}/{name}"
    run.step(f"{what} table", "GET", one, accept=TABLE, wanted=(200,))
    merge = [("Content-Type", "application/merge-patch+json")]
    label = {"metadata": {"labels": {"example.com/by": "tester"}}}
    run.step(f"{what} label", "PATCH", one + "?fieldManager=labeller", label, merge, wanted=(200,))
    subresources = version.get("subresources") or {}
    if "status" in subresources:
        run.step(f"{what} status", "PATCH", one + "/status?fieldManager=tester", {"status": {"conditions": []}}, merge)
    if "scale" in subresources:
        run.step(f"{what} scale", "GET", one + "/scale")
        run.step(f"{what} scaled", "PATCH", one + "/scale?fieldManager=scaler", {"spec": {"replicas": 2}}, merge)
    apply = [("Content-Type", "application/apply-patch+yaml")]
    if content_type == "application/yaml":
        run.step(f"{what} apply", "PATCH", one + "?fieldManager=applier&force=true", body, apply)
    others = [v["name"] for v in definition["spec"]["versions"] if v["served"] and v["name"] != version["name"]]
    for other in others:
        run.step(f"{what} as {other}", "GET", objects_path(definition, other, name))
    run.step(f"{what} delete", "DELETE", one, wanted=(200,))
    if made.body["metadata"].get("finalizers"):  # nobody is there to whom they matter
        run.step(f"{what} let go", "PATCH", one, {"metadata": {"finalizers": None}}, merge, wanted=(200,))
    return True


def try_definition(run, module, document, samples, with_kubectl):
    name = re.search(r"^  name: *[\"']?([^\s\"']+)", document, re.M).group(1)
    what = f"{module} {name}"
    run.say(what)
    run.kubectl_step(f"{what} apply", ["apply", "--server-side", "-f", "-"], stdin=document)
    answers = wait_established(run, name)
    run.judge(f"{what} established", answers, (200,))
    definition = answers[0].body
    sampled = 0
    for version in definition["spec"]["versions"] if answers[0].status == 200 else []:
        if not version["served"]:
            continue
        kind = (f"{definition['spec']['group']}/{version['name']}", definition["spec"]["names"]["kind"])
        here = f"{what} {version['name']}"
        bare = {"apiVersion": kind[0], "kind": kind[1], "metadata": {"name": "bare"}}
        try_object(run, f"{here} bare", definition, version, bare)
        try_object(run, f"{here} empty", definition, version, {**bare, "spec": {}, "none": 1})
        try_object(run, f"{here} odd", definition, version, {**bare, "spec": "odd"})
        if kind in samples:
            sampled += try_object(run, f"{here} sample", definition, version, samples[kind], "application/yaml")
        if with_kubectl:
            explain = ["explain", definition["spec"]["names"]["plural"], "--api-version", kind[0], "--recursive"]
            run.kubectl_step(f"{here} explain", explain, compare=True)
    return name, bool(sampled)


# --- what all of them cost ---------------------------------------------------------------------------------------------------


class OurServer(api.OwnServer):
    """Started again it has the same data and kubeconfig."""

    def restart(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        os.unlink(self.kubeconfig)
        begin = time.monotonic()
        self.process = subprocess.Popen(
            ["subletd", "apiserver", "--data", os.path.join(self.folder, "data"), "--listen", "127.0.0.1:0"]
            + ["--admin-kubeconfig", self.kubeconfig],
            stderr=self.log,
        )
        while not os.path.exists(self.kubeconfig):
            time.sleep(0.002)  # between two looks at a condition
        self.started = time.monotonic() - begin
        return self.kubeconfig

    def memory_kib(self):
        with open(f"/proc/{self.process.pid}/smaps_rollup") as rollup:
            return int(re.search(r"^Pss: *(\d+)", rollup.read(), re.M).group(1))


def settled(server):
    """The memory of a server that has nothing more to do: the same at two looks."""
    last = 0
    for _ in range(40):
        now = server.memory_kib()
        if abs(now - last) < 64:
            return now
        last = now
        time.sleep(0.25)  # between two looks
    return last


def cost_of_all(server, documents_of_all, kubectl):
    """Applies everything to a server without objects, starts it anew, and prints what it holds then."""
    server.restart()
    empty_start = server.started
    empty = settled(server)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda text: apply_quietly(server, text), documents_of_all))
    side = api.Side("ours", server.kubeconfig)
    for name in made:
        wait_established(Run([side], [server.kubeconfig], kubectl, False), name)
    full = settled(server)
    kubeconfig = server.restart()
    side = api.Side("ours", kubeconfig)
    again = settled(server)
    step = api.Step("", 0)
    step.method, step.path = "GET", "/apis"
    step.headers = [("Accept", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")]
    times = discovery_times(side, step)
    groups = api.ask(side, step, {}, None)
    step.path, step.headers = DEFINITIONS, []
    stored = sum(len(json.dumps(item, separators=(",", ":"), ensure_ascii=False).encode()) for item in api.ask(side, step, {}, None).body["items"])
    added = (again - empty) / 1024
    above = added - stored / 1048576
    print(
        f"{len(made)} definitions of {stored / 1048576:.2f} MiB, {len(groups.body['items'])} groups: memory {empty / 1024:.1f} MiB without, "
        f"{full / 1024:.1f} just after, {again / 1024:.1f} after a restart: {above:.1f} MiB above their own bytes; "
        f"start {server.started * 1000:.0f} ms ({empty_start * 1000:.0f} without); discovery {times[0] * 1000:.1f} ms at first, "
        f"then {min(times[1:]) * 1000:.1f} to {max(times[1:]) * 1000:.1f}"
    )
    return above


def discovery_times(side, step):
    """How long the answers take on one connection, from the request to their last byte."""
    connection, times = side.connect(True), []
    connection.request("GET", "/version")
    connection.getresponse().read()
    for _ in range(11):
        begin = time.monotonic()
        connection.request(step.method, step.path, headers=dict(step.headers))
        connection.getresponse().read()
        times.append(time.monotonic() - begin)
    connection.close()
    return times


def apply_quietly(server, document):
    name = re.search(r"^  name: *[\"']?([^\s\"']+)", document, re.M).group(1)
    side = api.Side("ours", server.kubeconfig)
    step = api.Step("", 0)
    step.method, step.path, step.body = "PATCH", f"{DEFINITIONS}/{name}?fieldManager=kubectl&force=true", "@saved body"
    step.headers = [("Content-Type", "application/apply-patch+yaml")]
    answer = api.ask(side, step, {"body": document.encode()}, None)
    if answer.status not in (200, 201):
        raise Failure(f"{name}: {answer.status} {str(answer.body)[:400]}")
    return name


# --- main --------------------------------------------------------------------------------------------------------------------


def remove_all(run, names):
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda name: run.ask("DELETE", f"{DEFINITIONS}/{name}"), names))
    end = time.monotonic() + 2 * api.WAIT_SECONDS
    left = set(names)
    while left and time.monotonic() < end:
        left = {name for name in left if any(answer.status != 404 for answer in run.ask("GET", f"{DEFINITIONS}/{name}"))}
    for name in sorted(left):
        run.fail(f"{name} delete", "it does not go")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("host", nargs="?", metavar="HOST_KUBECONFIG", default=os.environ.get("HOST_KUBECONFIG"))
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--module")
    parser.add_argument("--kubectl")
    parser.add_argument("--max-added", type=float, default=20)
    parser.add_argument("--cost", action="store_true")
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    kubectl = arguments.kubectl or subprocess.run([ROOT / "tools/kubectl-path"], capture_output=True, text=True, check=True).stdout.strip()
    globs = [f"*{arguments.module}*"] if arguments.module else ["*"] if arguments.all else SHORT
    wanted = [row for row in MODULES if any(fnmatch.fnmatchcase(row[0], glob) for glob in globs)]
    every, sampled, total = [], 0, 0
    server = OurServer()
    with server as kubeconfig:
        kubeconfigs = [kubeconfig, *([arguments.host] if arguments.host else [])]
        run = Run([api.Side(label, k) for label, k in zip(("ours", "theirs"), kubeconfigs)], kubeconfigs, kubectl, arguments.verbose)
        for module, places in wanted:
            folder = module_folder(module)
            found, samples = definitions_of(folder, places), samples_of(folder)
            if not found:
                run.fail(module, f"no definitions in {places}")
            names = []
            for document in found if not arguments.cost else []:
                name, with_sample = try_definition(run, module.rpartition("/")[2], document, samples, arguments.all)
                names.append(name)
                sampled += with_sample
            total += len(found)
            every += found
            remove_all(run, names)
            print(f"{module}: {len(found)} definitions", flush=True)
        above = cost_of_all(server, list({re.search(r"^  name: *(\S+)", d, re.M).group(1): d for d in every}.values()), kubectl)
        if above > arguments.max_added:
            run.fail("memory", f"{above:.1f} MiB above the definitions' own bytes, {arguments.max_added:g} at most")
    compared = f", {run.compared} answers compared with the real server's" if arguments.host else ""
    print(f"{total} definitions, {sampled} of them with an accepted sample{compared}")
    print(f"{run.passed} passed, {len(run.failures)} failed")
    return 1 if run.failures else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (Failure, api.ScriptError, OSError) as error:
        print(f"operator_types: {error}\n0 passed, 1 failed")
        sys.exit(1)
