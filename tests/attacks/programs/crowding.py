"""One user of a virtual cluster who asks for as much as the API server takes: the others are served beside him (flow control)."""
import functools
import socket
import threading
import time

from target import Api, eventually, memory_kib, sanitized, shared

LISTED_MIB = 12  # what one list of his is: as wide as a request may be
BUSY, QUIET = 120, 40  # his connections that read, and those that do not
BUSY_SHORT, QUIET_SHORT = 40, 24  # still several times what his level has seats for
SHARED_SECONDS_MAX = 14.5  # for one of who shares his level: a round or two of his lists are cut first; who waits for 15 is refused
MEMORY_KIB_MAX = 400 * 1024  # what some of his lists may be when they are made whole; all of them would be twice that
SECONDS_MAX = 5  # for one small request of another's, on a machine that does much else; waiting for a seat ends after 15
MAPS, PODS = "/api/v1/namespaces/default/configmaps", "/api/v1/namespaces/default/pods"


def account(admin, name, namespace="default"):
    """A ServiceAccount of that namespace that may view the default one: its headers."""
    for path, body in ((f"/api/v1/namespaces/{namespace}/serviceaccounts", {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}}),
                       ("/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings",
                        {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": name},
                         "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
                         "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}]})):
        made = admin.request("POST", path, body)
        assert made.code == 201, made.message
    token = admin.request("POST", f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token",
                          {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}).json["status"]["token"]
    return {"Authorization": f"Bearer {token}"}


def as_user(target, headers):
    return Api(target.admin, with_certificate=False, headers=headers)


def fill(admin):
    for i in range(LISTED_MIB):
        made = admin.request("POST", MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"large-{i}"}, "data": {"k": "x" * (1 << 20)}})
        assert made.code == 201, made.message
    made = admin.request("POST", MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "small"}})
    assert made.code == 201, made.message


class Crowd:
    """One user's connections that list again and again; what they were answered."""

    def __init__(self, target, headers, count):
        self.target, self.headers, self.codes, self.ending, self.lock = target, headers, {}, threading.Event(), threading.Lock()
        self.threads = [threading.Thread(target=self.ask, daemon=True) for _ in range(count)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        eventually(lambda: sum(self.codes.values()) > len(self.threads), "each has been answered once or so")
        return self

    def __exit__(self, *_):
        self.ending.set()
        for thread in self.threads:
            thread.join()

    def ask(self):
        api = as_user(self.target, self.headers)
        while not self.ending.is_set():
            code = api.request("GET", MAPS).code
            with self.lock:
                self.codes[code] = self.codes.get(code, 0) + 1
        api.close()


def served(others, what, seconds_max=SECONDS_MAX):
    """Small requests of other users, each on a connection of its own: the slowest."""
    slowest = 0
    for who, api in others.items():
        for _ in range(20):
            begun = time.monotonic()
            answer = api.request("GET", f"{MAPS}/small")
            took = time.monotonic() - begun
            assert answer.code == 200, f"{who} is answered {answer.code} beside {what}: {answer.message}"
            assert took < seconds_max, f"{who} waits {took:.1f} s beside {what}"
            slowest = max(slowest, took)
            api.close()
    return slowest


def quiet_lists(target, headers, count, query):
    """Connections of an account that have asked for a list each, and read no more of it than its beginning."""
    peers, context = [], target.admin.tls(with_certificate=False)
    for _ in range(count):
        peer = socket.create_connection(target.admin.address, timeout=30)
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        peer = context.wrap_socket(peer, server_hostname="localhost")
        peer.sendall(f"GET {MAPS}{query} HTTP/1.1\r\nHost: localhost\r\nAuthorization: {headers['Authorization']}\r\n\r\n".encode())
        peers.append(peer)
    peers[0].recv(1)
    return peers


class Crowded:
    """The target with much to list, and accounts in it: eve, who asks for too much, bob, who shares her level, and one of the system's."""

    def __init__(self, target):
        self.target, self.admin = target, target.api("admin")
        fill(self.admin)
        self.eve, self.bob = account(self.admin, "eve"), as_user(target, account(self.admin, "bob"))
        self.controller = as_user(target, account(self.admin, "controller", "kube-system"))


crowded = functools.cache(lambda: Crowded(shared(neighbour=False)))


def beside_quiet_lists(crowded, count, query):
    """How long others' small requests take at most (of those with seats of their own, of who shares his level, when he has left), and the
    API server's memory while his lists lie there."""
    pid, admin, bob = crowded.target.pid("apiserver"), crowded.admin, {"another account": crowded.bob}
    peers = quiet_lists(crowded.target, crowded.eve, count, query)
    what, name = f"{count} lists that nobody reads", f"p{len(query)}"
    beside = served({"the administrator": admin, "an account of the system": crowded.controller}, what)
    made = admin.request("POST", PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}]}})
    assert made.code == 201, made.body
    eventually(lambda: admin.request("GET", f"{PODS}/{name}").json["status"].get("phase") == "Running", "the syncer goes on beside them", 20)
    memory = memory_kib(pid)
    shared_level = served(bob, what, SHARED_SECONDS_MAX)
    memory = max(memory, memory_kib(pid))
    for peer in peers:
        peer.close()
    return (beside, shared_level, served(bob, "nobody any more")), memory


def lists_that_nobody_reads(short):
    """Lists of one account that reads nothing of them, as they are and made to be pretty (which is made whole): who shares his level gets the seats of those who were behind for 2.5 seconds; the administrator, the system's accounts and the syncer have seats of their own; when he leaves, his are free at once."""
    here, count = crowded(), QUIET_SHORT if short else QUIET
    before = memory_kib(here.target.pid("apiserver"))
    for query in ("", "?pretty=true"):
        took, memory = beside_quiet_lists(here, count, query)
        grown = memory - before
        beside, shared_level, after = (f"{seconds * 1000:.0f} ms" for seconds in took)
        print(f"     beside {count} lists that nobody reads{' (pretty)' if query else ''} the slowest small request of others takes {beside}, of another "
              f"account {shared_level}, after them {after}; +{grown // 1024} MiB", flush=True)
        assert grown < MEMORY_KIB_MAX or sanitized(here.target), f"the API server grew by {grown} KiB"
    return 10


def lists_without_an_end(short):
    """Many connections of one account that list 12 MiB each, again and again: another account and the administrator are served at once."""
    here, count = crowded(), BUSY_SHORT if short else BUSY
    others = {"another account": here.bob, "the administrator": here.admin}
    alone = served(others, "nobody")
    with Crowd(here.target, here.eve, count) as crowd:
        beside = served(others, f"{count} lists")
    print(f"     {count} lists of one account were answered {crowd.codes}; the slowest small request of others {beside * 1000:.0f} ms, alone {alone * 1000:.0f} ms",
          flush=True)
    assert crowd.codes.get(200), crowd.codes
    return 2


# What is unread first: the memory of the other is free again after it, and would hide what this takes.
CASES = {"lists-that-nobody-reads": lists_that_nobody_reads, "lists-without-an-end": lists_without_an_end}
