"""One test host: etcd, kube-apiserver, and what was asked for beside them, as plain processes on loopback.

Every process carries SUBLET_TESTHOST=<state folder> in its environment, and that is how it is found again: there is no
pid file that a crash could leave wrong. `up` first removes whatever a killed predecessor of the same name left.
"""

import base64
import contextlib
import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
import ssl
from pathlib import Path

import build
import kai as kai_stand
import node as real_node

MARK = "SUBLET_TESTHOST"
PORTS = range(16000, 30000)


def hosts_dir() -> Path:
    return Path(os.environ.get("SUBLET_TESTHOST_DIR") or build.cache_dir() / "hosts")


def processes_of(state: Path) -> list[int]:
    """Pids that carry the mark of this state folder (not ourselves)."""
    wanted = f"{MARK}={state}".encode()
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        try:
            with open(f"/proc/{entry}/environ", "rb") as file:
                if wanted in file.read().split(b"\0"):
                    found.append(int(entry))
        except OSError:
            continue  # gone meanwhile, or not ours
    return found


def _alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def wait_for(what: str, condition, seconds: float, pause: float = 0.05):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit(f"testhost: {what} did not come about within {seconds:.0f} s")
        time.sleep(pause)


def kill_all(state: Path, at_once: bool = False):
    """Ends every process of the host; SIGTERM first, SIGKILL after three seconds."""
    for sig, seconds in ((signal.SIGTERM, 3.0), (signal.SIGKILL, 10.0))[1 if at_once else 0:]:
        pids = processes_of(state)
        for pid in pids:
            try:
                os.kill(pid, sig)
            except ProcessLookupError:
                pass
        deadline = time.monotonic() + seconds
        while any(_alive(pid) for pid in pids) and time.monotonic() < deadline:
            time.sleep(0.02)
        if not any(_alive(pid) for pid in processes_of(state)):
            return


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("", port))
        except OSError:
            return False
    return True


def free_ports(count: int) -> list[int]:
    """Below those that the kernel gives to clients, and in turn, so that hosts that start at once have different ones."""
    turn, found = hosts_dir() / ".ports", []
    with exclusive(hosts_dir() / ".ports.lock"):
        try:
            port = int(turn.read_text())
        except (OSError, ValueError):  # none yet, or its writer was killed
            port = PORTS.start
        for _ in PORTS:
            port = port + 1 if port + 1 in PORTS else PORTS.start
            if _is_free(port):
                found.append(port)
            if len(found) == count:
                turn.write_text(str(port))
                return found
    raise SystemExit(f"testhost: no {count} ports are free from {PORTS.start} to {PORTS.stop - 1}")


def _openssl(*arguments: str, cwd: Path):
    # Marked too: outliving a killed `up`, it would write into the folder that the next one is removing.
    subprocess.run(["openssl", *arguments], cwd=cwd, check=True, capture_output=True,
                   env={**os.environ, MARK: str(cwd.parent)})


def make_pki(folder: Path, addresses: tuple = ("10.0.0.1",)):
    """CA, the server's certificate, an admin (system:masters), the key of service-account tokens; a front proxy with a CA of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    curve = ("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out")
    for key in ("ca.key", "server.key", "admin.key", "sa.key"):
        _openssl(*curve, key, cwd=folder)
    _openssl("req", "-x509", "-new", "-key", "ca.key", "-days", "30", "-subj", "/CN=testhost-ca", "-out", "ca.crt", cwd=folder)
    also = "".join(f"IP:{address}," for address in addresses)
    (folder / "server.ext").write_text(f"subjectAltName=IP:127.0.0.1,{also}DNS:localhost,DNS:kubernetes.default.svc,"
                                       "DNS:kubernetes.default,DNS:kubernetes.default.svc.cluster.local\n"
                                       "extendedKeyUsage=serverAuth,clientAuth\n")
    (folder / "admin.ext").write_text("extendedKeyUsage=clientAuth\n")
    for name, subject in (("server", "/CN=kube-apiserver"), ("admin", "/O=system:masters/CN=admin")):
        _openssl("req", "-new", "-key", f"{name}.key", "-subj", subject, "-out", f"{name}.csr", cwd=folder)
        _openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", "30",
                 "-extfile", f"{name}.ext", "-out", f"{name}.crt", cwd=folder)
    for key in ("front-proxy-ca.key", "front-proxy.key"):
        _openssl(*curve, key, cwd=folder)
    _openssl("req", "-x509", "-new", "-key", "front-proxy-ca.key", "-days", "30", "-subj", "/CN=testhost-front-proxy-ca",
             "-out", "front-proxy-ca.crt", cwd=folder)
    _openssl("req", "-new", "-key", "front-proxy.key", "-subj", "/CN=front-proxy-client", "-out", "front-proxy.csr", cwd=folder)
    _openssl("x509", "-req", "-in", "front-proxy.csr", "-CA", "front-proxy-ca.crt", "-CAkey", "front-proxy-ca.key",
             "-CAcreateserial", "-days", "30", "-extfile", "admin.ext", "-out", "front-proxy.crt", cwd=folder)


def write_kubeconfig(path: Path, name: str, port: int, pki: Path, address: str = "127.0.0.1"):
    def data(file: str) -> str:
        return base64.b64encode((pki / file).read_bytes()).decode()

    config = {
        "apiVersion": "v1", "kind": "Config", "current-context": name, "preferences": {},
        "clusters": [{"name": name, "cluster": {"server": f"https://{address}:{port}",
                                                 "certificate-authority-data": data("ca.crt")}}],
        "users": [{"name": name, "user": {"client-certificate-data": data("admin.crt"),
                                           "client-key-data": data("admin.key")}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
    }
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        json.dump(config, file)


class Api:
    """A few calls to the host's API with the admin's certificate."""

    def __init__(self, port: int, pki: Path, address: str = "127.0.0.1"):
        self.base = f"https://{address}:{port}"
        self.context = ssl.create_default_context(cafile=str(pki / "ca.crt"))
        self.context.load_cert_chain(str(pki / "admin.crt"), str(pki / "admin.key"))

    def call(self, method: str, path: str, body: dict | bytes | None = None) -> tuple[int, bytes]:
        """A dict goes as JSON; bytes are a file's, and YAML."""
        kind = "application/yaml" if isinstance(body, bytes) else "application/json"
        data = json.dumps(body).encode() if isinstance(body, dict) else body
        request = urllib.request.Request(self.base + path, data=data, method=method, headers={"Content-Type": kind})
        try:
            with urllib.request.urlopen(request, context=self.context, timeout=10) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()
        except OSError:
            return 0, b""


def node(index: int, gpus: int) -> dict:
    name = f"node-{index:02d}"
    labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64", "type": "kwok"}
    capacity = {"cpu": "64", "memory": "256Gi", "pods": "1100", "ephemeral-storage": "1Ti"}
    if gpus:
        labels |= {"nvidia.com/gpu.present": "true", "nvidia.com/gpu.count": str(gpus), "nvidia.com/gpu.memory": "81920",
                   "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB"}
        capacity["nvidia.com/gpu"] = str(gpus)
    return {"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "labels": labels, "annotations": {"kwok.x-k8s.io/node": "fake"}},
            "spec": {}, "status": {"capacity": capacity, "allocatable": capacity}}


@contextlib.contextmanager
def exclusive(path: Path, remove: bool = False):
    """Holds the lock file. Whoever removes it does so while holding it, so a lock on a removed file does not count."""
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not path.exists() or path.stat().st_ino != os.fstat(lock.fileno()).st_ino:
                continue
            yield
            if remove:
                path.unlink()
            return


class Host:
    def __init__(self, name: str):
        self.name = name
        self.state = hosts_dir() / name
        self.pki = self.state / "pki"
        self.logs = self.state / "logs"
        self.lock = self.state.parent / f"{self.name}.lock"
        self.started: dict[str, subprocess.Popen] = {}
        self.node = real_node.Node(self)
        self.wrapper: list[str] = []  # before every command: into the node's network

    def start(self, label: str, arguments: list, extra_env: dict | None = None):
        log = open(self.logs / f"{label}.log", "ab")
        inherited = {name: value for name, value in os.environ.items() if name != "KUBECONFIG"}
        env = {**inherited, MARK: str(self.state), **(extra_env or {})}
        self.started[label] = subprocess.Popen([str(a) for a in [*self.wrapper, *arguments]], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                               env=env, start_new_session=True, cwd=self.state)

    def _check_alive(self):
        """Says at once which process ended, instead of waiting for what it would have done."""
        for label, process in self.started.items():
            if process.poll() is not None:
                tail = "".join((self.logs / f"{label}.log").read_text(errors="replace").splitlines(keepends=True)[-15:])
                raise SystemExit(f"testhost: {label} stopped with code {process.returncode}; "
                                 f"{self.logs / (label + '.log')} ends with:\n{tail}")

    def wait_for(self, what: str, condition, seconds: float):
        def alive_and_met() -> bool:
            self._check_alive()
            return condition()

        wait_for(what, alive_and_met, seconds)

    def up(self, port: int, nodes: int, gpu_nodes: int, gpus: int, components: list[str], store: str = "etcd",
           kai: bool = False, kubelet: bool = False, audit: bool = False, authentication: Path | None = None,
           gates: str = "", runtime_config: str = ""):
        self.gates = [f"--feature-gates={gates}"] if gates else []
        if kubelet:  # the node is real: none is simulated beside it
            components, nodes = [c for c in components if c != "kwok"], 0
        elif "metrics-server" in components:
            raise SystemExit("testhost: metrics-server asks kubelets; there is none without --kubelet")
        binaries = build.build_all([store, "kube-apiserver", *components, *(build.members("kai") if kai else []),
                                    *(build.members("node") if kubelet else [])])
        with exclusive(self.lock):
            self._sweep()
            for folder in (self.state, self.pki, self.logs):
                folder.mkdir(parents=True)
            os.chmod(self.state, 0o700)
            started = time.monotonic()
            address = "127.0.0.1"
            if kubelet:
                with exclusive(hosts_dir() / ".networks.lock"):
                    self.node.prepare()
                self.wrapper, address = self.node.wrapper, self.node.address
            make_pki(self.pki, (self.node.service(1), address) if kubelet else ("10.0.0.1",))
            etcd_port, peer_port, free = free_ports(3)
            port = port or free
            self.start(store, self._store(store, binaries[store], etcd_port, peer_port))
            self.start("kube-apiserver",
                       self._apiserver(binaries["kube-apiserver"], port, etcd_port, kubelet) + (self._audit() if audit else []) +
                       ([f"--authentication-config={authentication.resolve()}"] if authentication else []) +
                       ([f"--runtime-config={runtime_config}"] if runtime_config else []) + self.gates)
            write_kubeconfig(self.state / "kubeconfig", f"testhost-{self.name}", port, self.pki, address)
            if kubelet:
                self.node.start_containerd(binaries)
            api = Api(port, self.pki, address)
            self.wait_for("the API server's readiness", lambda: api.call("GET", "/readyz")[0] == 200, 90)
            for component in components:
                self.start(component, self._component(component, binaries[component], kai))
            beside = kai_stand.Kai(self, api, free_ports(len(kai_stand.PORTS))) if kai else None
            if beside:
                beside.start(binaries)
            self._populate(api, nodes, gpu_nodes, gpus, "kwok" in components, "kube-controller-manager" in components)
            if beside:
                beside.finish()
            if kubelet:
                self.node.start_kubelet(binaries)
                self.node.finish(api, "metrics-server" in components)
                (self.state / "machine").write_text(self.node.machine)
            (self.state / "port").write_text(str(port))
            print(f"testhost: {self.name} is up on port {port} after {time.monotonic() - started:.1f} s; "
                  f"KUBECONFIG={self.state / 'kubeconfig'}, logs in {self.logs}", file=sys.stderr)

    def _store(self, name: str, binary: Path, port: int, peer_port: int) -> list:
        if name == "kine":  # SQLite with kine's own parameters; only the place of the file is ours
            parameters = "_journal=WAL&cache=shared&_busy_timeout=30000&_txlock=immediate"
            return [binary, f"--endpoint=sqlite://{self.state / 'kine.db'}?{parameters}", f"--listen-address=127.0.0.1:{port}",
                    "--metrics-bind-address=0"]
        return [binary, "--name", "host", "--data-dir", self.state / "etcd",
                "--listen-client-urls", f"http://127.0.0.1:{port}", "--advertise-client-urls", f"http://127.0.0.1:{port}",
                "--listen-peer-urls", f"http://127.0.0.1:{peer_port}",
                "--initial-advertise-peer-urls", f"http://127.0.0.1:{peer_port}",
                "--initial-cluster", f"host=http://127.0.0.1:{peer_port}", "--log-level", "warn"]

    def _apiserver(self, binary: Path, port: int, etcd_port: int, kubelet: bool) -> list:
        where = ["--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", "--endpoint-reconciler-type=none",
                 "--service-cluster-ip-range=10.0.0.0/16"]
        if kubelet:
            where = ["--bind-address=0.0.0.0", f"--advertise-address={self.node.address}", "--endpoint-reconciler-type=lease",
                     f"--service-cluster-ip-range={self.node.services}", "--kubelet-preferred-address-types=InternalIP",
                     f"--kubelet-client-certificate={self.pki / 'admin.crt'}", f"--kubelet-client-key={self.pki / 'admin.key'}"]
        return [binary, f"--etcd-servers=http://127.0.0.1:{etcd_port}", f"--secure-port={port}", *where,
                f"--tls-cert-file={self.pki / 'server.crt'}", f"--tls-private-key-file={self.pki / 'server.key'}",
                f"--client-ca-file={self.pki / 'ca.crt'}", "--authorization-mode=RBAC", "--allow-privileged=true",
                "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
                f"--service-account-key-file={self.pki / 'sa.key'}",
                f"--service-account-signing-key-file={self.pki / 'sa.key'}",
                "--enable-aggregator-routing=true", "--v=1",
                f"--proxy-client-cert-file={self.pki / 'front-proxy.crt'}", f"--proxy-client-key-file={self.pki / 'front-proxy.key'}",
                f"--requestheader-client-ca-file={self.pki / 'front-proxy-ca.crt'}", "--requestheader-allowed-names=front-proxy-client",
                "--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group",
                "--requestheader-uid-headers=X-Remote-Uid", "--requestheader-extra-headers-prefix=X-Remote-Extra-"]

    def _audit(self) -> list:
        """Every write, with who asked for it and the id that the client gave it, in the state folder's audit.log."""
        policy = self.state / "audit-policy.json"
        policy.write_text(json.dumps({"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "rules": [
            {"level": "Metadata", "verbs": ["create", "update", "patch", "delete", "deletecollection"]}, {"level": "None"}]}))
        return [f"--audit-policy-file={policy}", f"--audit-log-path={self.state / 'audit.log'}", "--audit-log-mode=blocking"]

    def _component(self, name: str, binary: Path, kai: bool) -> list:
        kubeconfig = self.state / "kubeconfig"
        if name == "kube-controller-manager":
            return [binary, f"--kubeconfig={kubeconfig}", "--controllers=*,-nodeipam,-node-route-controller,-service-lb-controller",
                    f"--service-account-private-key-file={self.pki / 'sa.key'}", f"--root-ca-file={self.pki / 'ca.crt'}",
                    "--leader-elect=false", "--secure-port=0", "--kube-api-qps=500", "--kube-api-burst=1000", *self.gates]
        if name == "kube-scheduler":
            config = self.state / "scheduler.json"
            config.write_text(json.dumps({
                "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
                "leaderElection": {"leaderElect": False},
                "clientConnection": {"kubeconfig": str(kubeconfig), "qps": 1000, "burst": 2000}}))
            return [binary, f"--config={config}", "--secure-port=0", *self.gates]
        if name == "metrics-server":
            return self.node.metrics_server(binary)
        if name == "kwok":
            all_pins = build.pins()["component"]["kwok"]
            stages = build.module_dir(all_pins["module"], all_pins["version"]) / "kustomize" / "stage"
            files = [f for part in ("node/fast", "node/heartbeat-with-lease", "pod/fast")
                     for f in sorted((stages / part).glob("*.yaml")) if f.name != "kustomization.yaml"]
            files += [kai_stand.RESERVATION_STAGE] if kai else []
            arguments = [binary, f"--kubeconfig={kubeconfig}", "--manage-all-nodes=false",
                         "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake",
                         "--node-lease-duration-seconds=40"]
            return arguments + [f"--config={f}" for f in files]
        raise SystemExit(f"testhost: {name} is built but not run by `up`")

    def _populate(self, api: Api, nodes: int, gpu_nodes: int, gpus: int, kwok: bool, controllers: bool):
        for index in range(nodes):
            code, body = api.call("POST", "/api/v1/nodes", node(index, gpus if index < gpu_nodes else 0))
            if code not in (201, 409):
                raise SystemExit(f"testhost: creating a node failed: {code} {body.decode(errors='replace')}")
        api.call("POST", "/apis/node.k8s.io/v1/runtimeclasses",
                 {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "nvidia"}, "handler": "nvidia"})

        def ready() -> bool:  # the taint of a node that is not ready is lifted by the controller manager
            items = json.loads(api.call("GET", "/api/v1/nodes")[1] or b"{}").get("items", [])
            return sum(any(c["type"] == "Ready" and c["status"] == "True" for c in n["status"].get("conditions", []))
                       and not (controllers and any(t["effect"] == "NoSchedule" for t in n["spec"].get("taints", [])))
                       for n in items) >= nodes

        if kwok and nodes:
            self.wait_for("the nodes' readiness", ready, 60)
        if controllers:
            self.wait_for("the default service account",
                           lambda: api.call("GET", "/api/v1/namespaces/default/serviceaccounts/default")[0] == 200, 60)

    def _sweep(self):
        real = self.node.is_there()
        kill_all(self.state, at_once=real)
        if real:
            self.node.sweep()
        if self.state.exists():
            shutil.rmtree(self.state)

    def down(self, keep_logs: Path | None):
        if keep_logs and self.logs.is_dir():
            shutil.copytree(self.logs, keep_logs, dirs_exist_ok=True)
        with exclusive(self.lock, remove=True):
            self._sweep()

    def kubeconfig(self) -> Path:
        path = self.state / "kubeconfig"
        if not (self.state / "port").is_file():
            raise SystemExit(f"testhost: {self.name} is not up; start it with `tools/testhost/testhost up --name {self.name}`")
        return path
