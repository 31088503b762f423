"""Starts and stops what the benches measure, and asks /proc about it. Standard library only."""

import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(os.environ.get("SUBLET_BIN_DIR") or ROOT / "build/release/bin")
CLIENT = Path(os.environ.get("SUBLET_BENCH_CLIENT") or ROOT / "build/release/bin/sublet_bench")


def say(text: str):
    print(f"[{time.strftime('%H:%M:%S')}] {text}", file=sys.stderr, flush=True)


def kubectl() -> str:
    if os.environ.get("KUBECTL"):
        return os.environ["KUBECTL"]
    return subprocess.run([ROOT / "tools/kubectl-path"], capture_output=True, text=True, check=True).stdout.strip()


def wait_for(what: str, condition, seconds: float):
    """Polls; the pause bounds only how late we notice."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise SystemExit(f"bench: {what}: not within {seconds:.0f} s")
        time.sleep(0.005)


def client(*arguments) -> dict:
    """One scenario of the load client; its figures."""
    done = subprocess.run([CLIENT, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"sublet_bench {arguments[0]}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def pss_kib(pids) -> float:
    total = 0
    for pid in pids:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
        total += int(re.search(r"^Pss:\s+(\d+)", text, re.M).group(1))
    return total


def cpu_seconds(pids) -> float:
    ticks = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def own_address() -> str:
    """An address of this machine that is not loopback, if it has one: servers compress nothing for a peer on loopback."""
    for address in subprocess.run(["hostname", "-I"], capture_output=True, text=True).stdout.split():
        if ":" not in address:
            return address
    return "127.0.0.1"


def pids_by(needle: str) -> list[int]:
    """Processes whose command line holds `needle` (a path of this run's own folder)."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        try:
            command = Path(f"/proc/{entry}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if needle in command and "subletd" in command:
            found.append(int(entry))
    return sorted(found)


class Apiserver:
    """`subletd apiserver` alone, on a fresh folder; of another build when its folder is given."""

    def __init__(self, binaries: Path = BIN, host="127.0.0.1", flags=()):
        self.folder = Path(tempfile.mkdtemp(prefix="sublet-bench-"))
        self.kubeconfig = self.folder / "kubeconfig"
        self.log = open(self.folder / "log", "wb")
        self.process = subprocess.Popen(
            [binaries / "subletd", "apiserver", "--data", self.folder / "data", "--listen", f"{host}:0",
             "--admin-kubeconfig", self.kubeconfig, *flags], stdout=self.log, stderr=self.log)
        self.pids = [self.process.pid]
        wait_for("subletd apiserver", self._ready, 20)

    def _ready(self) -> bool:
        if self.process.poll() is not None:
            raise SystemExit(f"bench: subletd apiserver has ended; its log:\n{(self.folder / 'log').read_text()[-2000:]}")
        return self.kubeconfig.exists() and subprocess.run(
            [kubectl(), "--kubeconfig", self.kubeconfig, "get", "--raw", "/readyz"], capture_output=True).returncode == 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class Stack:
    """kube-apiserver with its store, of tools/testhost: alone the API figures' peer, with components a host for pods."""

    def __init__(self, store="etcd", components="", nodes=0):
        self.name = f"bench-{store}"
        started = time.monotonic()
        self._testhost("up", "--name", self.name, "--store", store, "--nodes", str(nodes), "--gpu-nodes", "0", "--with", components)
        line = self._testhost("env", "--name", self.name)
        self.kubeconfig = Path(line.strip().split("KUBECONFIG=", 1)[1])
        self.start_s = time.monotonic() - started
        sys.path.insert(0, str(ROOT / "tools/testhost"))
        import stack
        self.pids = stack.processes_of(self.kubeconfig.parent)

    def _testhost(self, *arguments) -> str:
        return subprocess.run([ROOT / "tools/testhost/testhost", *arguments], check=True, stdout=subprocess.PIPE,
                              text=True).stdout

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._testhost("down", "--name", self.name)


class VirtualClusters:
    """sublet with a state folder of its own: virtual clusters made by the real command line, on an embedded host with
    `nodes` nodes or on the host of a kubeconfig."""

    def __init__(self, nodes: int, real_host: Path | None = None):
        self.real_host = real_host
        self.folder = Path(tempfile.mkdtemp(prefix="sublet-bench-"))
        self.state = self.folder / "state"
        (self.folder / "home/.kube").mkdir(parents=True)
        self.environment = {**os.environ, "SUBLET_STATE_DIR": str(self.state), "HOME": str(self.folder / "home"),
                            "KUBECONFIG": str(self.folder / "home/.kube/config"), "PATH": f"{BIN}:{os.environ['PATH']}"}
        self.nodes = nodes
        self.made: list[str] = []

    def run(self, *arguments, check=True) -> str:
        done = subprocess.run([str(a) for a in arguments], env=self.environment, capture_output=True, text=True)
        if check and done.returncode:
            raise RuntimeError(f"{' '.join(map(str, arguments[:3]))}: {done.stderr.strip()}")
        return done.stdout

    def sublet(self, *arguments, check=True) -> str:
        return self.run(BIN / "sublet", *arguments, check=check)

    def create(self, name: str) -> float:
        """Seconds from `sublet create` to kubectl's first answer from inside."""
        started = time.monotonic()
        self.made.append(name)
        flags = ["--nodes", self.nodes, "--gpu-nodes", 0] if len(self.made) == 1 else []
        if self.real_host:
            flags = ["--host-kubeconfig", self.real_host]
        self.sublet("create", name, "--namespace", f"team-{name}", *flags)
        self.kubectl(name, "get", "namespaces")
        return time.monotonic() - started

    def kubectl(self, name: str, *arguments, check=True) -> str:
        return self.sublet("connect", name, "--namespace", f"team-{name}", "--", kubectl(), *arguments, check=check)

    def kubeconfig(self, name: str) -> Path:
        path = self.folder / f"{name}.kubeconfig"
        path.write_text(self.sublet("connect", name, "--namespace", f"team-{name}", "--print"))
        return path

    @property
    def host_kubeconfig(self) -> Path:
        return self.real_host or self.state / "host/admin.kubeconfig"

    def pids(self, name: str) -> list[int]:
        return pids_by(f"{self.state}/clusters/team-{name}/{name}")

    def delete(self, name: str):
        self.made.remove(name)
        self.sublet("delete", name, "--namespace", f"team-{name}", "--yes", "--keep-host")

    def delete_measured(self, name: str) -> tuple[float, float]:
        """Seconds that `sublet delete` took, and its own CPU seconds."""
        self.made.remove(name)
        started = time.monotonic()
        process = subprocess.Popen([BIN / "sublet", "delete", name, "--namespace", f"team-{name}", "--yes", "--keep-host"],
                                   env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        said = process.stderr.read()
        _, code, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(code)
        if code:
            raise RuntimeError(f"sublet delete {name}: {said.strip()}")
        return time.monotonic() - started, usage.ru_utime + usage.ru_stime

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for name in self.made:
            self.sublet("delete", name, "--namespace", f"team-{name}", "--yes", "--force", "--keep-host", check=False)
        for pid in pids_by(str(self.state)):
            os.kill(pid, signal.SIGTERM)
        wait_for("the end of the bench's daemons", lambda: not pids_by(str(self.state)), 20)
        shutil.rmtree(self.folder, ignore_errors=True)


def medians(runs: list[dict]) -> dict:
    return {key: statistics.median(run[key] for run in runs if key in run) for key in runs[0]}


def commit() -> str:
    return subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()


def machine() -> str:
    model = re.search(r"model name\s*:\s*(.*)", Path("/proc/cpuinfo").read_text())
    return (f"{os.cpu_count()} cores ({model.group(1) if model else 'unknown'}), Linux {os.uname().release}, "
            f"load average at the start {os.getloadavg()[0]:.1f}")
