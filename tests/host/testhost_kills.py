#!/usr/bin/env python3
# host: own, 150 s
"""The stand survives being killed: `testhost up` meets SIGKILL at random moments, and the next `up` always works.

Each of the kills strikes the program `up` itself, some of the components, or both, anywhere between the start and a moment after the host
is up; every other time, by the dice, KAI runs beside it. What follows is `down` and `up`, or straight `up`; the host must then answer. All the while a second host of
another name stands on a port of its own and must not notice. At the end no process, port or file is left.
The seed is printed; SEED=... repeats a run, KILLS=... changes the number.
"""

import os
import random
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools/testhost"))
sys.dont_write_bytecode = True

import stack  # noqa: E402

PROGRAM = str(ROOT / "tools/testhost/testhost")
VICTIM, NEIGHBOUR = f"killed-{os.getpid()}", f"beside-{os.getpid()}"
FLAGS = ["--nodes", "1", "--gpu-nodes", "1", "--with", "kwok"]
KAI = ["--kai"]
passed = failed = 0


def check(what: str, good: bool, detail: str = ""):
    global passed, failed
    if good:
        passed += 1
        print(f"ok: {what}", flush=True)
    else:
        failed += 1
        print(f"FAILED: {what}: {detail}", file=sys.stderr, flush=True)


def testhost(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True)


def up(name: str, port: int, more: list[str]) -> subprocess.CompletedProcess:
    return testhost("up", "--name", name, "--port", str(port), *FLAGS, *more)


def answers(name: str, port: int, more: list[str]) -> bool:
    """Its one node is there: the API server, its store and its credentials belong together. A pod for KAI's scheduler is
    judged, if KAI shall be there: a whole GPU beside a share of one is what KAI's webhook refuses, and nobody else."""
    api = stack.Api(port, stack.Host(name).pki)
    code, body = api.call("GET", "/api/v1/nodes/node-00")
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "both", "annotations": {"gpu-fraction": "0.5"}},
           "spec": {"schedulerName": "kai-scheduler", "serviceAccountName": "kai-resource-reservation", "containers": [
               {"name": "c", "image": "i", "resources": {"limits": {"nvidia.com/gpu": 1}}}]}}
    judgement = api.call("POST", "/api/v1/namespaces/kai-resource-reservation/pods?dryRun=All", pod)[1] if more else b""
    return code == 200 and b"nvidia.com/gpu" in body and (not more or b"admission.kai-scheduler.svc" in judgement)


def listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def kill(pid: int):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def strike(moment: float, dice: random.Random, port: int, more: list[str]) -> str:
    """Starts `up` and kills at `moment`; says what was hit."""
    program = subprocess.Popen([PROGRAM, "up", "--name", VICTIM, "--port", str(port), *FLAGS, *more],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        program.wait(moment)
    except subprocess.TimeoutExpired:
        pass
    under_way = program.poll() is None
    components = stack.processes_of(stack.Host(VICTIM).state)
    chosen = [pid for pid in components if dice.random() < 0.5]
    if under_way and (not chosen or dice.random() < 0.7):
        kill(program.pid)  # the usual crash; the components go on
    for pid in chosen or ([] if under_way else components[:1]):
        kill(pid)
    code = program.wait()  # an `up` that lost a component must end by itself, and say so
    return f"{'KAI, ' if more else ''}{'during' if under_way else 'after'} up, at {moment:.2f} s, {len(chosen)} of {len(components)} components, code {code}"


def left_of(name: str) -> str:
    folder = stack.hosts_dir()
    pids = stack.processes_of(folder / name)
    files = [path.name for path in folder.glob(f"{name}*")]
    return f"processes {pids}, files {files}" if pids or files else ""


def main() -> int:
    seed = int(os.environ.get("SEED") or random.SystemRandom().randrange(10**6))
    kills = int(os.environ.get("KILLS") or 20)
    print(f"seed {seed}, {kills} kills")
    dice = random.Random(seed)
    own, beside = stack.free_ports(2)
    try:
        started = time.monotonic()
        first = up(VICTIM, own, KAI)
        whole = time.monotonic() - started
        check("a host comes up on the chosen port", first.returncode == 0 and answers(VICTIM, own, KAI), first.stderr)
        second = up(NEIGHBOUR, beside, KAI)
        check("a second one beside it", second.returncode == 0 and answers(NEIGHBOUR, beside, KAI), second.stderr)
        neighbours = stack.processes_of(stack.Host(NEIGHBOUR).state)
        for index in range(kills):
            more = KAI if dice.random() < 0.5 else []
            hit = strike(dice.uniform(0, 1.2 * whole), dice, own, more)
            if dice.random() < 0.5:
                down = testhost("down", "--name", VICTIM)
                check(f"kill {index + 1} ({hit}): down", down.returncode == 0 and not left_of(VICTIM), down.stderr + left_of(VICTIM))
            again = up(VICTIM, own, more)
            check(f"kill {index + 1} ({hit}): up", again.returncode == 0 and answers(VICTIM, own, more), again.stderr)
        check("the host beside it did not notice",
              answers(NEIGHBOUR, beside, KAI) and neighbours == stack.processes_of(stack.Host(NEIGHBOUR).state))
    finally:
        for name in (VICTIM, NEIGHBOUR):
            down = testhost("down", "--name", name)
            check(f"down of {name}", down.returncode == 0, down.stderr)
    check("no process and no file is left", not left_of(VICTIM) + left_of(NEIGHBOUR), left_of(VICTIM) + left_of(NEIGHBOUR))
    # A process that was killed is gone from /proc's view before the kernel has closed its sockets.
    deadline = time.monotonic() + 30
    while (listening(own) or listening(beside)) and time.monotonic() < deadline:
        time.sleep(0.05)
    check("and nobody listens", not listening(own) and not listening(beside))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
