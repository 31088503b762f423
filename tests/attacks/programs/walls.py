"""Code in a daemon: what it can reach. The real daemons are made to try (injected.py)."""
import errno
import os
import shutil

from injected import inside
from target import LeftOut, eventually, shared


def status_of(pid):
    return dict(line.split(":\t", 1) for line in open(f"/proc/{pid}/status", encoding="utf-8").read().splitlines() if ":\t" in line)


def log_of(target, role):
    return open(os.path.join(target.folder(), f"{role}.log"), encoding="utf-8").read()


def confined(target):
    if "process.not_confined" in log_of(target, "apiserver"):
        raise LeftOut("a sanitizer's build is not confined")


def walled():
    """The target, started by an operator whose environment has a secret."""
    os.environ["AWS_SECRET_ACCESS_KEY"] = "canary-of-the-operator"
    try:
        target = shared(neighbour=False)
    finally:
        del os.environ["AWS_SECRET_ACCESS_KEY"]
    confined(target)
    return target


def marks(_short):
    """Each daemon runs without new privileges, under a filter of system calls, and without the environment of who started it."""
    target = walled()
    for role in ("apiserver", "syncer"):
        pid = target.pid(role)
        status = status_of(pid)
        assert status["NoNewPrivs"] == "1", role
        assert status["Seccomp"] == "2", role
        assert b"canary-of-the-operator" not in open(f"/proc/{pid}/environ", "rb").read(), role
        said = log_of(target, role)
        for part in ("process.confined", "Landlock: files", "not dumpable", "process.calls_dropped", "seccomp"):
            assert part in said, f"{role} does not say {part}"
    assert target.api("admin").request("GET", "/api/v1/pods").code == 200


# EXDEV is Landlock's of links, ENOSYS that of a kernel that has none of it.
REFUSALS = (errno.EPERM, errno.EACCES, errno.EXDEV, errno.ENOSYS)


def refused(traced, attacks):
    for name, *arguments in attacks:
        result = traced.call(name, *arguments)
        assert -result in REFUSALS, f"{name}{tuple(arguments)} gave {result}"
    return len(attacks)


def allowed(traced, controls):
    for name, *arguments in controls:
        result = traced.call(name, *arguments)
        assert result >= 0, f"{name}{tuple(arguments)} gave {result}"
        if name in ("open", "socket"):
            traced.call("close", result)


def for_nobody(other):
    """What no daemon needs: other processes, other programs, the kernel's less usual doors."""
    return [("execve", "/bin/true", 0, 0), ("fork",), ("clone", 17, 0, 0, 0, 0), ("ptrace", 16, other, 0, 0), ("kill", other, 0),
            ("process_vm_readv", other, 0, 0, 0, 0, 0), ("open", f"/proc/{other}/mem", 0), ("open", f"/proc/{other}/environ", 0), ("open", "/etc/shadow", 0),
            ("bpf", 0, 0, 0), ("mount", "a", "/tmp", "tmpfs", 0, 0), ("unshare", 0x10000000), ("io_uring_setup", 1, 0), ("userfaultfd", 0),
            ("keyctl", 0, 0, 0, 0, 0), ("perf_event_open", 0, 0, 0, 0, 0), ("setuid", 0)]


def api_server(_short):
    """Code in the API server reads and replaces nobody else's files, starts nothing, traces nobody and connects to nobody."""
    target = walled()
    folder, pid, other = target.folder(), target.pid("apiserver"), target.pid("syncer")
    with inside(pid) as traced:
        made = refused(traced, for_nobody(other) + [
            ("open", f"{folder}/host.kubeconfig", 0), ("open", f"{folder}/host.kubeconfig", 1), ("open", f"{folder}/virtual-cluster.json", 1),
            ("open", f"{folder}/syncer/host-token.json", 0), ("open", f"{target.state}/host/admin.kubeconfig", 0),
            ("unlink", f"{folder}/host.kubeconfig"), ("rename", f"{folder}/host.kubeconfig", f"{folder}/apiserver/taken"),
            ("link", f"{folder}/host.kubeconfig", f"{folder}/apiserver/taken"), ("socket", 2, 1, 0), ("socket", 10, 1, 0), ("socket", 1, 1, 0)])
        allowed(traced, [("open", f"{folder}/apiserver/state.db", 0), ("open", "/etc/hosts", 0), ("kill", pid, 0), ("getpid",)])
    assert target.api("admin").request("GET", "/api/v1/pods").code == 200  # none the worse for it
    return made


def syncer(_short):
    """Code in the syncer reads nothing of the API server's, writes nobody's files, starts nothing and traces nobody."""
    target = walled()
    folder, other = target.folder(), target.pid("apiserver")
    with inside(target.pid("syncer")) as traced:
        made = refused(traced, for_nobody(other) + [
            ("open", f"{folder}/apiserver/state.db", 0), ("open", f"{folder}/apiserver/ca.key", 0), ("open", f"{folder}/apiserver/state.db", 1),
            ("open", f"{folder}/apiserver/admin.kubeconfig", 0), ("open", f"{folder}/host.kubeconfig", 1), ("open", f"{folder}/virtual-cluster.json", 1),
            ("open", f"{target.state}/host/admin.kubeconfig", 0), ("unlink", f"{folder}/apiserver/ca.key"),
            ("rename", f"{folder}/apiserver/ca.key", f"{folder}/syncer/taken"), ("link", f"{folder}/apiserver/ca.key", f"{folder}/syncer/taken")])
        allowed(traced, [("open", f"{folder}/syncer/ready", 0), ("open", "/etc/hosts", 0), ("socket", 2, 1, 0), ("getpid",)])
    made_pod = target.api("admin").request("POST", "/api/v1/namespaces/default/pods", {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "after"}, "spec": {"containers": [{"name": "c", "image": "i"}]}})
    assert made_pod.code == 201, made_pod.message
    eventually(lambda: target.api("admin").request("GET", "/api/v1/namespaces/default/pods/after").json["status"].get("phase") == "Running",
               "the syncer is none the worse for it")
    return made


def supervisor(_short):
    """Code in the supervisor starts nothing but subletd, reads no other files, reaches into no process and not into the kernel."""
    target = walled()
    folder, other, pid = target.folder(), os.getpid(), target.pid("run")
    status = status_of(pid)
    assert status["NoNewPrivs"] == "1" and status["Seccomp"] == "2", status
    said = log_of(target, "run")
    for part in ("process.confined", "Landlock: files", "process.calls_dropped"):
        assert part in said, f"the supervisor does not say {part}"
    precious = os.path.join(target.state, "precious")
    with open(precious, "w", encoding="utf-8") as file:
        file.write("x")
    with inside(pid) as traced:
        attacks = [attack for attack in for_nobody(other) if attack[0] not in ("fork", "clone", "kill")]  # it starts others, and ends them
        attacks += [("kill", other, 0)] if "Landlock: signals" in said.split("refused_by_the_kernel")[0] else []
        made = refused(traced, attacks + [
            ("execve", "/bin/sh", 0, 0), ("execve", shutil.which("sublet"), 0, 0), ("open", f"{target.state}/host/admin.kubeconfig", 0),
            ("open", precious, 0), ("open", precious, 1), ("unlink", precious), ("rename", precious, f"{folder}/taken"), ("link", precious, f"{folder}/taken"),
            ("open", "/etc/passwd", 0)])
        allowed(traced, [("open", f"{folder}/daemon.lock", 2), ("open", f"{folder}/apiserver.log", 1), ("open", "/etc/hosts", 0), ("getpid",)])
    before = target.pid("apiserver")
    os.kill(before, 9)  # the control: what is its to start it starts

    def anew():
        try:
            return target.pid("apiserver") != before and target.api("admin").request("GET", "/api/v1/pods").code == 200
        except (RuntimeError, OSError):
            return False

    eventually(anew, "the supervisor begins an API server that has ended anew")
    return made


CASES = {"marks": marks, "api-server": api_server, "syncer": syncer, "supervisor": supervisor}
