#!/usr/bin/env python3
# host: given, 15 s
"""What a syncer says it has written to a real host ($HOST_KUBECONFIG, a host of `testhost up --audit`) is what the host's own audit log
says, request by request: through creates, changes, deletions, refusals and a killed syncer. Each names the tenant's user who asked for
it, and by which request. And an edited log is noticed."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "attacks"))
from target import Api, Kubeconfig, eventually, sublet  # noqa: E402

NAME, NAMESPACE, PODS = "audited", "audited", 20
USER = f"system:serviceaccount:{NAMESPACE}:sublet-syncer-{NAME}"
MERGE = {"Content-Type": "application/merge-patch+json"}
MAKER, CHANGER = "jane", "joe"


def lines(path):
    for line in open(path, encoding="utf-8"):
        if line.endswith("\n"):
            yield json.loads(line)


def hosts_log(path):
    """auditID -> (verb, code) of what the syncer has written, as the host tells it."""
    return {event["auditID"]: (event["verb"], event["responseStatus"]["code"]) for event in lines(path)
            if event["stage"] == "ResponseComplete" and event["user"]["username"] == USER}


def own_log(folder):
    return {record["requestId"]: (record["verb"], record["code"]) for path in sorted(folder.glob("host-writes.*.jsonl")) for record in lines(path)}


class Person:
    """A user of the tenant; keeps which requests were its own: (resource, name, verb) -> id."""

    def __init__(self, kubeconfig, user):
        self.user, self.requests = user, {}
        self.api = Api(kubeconfig, headers={"Impersonate-User": user, "Impersonate-Group": "system:masters"})

    def request(self, verb, resource, name, body, headers=None):
        target = f"/api/v1/namespaces/default/{resource}" + ("" if verb == "POST" else f"/{name}")
        answer = self.api.request(verb, target, body, headers)
        assert answer.code in (200, 201), answer.body
        self.requests[(resource, name, verb)] = {key.lower(): value for key, value in answer.headers.items()}["audit-id"]


def work(state, maker, changer):
    def make(resource, kind, name, **more):
        maker.request("POST", resource, name, {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}, **more})

    make("configmaps", "ConfigMap", "settings", data={"a": "b"})
    for index in range(PODS):
        make("pods", "Pod", f"p{index}", spec={"containers": [{"name": "c", "image": "i", "envFrom": [{"configMapRef": {"name": "settings"}}]}]})
        make("services", "Service", f"s{index}", spec={"ports": [{"port": 80}], "selector": {"a": "b"}})
    for index in range(0, PODS, 2):
        changer.request("PATCH", "services", f"s{index}", {"spec": {"ports": [{"port": 81}]}}, MERGE)
        changer.request("PATCH", "pods", f"p{index}", {"metadata": {"labels": {"tier": "front"}}}, MERGE)
    pid = int(subprocess.run(["pgrep", "-f", f"subletd syncer .*{state}"], capture_output=True, text=True, check=True).stdout.split()[0])
    os.kill(pid, signal.SIGTERM)  # a killed one may lose its last lines (docs/security.md)
    changer.request("PATCH", "configmaps", "settings", {"data": {"a": "c"}}, MERGE)
    for index in range(0, PODS, 3):
        changer.request("DELETE", "pods", f"p{index}", {"gracePeriodSeconds": 0})
        changer.request("DELETE", "services", f"s{index}", None)


def same(host_log, folder):
    theirs, ours = hosts_log(host_log), own_log(folder)
    missing = [(key, value) for key, value in theirs.items() if ours.get(key) != value]
    invented = [(key, value) for key, value in ours.items() if key not in theirs and value[1] != 0]
    return not missing and not invented, len(theirs), missing[:5], invented[:5]


def check_users(check, records, maker, changer):
    """Who asked for what the log tells: exactly for what people made and removed; and somebody, for all that stands for a tenant's object."""
    written = [record for record in records if record["code"] in (200, 201)]

    def told(resource, name, verb):
        return {(record["tenant"].get("user"), record["tenant"].get("requestId")) for record in written
                if record["verb"] == verb and record.get("tenant", {}).get("resource") == resource and record["tenant"]["name"] == name}

    wrong = []
    for person, theirs, ours in ((maker, "POST", "create"), (changer, "DELETE", "delete")):
        for (resource, name, verb), request_id in person.requests.items():
            # A pod's token Secret is made for the pod too: one of the records is the object's own.
            if verb == theirs and (person.user, request_id) not in told(resource, name, ours):
                wrong.append((resource, name, verb, request_id, told(resource, name, ours)))
    check(f"{MAKER} made and {CHANGER} removed each, by their requests' ids", not wrong and written, wrong[:3])
    changed = told("configmaps", "settings", "patch") | told("configmaps", "settings", "update")
    check("what was changed while the syncer was away too", (CHANGER, changer.requests[("configmaps", "settings", "PATCH")]) in changed, changed)
    of_tenant = [record for record in written if "resource" in record.get("tenant", {})]
    # Nobody's: what the API server itself writes when it starts, the ConfigMap that tells pods where it is, and tokens that the syncer takes away when their time is over.
    nobodys = lambda record: record["tenant"]["name"] in ("kube-root-ca.crt", "kubernetes") or (record["verb"] == "delete" and "/secrets/sublet-token-" in record["path"])
    named = [record for record in of_tenant if not nobodys(record)]
    nameless = [record for record in named if not record["tenant"].get("user") or not record["tenant"].get("requestId")]
    check(f"{len(named)} of {len(written)} stand for a tenant's object that a user wrote, and name the user", named and not nameless, nameless[:3])


def main():
    kubeconfig = pathlib.Path(os.environ["HOST_KUBECONFIG"])
    host_log = kubeconfig.parent / "audit.log"
    state = tempfile.mkdtemp(prefix="sublet-audit-")
    os.environ.update(SUBLET_STATE_DIR=state, HOME=state)
    os.environ.pop("KUBECONFIG", None)
    passed, failed = 0, 0

    def check(what, good, detail=""):
        nonlocal passed, failed
        passed, failed = passed + bool(good), failed + (not good)
        print(f"ok: {what}" if good else f"FAILED: {what}: {detail}", file=sys.stdout if good else sys.stderr)

    try:
        sublet("create", NAME, "-n", NAMESPACE, "--host-kubeconfig", str(kubeconfig))
        folder = pathlib.Path(state, "clusters", NAMESPACE, NAME)
        tenant = Kubeconfig(str(next(folder.glob("**/admin.kubeconfig"))))
        maker, changer = Person(tenant, MAKER), Person(tenant, CHANGER)
        work(state, maker, changer)
        host = Api(Kubeconfig(str(kubeconfig)))

        def settled():
            left = host.request("GET", f"/api/v1/namespaces/{NAMESPACE}/services").json["items"]
            now = host.request("GET", f"/api/v1/namespaces/{NAMESPACE}/configmaps/settings-x-default-x-{NAME}").json.get("data")
            return len(left) == PODS - len(range(0, PODS, 3)) and now == {"a": "c"}

        eventually(settled, "the host has what the tenant has", 120)
        quiet = len(hosts_log(host_log))
        for _ in range(20):  # until no more is written for a while
            time.sleep(0.5)
            if len(hosts_log(host_log)) == quiet:
                break
            quiet = len(hosts_log(host_log))
        good, count, missing, invented = same(host_log, folder / "syncer" / "audit")
        check(f"{count} writes stand in both logs, with the same verb and code", good and count > 3 * PODS,
              f"the host alone has {missing}, ours alone {invented}")
        done = sublet("audit", NAME, "-n", NAMESPACE, "-o", "json", check=False)
        check("the chain holds", done.returncode == 0 and json.loads(done.stdout)["records"] >= count, done.stderr)
        head = json.loads(done.stdout)["head"] if done.returncode == 0 else ""
        with_uid = [record for path in (folder / "syncer" / "audit").glob("*") for record in lines(path) if record["code"] in (200, 201)]
        check("each that was carried out names the host's object", all(record.get("hostUid") for record in with_uid),
              [record for record in with_uid if not record.get("hostUid")][:3])
        records = [record for path in (folder / "syncer" / "audit").glob("*") for record in lines(path)]
        check_users(check, records, maker, changer)
        path = sorted((folder / "syncer" / "audit").glob("*"))[0]
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace('"verb":"delete"', '"verb":"patch"', 1), encoding="utf-8")
        check("an edited line is noticed", sublet("audit", NAME, "-n", NAMESPACE, check=False).returncode != 0)
        path.write_text(text[:text.rstrip("\n").rfind("\n") + 1], encoding="utf-8")
        check("what was cut off too, by a hash that was kept", sublet("audit", NAME, "-n", NAMESPACE, "--head", head, check=False).returncode != 0)
    except AssertionError as wrong:
        check("the run", False, wrong)
    finally:
        sublet("delete", NAME, "-n", NAMESPACE, "--yes", check=False)
        shutil.rmtree(state, ignore_errors=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
