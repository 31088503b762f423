"""Masses of connections by peers that do not show who they are."""
import functools
import resource
import select
import socket
import ssl
import threading
import time

from target import Api, Target, eventually, memory_kib, sanitized, shared

MEMORY_KIB_MAX = 64 * 1024
SHORT_SECONDS = 5
MOMENT_SECONDS = 0.5  # what is too much the server closes when it comes
NOISE_SECONDS = 0.010  # what a busy machine of two cores adds by itself to the slowest of a few hundred requests


@functools.cache
def client_hello():
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = ssl.create_default_context().wrap_bio(incoming, outgoing, server_hostname="localhost")
    try:
        tls.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return outgoing.read()


def half_hello(address):
    """The first half of a TLS handshake: a whole ClientHello, and nothing after it."""
    peer = socket.create_connection(address, timeout=30)
    peer.sendall(client_hello())
    return peer


def idle_tls(address, context):
    return context.wrap_socket(socket.create_connection(address, timeout=30), server_hostname="localhost")


def slow_body(address, context):
    peer = idle_tls(address, context)
    peer.sendall(b"POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                 b"Content-Length: 3000000\r\n\r\n" + b"{" * 16000)
    return peer


class Crowd(threading.Thread):
    """Attempts so many connections, a quarter of each kind, and keeps what it gets."""

    def __init__(self, kubeconfig, count):
        super().__init__(daemon=True)
        self.address, self.count, self.context = kubeconfig.address, count, kubeconfig.tls(with_certificate=False)
        self.kept, self.attempted = [], 0

    def run(self):
        kinds = [lambda: socket.create_connection(self.address, timeout=30), lambda: half_hello(self.address),
                 lambda: idle_tls(self.address, self.context), lambda: slow_body(self.address, self.context)]
        for i in range(self.count):
            self.attempted += 1
            try:
                self.kept.append(kinds[i % len(kinds)]())
            except OSError:
                pass  # turned away

    def end(self):
        for peer in self.kept:
            peer.close()


def latencies(kubeconfig, requests):
    """Seconds of an administrator's requests, on a kept connection and on new ones."""
    kept, took = Api(kubeconfig), {"kept": [], "new": []}
    kept.request("GET", "/api/v1/namespaces/default")
    for _ in range(requests):
        for kind in took:
            api = kept if kind == "kept" else Api(kubeconfig, context=kept.context)
            begun = time.monotonic()
            answer = api.request("GET", "/api/v1/namespaces/default")
            took[kind].append(time.monotonic() - begun)
            if kind == "new":
                api.close()
            assert answer.code == 200, answer.body
    return {kind: sorted(values)[int(len(values) * 0.99)] for kind, values in took.items()}


def strangers(short):
    """8,192 connections by strangers (silent, half a handshake, idle TLS, a body that does not end): the API server grows by less than 64 MiB, and an administrator's requests take at most twice as long, also on new connections."""
    count, requests = (1024, 150) if short else (8192, 400)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 2 * count + 1000), hard))
    try:
        target = shared(neighbour=False)
        pid = target.pid("apiserver")
        alone = latencies(target.admin, requests)
        before = memory_kib(pid)
        crowd = Crowd(target.admin, count)
        crowd.start()
        attacked = latencies(target.admin, requests // 4)  # while they come: served, on a machine that they share
        crowd.join()
        assert crowd.attempted == count
        held = latencies(target.admin, requests)
        grown = memory_kib(pid) - before
        print(f"     {count} strangers: +{grown} KiB; administrator's p99 in ms alone {shown(alone)}, while they come "
              f"{shown(attacked)}, when they are there {shown(held)}", flush=True)
        crowd.end()
        assert grown < MEMORY_KIB_MAX or sanitized(target), f"the API server grew by {grown} KiB"
        for kind, limit in alone.items():
            limit = max(limit, SHORT_SECONDS) if short else limit  # what else a test machine does is not ours
            assert held[kind] <= 2 * limit + NOISE_SECONDS, f"{kind} connections: p99 {held[kind]:.4f} s instead of {limit:.4f} s"
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def shown(figures):
    return ", ".join(f"{kind} {seconds * 1000:.1f}" for kind, seconds in figures.items())


def anonymous_bodies(_short):
    """48 anonymous connections with 3 MB of body each: nothing of it is kept, and each is refused before it has sent it."""
    target = shared(neighbour=False)
    pid, context = target.pid("apiserver"), target.admin.tls(with_certificate=False)
    before, peers = memory_kib(pid), []
    for _ in range(48):
        peer = slow_body(target.admin.address, context)
        assert b" 403 " in peer.recv(4096), "an anonymous POST is not refused by its head alone"
        peers.append(peer)
    assert memory_kib(pid) - before < 16 * 1024 or sanitized(target)
    control = Api(target.admin).request("POST", "/api/v1/namespaces/default/configmaps",
                                        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "large"}, "data": {"k": "x" * 900_000}})
    assert control.code == 201, control.body[:300]
    for peer in peers:
        peer.close()


def tunnel_path(_short):
    """The syncer's tunnel, asked for by a stranger and by an administrator: a path like any other that does not exist."""
    target = shared(neighbour=False)
    nobody, admin = target.api("nobody"), target.api("admin")
    for path in ("/sublet.dev/v1/tunnel", "/sublet.dev/v1/tunnel/1?end=1", "/sublet.dev/v1/writers", "/no/such/path"):
        for method in ("GET", "POST"):
            assert nobody.request(method, path).code == 403, path
    for path in ("/sublet.dev/v1/tunnel", "/sublet.dev/v1/writers"):
        assert admin.request("GET", path).code == 404 and admin.request("POST", path, {"items": []}).code in (404, 405), path
    assert admin.request("GET", "/version").code == 200


def open_still(peers, wanted):
    """How many of them the server has not closed (silent ones are closed after many seconds only): once so many are left, and a moment more."""
    ended, end = set(), time.monotonic() + 10
    while True:
        if len(peers) - len(ended) <= wanted:
            end = min(end, time.monotonic() + MOMENT_SECONDS)
        left = end - time.monotonic()
        if left <= 0 or len(ended) == len(peers):
            break
        for peer in select.select([peer for peer in peers if peer not in ended], [], [], left)[0]:
            ended.add(peer)  # nothing is ever said to them: what there is to read is the end
    return len(peers) - len(ended)


def heads_without_an_end(kubeconfig, count, size, wanted):
    """How many of so many connections, each with so much of a request's head, are still there."""
    peers = []
    for _ in range(count):
        try:
            peer = idle_tls(kubeconfig.address, kubeconfig.tls(with_certificate=False))
            peer.sendall(b"GET /version HTTP/1.1\r\nX-Long: " + b"a" * size)
            peers.append(peer)
        except OSError:
            pass
    here = open_still(peers, wanted)
    for peer in peers:
        peer.close()
    return here


def until_so_many_stay(kept, open_more, wanted):
    """Opens more until so many stay, and never more. (The server may not have seen yet that those before have left.)"""
    def opened():
        kept.extend(open_more())
        here = open_still(kept, wanted)
        assert here <= wanted, f"{here} of {len(kept)} connections of strangers stay, not {wanted}"
        return here == wanted

    eventually(opened, f"{wanted} connections of strangers stay")


def limits_of_a_template(_short):
    """What a template grants strangers is what they get: connections in all, those of one address, bytes."""
    with Target("unauthenticated: {connections: 8, connectionsPerAddress: 4, kib: 64}", neighbour=False) as target:
        address, kept = target.admin.address, []
        few = heads_without_an_end(target.admin, 4, 30_000, 3)
        assert few < 4, "four strangers with 30 KB each have more than 64 KiB"
        until_so_many_stay(kept, lambda: [socket.create_connection(address, timeout=30) for _ in range(20)], 4)
        # Another address of the same machine has its own share, and both together no more than 8.
        until_so_many_stay(kept, lambda: [socket.create_connection(address, timeout=30, source_address=(f"127.0.0.{last}", 0))
                                          for last in (2, 3, 4) for _ in range(4)], 8)
        assert Api(target.admin).request("GET", "/version").code == 200, "an administrator does not come in beside them"
        for peer in kept:
            peer.close()
    control = shared(neighbour=False)
    assert heads_without_an_end(control.admin, 4, 30_000, 4) == 4, "the same where nothing says so"
    many = [socket.create_connection(control.admin.address, timeout=30) for _ in range(20)]
    assert open_still(many, len(many)) == len(many), "20 are too many where nothing says so"
    for peer in many:
        peer.close()


CASES = {"limits-of-a-template": limits_of_a_template, "anonymous-bodies": anonymous_bodies, "tunnel-path": tunnel_path, "strangers": strangers}
