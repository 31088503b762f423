"""What a tenant does to the syncer that they share a host with, and what the host does to objects under the syncer's hands."""
import json
import os
import socket
import time

from target import eventually, shared, sublet

PODS = "/api/v1/namespaces/default/pods"
MERGE = {"Content-Type": "application/merge-patch+json"}
FOLLOWS = 80  # more than the syncer's connections to its host for anything but logs
FLAPS = 300


def pod(name, **metadata):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **metadata},
            "spec": {"containers": [{"name": "c", "image": "busybox", "command": ["sleep", "3600"]}]}}


def make_running(api, name, seconds=60):
    begun = time.monotonic()
    made = api.request("POST", PODS, pod(name))
    assert made.code == 201, made.body[:300]
    eventually(lambda: api.request("GET", f"{PODS}/{name}").json.get("status", {}).get("phase") == "Running", f"{name} runs", seconds)
    return time.monotonic() - begun


def follow(target, name):
    """A quiet `kubectl logs -f`: the connection, and its answer's first line."""
    peer = target.admin.tls().wrap_socket(socket.create_connection(target.admin.address, timeout=30), server_hostname="localhost")
    peer.sendall(f"GET {PODS}/{name}/log?follow=true HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    return peer


def quiet_follows(_short):
    """80 quiet follows of a log: a new pod comes to the host as fast as before, and who leaves makes room at once."""
    target = shared()
    api = target.api("admin")
    make_running(api, "quiet")
    alone = make_running(api, "before")
    peers = [follow(target, "quiet") for _ in range(FOLLOWS)]
    held = make_running(api, "beside", 120)
    assert held < max(5.0, 5 * alone), f"a pod runs after {held:.1f} s beside {FOLLOWS} follows; alone after {alone:.1f} s"
    for peer in peers:
        peer.close()

    for _ in range(20):
        answer = api.request("GET", f"{PODS}/quiet/log")
        assert answer.code == 200, f"those that have left make no room: {answer.code} {answer.body[:300]}"


def label_flaps(_short):
    """300 changes of a label as fast as they are taken: a few writes on the host, the first at once and the last of them all."""
    target = shared()
    api, host = target.api("admin"), target.api("host")
    for name in ("flapping", "calm"):
        make_running(api, name)
    pods = f"/api/v1/namespaces/{target.NAMESPACE}/pods"

    def on_host(name):
        return host.request("GET", f"{pods}/{name}-x-default-x-{target.NAME}").json["metadata"]

    def flap(name, turn):
        changed = api.request("PATCH", f"{PODS}/{name}", {"metadata": {"labels": {"turn": str(turn)}}}, MERGE)
        assert changed.code == 200, changed.body[:300]

    def turn_of(name):
        return on_host(name)["labels"].get("t.sublet.dev/turn")

    before = on_host("flapping")["resourceVersion"]
    begun = time.monotonic()
    for turn in range(FLAPS):
        flap("flapping", turn)
    flap("calm", 1)
    eventually(lambda: turn_of("calm") == "1", "one that is changed once does not wait for it", 5)
    eventually(lambda: turn_of("flapping") == str(FLAPS - 1), "the last one is carried")
    took = time.monotonic() - begun
    seen = host.request("GET", f"{pods}?watch=true&resourceVersion={before}&timeoutSeconds=1"
                               f"&fieldSelector=metadata.name=flapping-x-default-x-{target.NAME}").body
    writes = [event for event in map(json.loads, seen.splitlines()) if event["type"] == "MODIFIED"]
    most = 10 + took  # pauses of 0.1 s, 0.2 s ... and then of 2 s; a machine that stalls begins anew
    assert 1 <= len(writes) <= most, f"{len(writes)} writes on the host of {FLAPS} flaps in {took:.1f} s"
    print(f"     {len(writes)} writes on the host of {FLAPS} flaps in {took:.1f} s", flush=True)


def marks_taken_away(_short):
    """The label by which the syncer finds its pods is taken off on the host: delete finds the pod all the same."""
    target = shared()  # whose neighbour keeps the embedded host
    api, host = target.api("admin"), target.api("host")
    make_running(api, "hidden")
    make_running(api, "plain")
    pods = f"/api/v1/namespaces/{target.NAMESPACE}/pods"
    names = {short: f"{short}-x-default-x-{target.NAME}" for short in ("hidden", "plain")}
    keeper = host.request("POST", f"/api/v1/namespaces/{target.NAMESPACE}/configmaps",
                          {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "platforms"}})  # so that the namespace stays
    assert keeper.code == 201, keeper.body
    pid = target.pid("syncer")
    os.kill(pid, 19)  # it would put the label back
    try:
        off = host.request("PATCH", f"{pods}/{names['hidden']}", {"metadata": {"labels": {"sublet.dev/virtual-cluster-uid": None}}}, MERGE)
        assert off.code == 200, off.body[:300]
    finally:
        os.kill(pid, 18)
    sublet("delete", target.NAME, "-n", target.NAMESPACE, "--yes")
    for name in names.values():
        eventually(lambda name=name: host.request("GET", f"{pods}/{name}").code == 404, f"{name} goes with the virtual cluster", 60)


def events_of_others(_short):
    """An event of the host's about a tenant's pod whose text names another tenant's pod: what the tenant reads of it does not."""
    target = shared()
    api, host = target.api("admin"), target.api("host")
    make_running(api, "mine")
    name = f"mine-x-default-x-{target.NAME}"
    uid = host.request("GET", f"/api/v1/namespaces/{target.NAMESPACE}/pods/{name}").json["metadata"]["uid"]
    made = host.request("POST", f"/api/v1/namespaces/{target.NAMESPACE}/events",
                        {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "told", "namespace": target.NAMESPACE},
                         "reason": "Preempted", "type": "Warning",
                         "message": f"{target.NAMESPACE}/{name} makes room for elsewhere/secret-x-prod-x-other",
                         "involvedObject": {"kind": "Pod", "namespace": target.NAMESPACE, "name": name, "uid": uid}})
    assert made.code == 201, made.body[:300]

    def told():
        items = api.request("GET", "/api/v1/namespaces/default/events").json["items"]
        return [item["message"] for item in items if item["reason"] == "Preempted"]

    eventually(told, "the tenant hears of it")
    message = told()[0]
    assert "default/mine" in message, message
    assert "secret" not in message and "x-other" not in message and "elsewhere" not in message, message


# The last one takes the virtual cluster away.
CASES = {"quiet-follows": quiet_follows, "label-flaps": label_flaps, "events-of-others": events_of_others, "marks-taken-away": marks_taken_away}
