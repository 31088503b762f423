"""What bench/run says of every kind: the server's CPU for a create, and what the code of the kinds' rules adds to the executable."""

import json
import subprocess

import servers

OBJECTS = (servers.ROOT / "tools/differential/seeds.txt", servers.ROOT / "bench/kinds.txt")
NOT_CREATED = ("v1/bindings",)  # a write on a pod, not an object


def created_kinds(kubeconfig) -> set[str]:
    """VERSION/RESOURCE of all that the server lets one create, as discovery says it."""
    ask = lambda path: json.loads(subprocess.run([servers.kubectl(), "--kubeconfig", kubeconfig, "get", "--raw", path],
                                                 capture_output=True, check=True).stdout)
    versions = ["v1"] + [version["groupVersion"] for group in ask("/apis")["groups"] for version in group["versions"]]
    found = set()
    for version in versions:
        for resource in ask(("/apis/" if "/" in version else "/api/") + version)["resources"]:
            if "/" not in resource["name"] and "create" in resource["verbs"]:
                found.add(f"{version}/{resource['name']}")
    return found - set(NOT_CREATED)


def rules_mib(build):
    """Code and data of strategies and validation as their objects have them: what they share with each other counts twice, what the linker
    leaves out counts too, so it is more than they add."""
    folders = [build / "apiserver/CMakeFiles/sublet_apiserver.dir" / name for name in ("strategies", "validation")]
    objects = [str(path) for folder in folders for path in folder.glob("*.o") if "_test" not in path.name]
    lines = subprocess.run(["size", *objects], capture_output=True, text=True, check=True).stdout.splitlines()[1:]
    return sum(int(line.split()[0]) + int(line.split()[1]) for line in lines) / 2**20


def creates(count: int) -> dict:
    # Controllers would make objects of their own out of these (endpoints of a Service by its name), on the same CPU.
    with servers.Apiserver(flags=("--controllers", "none")) as server:
        made = servers.client("creates", "--kubeconfig", server.kubeconfig, "--pids", ",".join(map(str, server.pids)),
                              "--objects", ",".join(map(str, OBJECTS)), "--count", count)
        missing = created_kinds(server.kubeconfig) - set(made)
    if missing:  # a kind that is new has its row, or nothing is said
        raise RuntimeError(f"no object for {', '.join(sorted(missing))} in {' or '.join(str(path) for path in OBJECTS)}")
    return made


def figures(rounds: int, count: int) -> dict:
    return {"creates_cpu_us": servers.medians([creates(count) for _ in range(rounds)]), "rules_mib": rules_mib(servers.BIN.parent)}
