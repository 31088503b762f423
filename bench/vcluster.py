"""vCluster as a plain process beside a host of tools/testhost: the peer of the pod figures.

The chart's objects are applied with the StatefulSet at 0 replicas, with a Pod object of the name that it would have made. The paths of
its image (/binaries, /data) are links into a state folder; they exist while it runs. The processes carry testhost's
mark with that folder, so that they are found again, also by `testhost down --name bench-vcluster` after a crash.
"""

import base64
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import servers

sys.path.insert(0, str(servers.ROOT / "tools/testhost"))
import build  # noqa: E402
import stack  # noqa: E402

LINKS = {Path("/binaries"): "binaries", Path("/data"): "data"}
INSIDE = ("kube-apiserver", "kube-controller-manager", "kine", "helm")
NAME, NAMESPACE = "vc", "team-vcluster"


class VCluster:
    def __init__(self, host_kubeconfig: Path):
        self.host = host_kubeconfig
        self.state = stack.hosts_dir() / "bench-vcluster"
        self.kubeconfig = self.state / "kubeconfig"
        programs = {name: build.build(name) for name in (*INSIDE, "vcluster")}
        self._sweep()
        for path in LINKS:
            if path.exists():
                raise SystemExit(f"bench: vCluster needs {path}, and something else is there")
        for folder in ("binaries", "data"):
            (self.state / folder).mkdir(parents=True)
        for name in INSIDE:
            (self.state / "binaries" / name).symlink_to(programs[name])
        for path, folder in LINKS.items():
            path.symlink_to(self.state / folder)
        self._apply_chart(programs["helm"])
        self.log = open(self.state / "log", "wb")
        started = time.monotonic()
        self.process = subprocess.Popen([programs["vcluster"], "start", "--config", self.state / "config.yaml"], stdout=self.log,
                                        stderr=self.log, env=self._environment(), start_new_session=True, cwd=self.state)
        servers.wait_for("the kubeconfig of vCluster", self._has_kubeconfig, 120)
        servers.wait_for("an answer of vCluster", lambda: self._ended() or self._kubectl(self.kubeconfig, "get", "namespaces").returncode == 0, 120)
        self.start_s = time.monotonic() - started
        servers.wait_for("vCluster's default service account", lambda: self._kubectl(
            self.kubeconfig, "get", "serviceaccount", "default").returncode == 0, 120)
        self.pids = stack.processes_of(self.state)

    def _environment(self) -> dict:
        return {**os.environ, stack.MARK: str(self.state), "KUBECONFIG": str(self.host), "VCLUSTER_NAME": NAME, "POD_NAME": f"{NAME}-0",
                "POD_NAMESPACE": NAMESPACE, "NAMESPACE": NAMESPACE, "POD_IP": "127.0.0.1", "NODE_NAME": "node-00",
                "NODE_IP": "127.0.0.1", "HOME": str(self.state)}

    def _kubectl(self, kubeconfig: Path, *arguments, text: str | None = None):
        return subprocess.run([servers.kubectl(), "--kubeconfig", kubeconfig, *arguments], input=text, capture_output=True, text=True)

    def _apply(self, text: str):
        done = self._kubectl(self.host, "apply", "-n", NAMESPACE, "-f", "-", text=text)
        if done.returncode:
            raise RuntimeError(f"vCluster's objects on the host: {done.stderr.strip()}")

    def _apply_chart(self, helm: Path):
        pin = build.pins()["component"]["vcluster"]
        chart = build.module_dir(pin["module"], pin["version"]) / "chart"
        objects = subprocess.run([helm, "template", NAME, chart, "--namespace", NAMESPACE, "--kube-version", build.pins()["release"]["kubernetes"],
                                  "--set", "controlPlane.statefulSet.highAvailability.replicas=0",
                                  "--set", "controlPlane.distro.k8s.enabled=true", "--set", "sync.fromHost.nodes.enabled=true",
                                  "--set", "sync.fromHost.nodes.selector.all=true", "--set", "telemetry.enabled=false"],
                                 check=True, capture_output=True, text=True).stdout
        self._kubectl(self.host, "create", "namespace", NAMESPACE)
        self._apply(objects)
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"{NAME}-0", "labels": {"app": "vcluster", "release": NAME}},
               "spec": {"containers": [{"name": "syncer", "image": "vcluster"}], "nodeName": "node-00", "automountServiceAccountToken": False}}
        self._apply(json.dumps(pod))
        config = self._kubectl(self.host, "get", "secret", f"vc-config-{NAME}", "-n", NAMESPACE, "-o", r"jsonpath={.data.config\.yaml}")
        (self.state / "config.yaml").write_bytes(base64.b64decode(config.stdout))

    def _ended(self) -> bool:
        if self.process.poll() is not None:
            raise RuntimeError(f"vCluster has ended; its log:\n{(self.state / 'log').read_text(errors='replace')[-3000:]}")
        return False

    def _has_kubeconfig(self) -> bool:
        self._ended()
        found = self._kubectl(self.host, "get", "secret", f"vc-{NAME}", "-n", NAMESPACE, "-o", "jsonpath={.data.config}")
        if found.returncode or not found.stdout:
            return False
        self.kubeconfig.write_bytes(base64.b64decode(found.stdout))
        return True

    def _sweep(self):
        stack.kill_all(self.state)
        for path, folder in LINKS.items():
            if path.is_symlink() and path.readlink() == self.state / folder:
                path.unlink()
        if self.state.exists():
            shutil.rmtree(self.state)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.log.close()
        self._sweep()
