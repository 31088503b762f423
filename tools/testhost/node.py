"""A real node beside a test host: kubelet, containerd, kube-proxy and CoreDNS, in a network namespace with the control plane.

The machine reaches the node, its pods and its Services by routes, and they the machine at `machine`. All that outlives a
process has the host's name: the namespace, the veth pair, the cgroups; mounts lie below the host's state folder. So `sweep()`
finds all of it again whatever was killed, and needs no file.
"""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import build
import images

PROGRAMS = ("ip", "nsenter", "containerd", "ctr", "runc", "nft", "conntrack")
PACKAGES = "containerd runc containernetworking-plugins busybox-static iptables nftables conntrack kmod iproute2 util-linux"
PLUGINS = Path("/usr/lib/cni")
CGROUPS = Path("/sys/fs/cgroup")
NODE = "node-real"
NETWORKS = 16
METRICS_PORT = 4443


def _run(*arguments, check=True, **more):
    return subprocess.run([str(a) for a in arguments], check=check, capture_output=True, text=True, **more)


class Node:
    def __init__(self, host):
        self.host = host
        digest = hashlib.sha256(host.name.encode()).hexdigest()[:8]
        self.namespace = f"sublet-{digest}"
        self.outer, self.inner = f"sn{digest}o", f"sn{digest}i"
        self.cgroup = f"sublet-testhost-{digest}"
        self.folder = host.state / "node"
        self.number = 0

    # Addresses: one number a host.
    @property
    def machine(self):
        return f"10.240.{self.number}.1"

    @property
    def address(self):
        return f"10.240.{self.number}.2"

    @property
    def pods(self):
        return f"10.244.{self.number}.0/24"

    @property
    def services(self):
        return f"10.{96 + self.number}.0.0/16"

    def service(self, last: int) -> str:
        return f"10.{96 + self.number}.0.{last}"

    @property
    def wrapper(self) -> list[str]:
        # `ip netns exec` would mount /sys anew and hide the cgroups.
        return ["nsenter", f"--net=/run/netns/{self.namespace}"]

    def prepare(self):
        """What there must be before any process: programs, the network, cgroups."""
        if os.geteuid() != 0:
            raise SystemExit("testhost: --kubelet needs root: namespaces, mounts and cgroups are made")
        missing = [p for p in PROGRAMS if not shutil.which(p)] + ([] if (PLUGINS / "bridge").exists() else [str(PLUGINS / "bridge")])
        if missing:
            raise SystemExit(f"testhost: --kubelet needs {', '.join(missing)}; apt-get install {PACKAGES}")
        taken = _run("ip", "-4", "route", "show").stdout
        free = [n for n in range(NETWORKS) if f"10.240.{n}." not in taken and f"10.{96 + n}.0.0/16" not in taken]
        if not free:
            raise SystemExit("testhost: all networks 10.240.0.0/24 to 10.240.15.0/24 are taken")
        self.number = free[0]
        inside = self.wrapper
        try:
            for command in (
                    ["ip", "netns", "add", self.namespace],
                    ["ip", "link", "add", self.outer, "type", "veth", "peer", "name", self.inner, "netns", self.namespace],
                    ["ip", "addr", "add", f"{self.machine}/24", "dev", self.outer], ["ip", "link", "set", self.outer, "up"],
                    [*inside, "ip", "link", "set", "lo", "up"], [*inside, "ip", "addr", "add", f"{self.address}/24", "dev", self.inner],
                    [*inside, "ip", "link", "set", self.inner, "up"], [*inside, "ip", "route", "add", "default", "via", self.machine],
                    [*inside, "sh", "-c", "echo 1 >/proc/sys/net/ipv4/ip_forward"],
                    ["ip", "route", "add", self.pods, "via", self.address], ["ip", "route", "add", self.services, "via", self.address]):
                _run(*command)
        except subprocess.CalledProcessError as failure:
            raise SystemExit(f"testhost: {' '.join(failure.cmd)}: {failure.stderr.strip()}")
        for place in self._cgroups():
            place.mkdir(exist_ok=True)
            if place.parent.name == "cpuset":  # an empty one takes no process
                for file in ("cpuset.cpus", "cpuset.mems"):
                    (place / file).write_text((place.parent / file).read_text())

    def _cgroups(self) -> list[Path]:
        """Ours in every hierarchy: one with version 2, one a controller with version 1."""
        if (CGROUPS / "cgroup.controllers").exists():
            return [CGROUPS / self.cgroup]
        return [p / self.cgroup for p in sorted(CGROUPS.iterdir()) if p.is_dir() and not p.is_symlink() and os.path.ismount(p)]

    def start_containerd(self, binaries: dict):
        """At once: images are imported while the control plane starts."""
        for name in ("cni", "root", "logs"):
            (self.folder / name).mkdir(parents=True)
        (self.folder / "containerd.toml").write_text(f'''version = 2
root = "{self.folder}/containerd"
state = "{self.folder}/run"
disabled_plugins = ["io.containerd.internal.v1.opt"]
[grpc]
  address = "{self.folder}/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{images.PAUSE}"
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{PLUGINS}"
    conf_dir = "{self.folder}/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
''')
        bridge = {"type": "bridge", "bridge": "cni0", "isGateway": True, "hairpinMode": True, "ipMasq": False,
                  "ipam": {"type": "host-local", "dataDir": str(self.folder / "ipam"), "ranges": [[{"subnet": self.pods}]],
                           "routes": [{"dst": "0.0.0.0/0"}]}}
        (self.folder / "cni/10-bridge.conflist").write_text(json.dumps(
            {"cniVersion": "0.4.0", "name": "bridge", "plugins": [bridge, {"type": "loopback"}]}))
        self.host.start("containerd", ["containerd", "-c", self.folder / "containerd.toml"])
        archives = images.archives(binaries)
        self.host.wait_for("containerd's socket", lambda: _run(*self._ctr("version"), check=False).returncode == 0, 30)
        script = " && ".join(f"{' '.join(self._ctr('images', 'import', str(a)))}" for a in archives)
        # One after the other: the disk is what they wait for.
        self.host.start("images", ["sh", "-c", f"{script} && touch {self.folder}/imported && exec sleep infinity"])

    def take_image(self, archive: Path):
        _run(*self._ctr("images", "import", archive))

    def _ctr(self, *arguments) -> list[str]:
        return ["ctr", "-a", str(self.folder / "containerd.sock"), "-n", "k8s.io", *arguments]

    def start_kubelet(self, binaries: dict):
        host, folder = self.host, self.folder
        (folder / "kubelet.json").write_text(json.dumps({
            "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
            "failCgroupV1": False, "cgroupDriver": "cgroupfs", "cgroupRoot": f"/{self.cgroup}", "failSwapOn": False,
            "containerRuntimeEndpoint": f"unix://{folder}/containerd.sock",
            "authentication": {"anonymous": {"enabled": False}, "webhook": {"enabled": True},
                               "x509": {"clientCAFile": str(host.pki / "ca.crt")}},
            "authorization": {"mode": "Webhook"},
            "clusterDomain": "cluster.local", "clusterDNS": [self.service(10)], "localStorageCapacityIsolation": False,
            "evictionHard": {"imagefs.available": "0%", "nodefs.available": "0%", "memory.available": "0%", "nodefs.inodesFree": "0%"},
            "imageGCHighThresholdPercent": 100, "maxPods": 250, "registryPullQPS": 0, "kubeAPIQPS": 100, "kubeAPIBurst": 200,
            "syncFrequency": "10s", "nodeStatusUpdateFrequency": "2s",
            "tlsCertFile": str(host.pki / "server.crt"), "tlsPrivateKeyFile": str(host.pki / "server.key"),
            "volumePluginDir": str(folder / "plugins"), "podLogsDir": str(folder / "logs")}))
        host.start("kubelet", [binaries["kubelet"], f"--config={folder / 'kubelet.json'}", f"--kubeconfig={host.state / 'kubeconfig'}",
                               f"--hostname-override={NODE}", f"--root-dir={folder / 'root'}", f"--node-ip={self.address}", "--v=2"])
        (folder / "kube-proxy.json").write_text(json.dumps({
            "apiVersion": "kubeproxy.config.k8s.io/v1alpha1", "kind": "KubeProxyConfiguration", "mode": "nftables",
            "clientConnection": {"kubeconfig": str(host.state / "kubeconfig")}, "clusterCIDR": self.pods, "hostnameOverride": NODE,
            "bindAddress": "0.0.0.0", "healthzBindAddress": "127.0.0.1:10256", "metricsBindAddress": "127.0.0.1:10249",
            "nftables": {"minSyncPeriod": "100ms", "syncPeriod": "30s"},
            "conntrack": {"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"}}))
        host.start("kube-proxy", [binaries["kube-proxy"], f"--config={folder / 'kube-proxy.json'}", "-v", "2"])

    def metrics_server(self, binary: Path) -> list:
        """Its command. It runs beside the control plane, and is reached by the node's address."""
        kubeconfig = self.host.state / "kubeconfig"
        return [binary, f"--kubeconfig={kubeconfig}", f"--authentication-kubeconfig={kubeconfig}", f"--authorization-kubeconfig={kubeconfig}",
                f"--secure-port={METRICS_PORT}", f"--tls-cert-file={self.host.pki / 'server.crt'}",
                f"--tls-private-key-file={self.host.pki / 'server.key'}", f"--kubelet-certificate-authority={self.host.pki / 'ca.crt'}",
                "--kubelet-preferred-address-types=InternalIP", "--kubelet-request-timeout=5s", "--metric-resolution=10s"]

    def finish(self, api, metrics: bool):
        """CoreDNS, and everything ready."""
        for path, thing in [*self._dns(), *(self._metrics() if metrics else [])]:
            code, body = api.call("POST", path, thing)
            if code not in (201, 409):
                raise SystemExit(f"testhost: creating {path} failed: {code} {body.decode(errors='replace')}")

        def condition(path: str) -> bool:
            code, body = api.call("GET", path)
            status = json.loads(body)["status"] if code == 200 else {}
            return any(c["type"] == "Ready" and c["status"] == "True" for c in status.get("conditions", []))

        self.host.wait_for("the node's readiness", lambda: condition(f"/api/v1/nodes/{NODE}"), 120)
        self.host.wait_for("CoreDNS's readiness", lambda: condition("/api/v1/namespaces/kube-system/pods/coredns"), 120)
        self.host.wait_for("the images", (self.folder / "imported").exists, 120)

    def _dns(self):
        corefile = ".:53 {\n errors\n health\n ready\n kubernetes cluster.local in-addr.arpa {\n  pods insecure\n }\n cache 30\n}\n"
        core, rbac = "/api/v1/namespaces/kube-system", "/apis/rbac.authorization.k8s.io/v1"
        meta = {"name": "coredns", "namespace": "kube-system", "labels": {"k8s-app": "kube-dns"}}
        yield f"{core}/serviceaccounts", {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta}
        yield f"{rbac}/clusterroles", {
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "system:coredns"},
            "rules": [{"apiGroups": [""], "resources": ["services", "pods", "namespaces"], "verbs": ["list", "watch"]},
                      {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": ["list", "watch"]}]}
        yield f"{rbac}/clusterrolebindings", {
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "system:coredns"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "system:coredns"},
            "subjects": [{"kind": "ServiceAccount", "name": "coredns", "namespace": "kube-system"}]}
        yield f"{core}/configmaps", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"Corefile": corefile}}
        yield f"{core}/pods", {
            "apiVersion": "v1", "kind": "Pod", "metadata": meta,
            "spec": {"serviceAccountName": "coredns", "dnsPolicy": "Default", "terminationGracePeriodSeconds": 1,
                     "tolerations": [{"operator": "Exists"}],
                     "containers": [{"name": "coredns", "image": images.COREDNS, "imagePullPolicy": "Never",
                                     "args": ["-conf", "/etc/coredns/Corefile"],
                                     "readinessProbe": {"httpGet": {"port": 8181, "path": "/ready"}, "periodSeconds": 1},
                                     "volumeMounts": [{"name": "config", "mountPath": "/etc/coredns"}]}],
                     "volumes": [{"name": "config", "configMap": {"name": "coredns"}}]}}
        yield f"{core}/services", {
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": "kube-dns", "namespace": "kube-system"},
            "spec": {"clusterIP": self.service(10), "selector": {"k8s-app": "kube-dns"},
                     "ports": [{"name": "dns", "protocol": "UDP", "port": 53}, {"name": "dns-tcp", "protocol": "TCP", "port": 53}]}}

    def _metrics(self):
        meta = {"name": "metrics-server", "namespace": "kube-system"}
        yield "/api/v1/namespaces/kube-system/services", {
            "apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": {"ports": [{"port": 443, "targetPort": METRICS_PORT}]}}
        yield "/apis/discovery.k8s.io/v1/namespaces/kube-system/endpointslices", {
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
            "metadata": {**meta, "labels": {"kubernetes.io/service-name": "metrics-server"}},
            "ports": [{"name": "", "port": METRICS_PORT, "protocol": "TCP"}],
            "endpoints": [{"addresses": [self.address], "conditions": {"ready": True}}]}
        yield "/apis/apiregistration.k8s.io/v1/apiservices", {
            "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": "v1beta1.metrics.k8s.io"},
            "spec": {"group": "metrics.k8s.io", "version": "v1beta1", "groupPriorityMinimum": 100, "versionPriority": 100,
                     "insecureSkipTLSVerify": True, "service": {"name": "metrics-server", "namespace": "kube-system"}}}

    # Taking it away.

    def is_there(self) -> bool:
        return Path(f"/run/netns/{self.namespace}").exists() or any(p.exists() for p in self._cgroups())

    def sweep(self):
        """After the host's marked processes are gone: the pods' processes, mounts, cgroups, the namespace."""
        self._kill_pods()
        self._unmount()
        for place in self._cgroups():
            for folder, _, _ in os.walk(place, topdown=False):
                for _ in range(100):  # one whose processes have just ended is busy for a moment
                    try:
                        os.rmdir(folder)
                    except FileNotFoundError:
                        pass
                    except OSError:
                        time.sleep(0.02)
                        continue
                    break
        _run("ip", "link", "del", self.outer, check=False)  # and with it the routes
        _run("ip", "netns", "del", self.namespace, check=False)

    def _kill_pods(self):
        for _ in range(200):
            pids = set()
            for place in self._cgroups():
                for folder, _, _ in os.walk(place):
                    try:
                        pids |= {int(p) for p in Path(folder, "cgroup.procs").read_text().split()}
                    except OSError:
                        continue
            pids -= {0, os.getpid()}
            if not pids:
                return
            for pid in pids:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            time.sleep(0.02)
        raise SystemExit(f"testhost: processes in cgroup {self.cgroup} do not end")

    def _mounts(self) -> list[str]:
        prefix = f"{self.host.state}/"
        with open("/proc/self/mounts") as file:
            return [line.split()[1].replace("\\040", " ") for line in file if line.split()[1].startswith(prefix)]

    def _unmount(self):
        for _ in range(50):
            mounts = self._mounts()
            if not mounts:
                return
            for place in sorted(mounts, key=len, reverse=True):
                _run("umount", "-l", place, check=False)
        raise SystemExit(f"testhost: these mounts do not go: {', '.join(self._mounts())}")
