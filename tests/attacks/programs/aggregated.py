"""API servers behind APIServices: who their requests say to be from, where an APIService can send the API server, and what an answer can
make it do. On an API server alone, which may call the address of one such server, and on a virtual cluster."""
import base64
import re
import shutil
import socket
import tempfile
from contextlib import contextmanager

from servers import ApiServer, Peer, Trap, make_certificate
from target import LeftOut, Target, eventually

API_SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
SERVICES, SLICES = "/api/v1/namespaces/default/services", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
RIGHTS = "/apis/rbac.authorization.k8s.io/v1"
GOOD, ELSEWHERE = "good", "elsewhere"  # names of Services
WHERE = re.compile(r"loopback|link-local|metadata|address of the machine|no address of a host|disguise|multicast|only pods can be called|"
                   r"connects to nobody|is no pod|not found|no address|network of its node|bad status from .* 40[04]")


def own_address():
    """An address of this machine that is not its loopback's."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        try:
            out.connect(("192.0.2.1", 9))  # nothing is sent
        except OSError:
            raise LeftOut("this machine has no address but its loopback's") from None
        return out.getsockname()[0]


@contextmanager
def aggregated_server(address):
    """One that says what it was asked, and sends whoever asks for /away to where the query says."""
    def answer(handler):
        group = handler.path.split("/")[2] if handler.path.startswith("/apis/") else ""
        if "/away?" in handler.path:
            code, to = handler.path.split("?")[1].split(",", 1)
            return int(code), {"Location": to}, b""
        if group.startswith("away"):
            return 302, {"Location": group_trap[0]}, b""
        return 200, {}, {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": f"{group}/v1",
                         "resources": [{"name": "things", "singularName": "thing", "namespaced": True, "kind": "Thing", "verbs": ["get", "list"]}]}

    folder, group_trap = tempfile.mkdtemp(prefix="sublet-attacks-peer-"), [""]
    names = [f"DNS:{name}.default.svc" for name in (GOOD, ELSEWHERE, "named", "outside", "loops")]
    peer = Peer(address, *make_certificate(folder, names), answer)
    peer.sends_to = group_trap
    try:
        yield peer
    finally:
        peer.close()
        shutil.rmtree(folder, ignore_errors=True)


def make(api, path, kind, name, version="v1", **parts):
    answer = api.request("POST", path, {"apiVersion": version, "kind": kind, "metadata": {"name": name, **parts.pop("metadata", {})}, **parts})
    assert answer.code == 201, f"{kind} {name}: {answer.message}"
    return answer.json


def slice_of(service, address, port, name="", family="IPv4", target=None):
    return {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": family,
            "metadata": {"name": name or f"{service}-1", "labels": {"kubernetes.io/service-name": service}},
            "endpoints": [{"addresses": [address], "conditions": {"ready": True}, **({"targetRef": target} if target else {})}],
            "ports": [{"name": "api", "port": port}]}


def add_service(api, name, address, port, family="IPv4", target=None):
    make(api, SERVICES, "Service", name, spec={"ports": [{"name": "api", "port": 443}]})
    answer = api.request("POST", SLICES, slice_of(name, address, port, family=family, target=target))
    assert answer.code == 201, answer.message


def add_api(api, peer, group, service):
    make(api, API_SERVICES, "APIService", f"v1.{group}", "apiregistration.k8s.io/v1", spec={
        "group": group, "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 1, "caBundle": base64.b64encode(peer.certificate).decode(),
        "service": {"namespace": "default", "name": service, "port": 443}})


def availability(api, group):
    conditions = api.request("GET", f"{API_SERVICES}/v1.{group}").json.get("status", {}).get("conditions", [])
    return next((one for one in conditions if one["type"] == "Available"), {})


def is_available(api, group):
    eventually(lambda: availability(api, group).get("status") == "True", f"v1.{group} is available: {availability(api, group)}")


def is_refused(api, group, why=WHERE):
    """It is said why; gives the message."""
    eventually(lambda: availability(api, group).get("reason") == "FailedDiscoveryCheck", f"v1.{group} is said not to be available: {availability(api, group)}")
    message = availability(api, group)["message"]
    assert why.search(message), f"v1.{group}: {message}"
    assert api.request("GET", f"/apis/{group}/v1/things").code == 503
    return message


def eve(server):
    """A ServiceAccount that may read all things and nothing else."""
    admin = server.admin()
    make(admin, "/api/v1/namespaces/default/serviceaccounts", "ServiceAccount", "eve")
    make(admin, f"{RIGHTS}/clusterroles", "ClusterRole", "things", "rbac.authorization.k8s.io/v1",
         rules=[{"apiGroups": ["*"], "resources": ["things", "away"], "verbs": ["get", "list"]}])
    make(admin, f"{RIGHTS}/clusterrolebindings", "ClusterRoleBinding", "eve", "rbac.authorization.k8s.io/v1",
         roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "things"},
         subjects=[{"kind": "ServiceAccount", "name": "eve", "namespace": "default"}])
    answer = admin.request("POST", "/api/v1/namespaces/default/serviceaccounts/eve/token",
                           {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}})
    return server.bearer(answer.json["status"]["token"])


FORGED = [{"X-Remote-User": "system:admin"}, {"x-remote-user": "system:admin"}, {"X-REMOTE-USER": "system:admin"}, {"X_Remote_User": "system:admin"},
          {"X-Remote-Group": "system:masters"}, {"X-Remote-User": "system:admin", "X-Remote-Group": "system:masters"}, {"X-Remote-Uid": "0"},
          {"X-Remote-Extra-Scopes": "all"}, {"x-remote-extra-authentication.kubernetes.io%2fnode-name": "n"}, {"X-Forwarded-User": "system:admin"},
          {"X-Forwarded-For": "127.0.0.1", "X-Remote-User": ""}, {"Connection": "X-Remote-User, X-Remote-Group"},
          {"Proxy-Authorization": "Basic eDp5"}]


def forged_identities(_short):
    """What a client says of itself in the front proxy's headers reaches nobody: not this server, and not the one behind an APIService."""
    address, made = own_address(), 0
    with aggregated_server(address) as peer, ApiServer("--outbound-allow", f"{address}/32") as server:
        admin, user, nobody = server.admin(), eve(server), server.bearer("")
        nobody.headers = {}
        add_service(admin, GOOD, address, peer.port)
        add_api(admin, peer, "good.test", GOOD)
        is_available(admin, "good.test")
        path = "/apis/good.test/v1/namespaces/default/things"
        for forged in [{}, *FORGED]:
            del peer.requests[:]
            answer = user.request("GET", path, None, forged)
            assert answer.code == 200, f"{forged}: {answer.code} {answer.body[:300]}"
            said = {}
            for _, asked, headers in peer.requests:
                for name, value in headers if asked == path else []:
                    said.setdefault(name.lower().replace("_", "-"), []).append(value)
            assert said.get("x-remote-user") == ["system:serviceaccount:default:eve"], f"{forged}: {said}"
            assert sorted(said["x-remote-group"]) == ["system:authenticated", "system:serviceaccounts", "system:serviceaccounts:default"], f"{forged}: {said}"
            for word in ("system:admin", "system:masters", "all", "Basic eDp5"):
                told = sum((values for name, values in said.items() if name != "x-forwarded-user"), [])  # which no Kubernetes server reads
                assert word not in told, f"{forged}: {said}"
            assert "authorization" not in said and "x-remote-extra-scopes" not in said, f"{forged}: {said}"
            made += 1
        for forged in FORGED:  # and by whom nobody knows
            del peer.requests[:]
            assert nobody.request("GET", path, None, forged).code in (401, 403), forged
            assert not [asked for _, asked, _ in peer.requests if asked == path], forged
            made += 1
        for who in ("system:kube-aggregator", "system:admin"):  # who may not act as others does not, on the way there either
            assert user.request("GET", path, None, {"Impersonate-User": who}).code == 403, who
            made += 1
        assert user.request("GET", "/apis/good.test/v1/others").code == 403, "rights are this server's"
        for group in ("apps", "rbac.authorization.k8s.io", "authentication.k8s.io"):
            answer = admin.request("POST", API_SERVICES, {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": f"v1.{group}"},
                                                          "spec": {"group": group, "version": "v1", "groupPriorityMinimum": 20000, "versionPriority": 100,
                                                                   "insecureSkipTLSVerify": True, "service": {"namespace": "default", "name": GOOD}}})
            del peer.requests[:]
            assert admin.request("GET", f"/apis/{group}/v1").json.get("groupVersion") == f"{group}/v1", answer.message
            assert not [asked for _, asked, _ in peer.requests if asked.startswith(f"/apis/{group}/v1/")], "a group of our own is handed over"
            made += 1
    return made


def redirected(_short):
    """An aggregated server that sends its callers elsewhere: nobody here goes there, and the client is told as it was said."""
    address, made = own_address(), 0
    trap, beside = Trap(), Trap(address)
    with aggregated_server(address) as peer, ApiServer("--outbound-allow", f"{address}/32") as server:
        admin, user = server.admin(), eve(server)
        add_service(admin, GOOD, address, peer.port)
        for group in ("good.test", "away.test"):
            if group == "away.test":
                peer.sends_to[0] = f"https://{address}:{beside.port}/apis"
            add_api(admin, peer, group, GOOD)
        is_available(admin, "good.test")
        is_refused(admin, "away.test", re.compile("bad status from .*302"))  # its discovery is asked for by this server itself
        made += 1
        for code in (301, 302, 303, 307, 308):
            for to in (f"https://127.0.0.1:{trap.port}/", f"http://127.0.0.1:{trap.port}/", f"//127.0.0.1:{trap.port}/", f"https://{address}:{beside.port}/",
                       "https://169.254.169.254/latest/meta-data", "file:///etc/passwd"):
                answer = user.request("GET", f"/apis/good.test/v1/away?{code},{to}")
                assert answer.code in (code, 502, 503), f"{code} to {to}: {answer.code}"
                assert b"root:" not in answer.body
                made += 1
        assert user.request("GET", "/apis/good.test/v1/things").code == 200
    for one in (trap, beside):
        one.close()
        assert one.knocks == 0, f"an answer sent the API server to another address {one.knocks} times"
    return made


def inner_addresses(_short):
    """An APIService whose Service leads to this machine, to a link-local address or to where clouds keep metadata: nobody is asked there."""
    address, made, trap = own_address(), 0, Trap()
    with aggregated_server(address) as peer, ApiServer("--outbound-allow", f"{address}/32") as server, ApiServer() as careful:
        admin = server.admin()
        add_service(admin, GOOD, address, peer.port)
        add_api(admin, peer, "good.test", GOOD)
        is_available(admin, "good.test")
        # What the API does not take as an address at all; upstream's rules.
        for place in ("127.0.0.1", "127.8.9.10", "169.254.169.254", "169.254.1.1", "224.0.0.1", "0.0.0.0", "127.1", "0x7f.1", "2130706433"):
            answer = admin.request("POST", SLICES, slice_of(GOOD, place, 443, "refused"))
            assert answer.code == 422, f"{place}: {answer.code} {answer.body[:200]}"
            made += 1
        for place in ("::1", "fe80::1", "ff02::1", "::", "::ffff:127.0.0.1", "::ffff:169.254.169.254"):
            answer = admin.request("POST", SLICES, slice_of(GOOD, place, 443, "refused", "IPv6"))
            assert answer.code == 422, f"{place}: {answer.code} {answer.body[:200]}"
            made += 1
        # What it takes, and nobody calls.
        add_service(admin, "named", "a.localhost", trap.port, "FQDN")
        make(admin, SERVICES, "Service", "outside", spec={"type": "ExternalName", "externalName": "localhost", "ports": [{"name": "api", "port": trap.port}]})
        for group, service in (("named.test", "named"), ("outside.test", "outside")):
            add_api(admin, peer, group, service)
        # The same address, where nobody has said that it may be called.
        add_service(careful.admin(), GOOD, address, peer.port)
        del peer.requests[:]
        add_api(careful.admin(), peer, "good.test", GOOD)
        is_refused(careful.admin(), "good.test", re.compile("address of the machine"))
        agents = [dict(headers).get("User-Agent") for _, _, headers in peer.requests if "good.test" not in _]
        assert not agents, agents
        is_refused(admin, "outside.test")
        is_refused(admin, "named.test", re.compile(""))  # the name may be nobody's here
        made += 3
        assert admin.request("GET", "/apis/good.test/v1/things").code == 200
    trap.close()
    assert trap.knocks == 0, f"an APIService made the API server call this machine {trap.knocks} times"
    return made


def beside_the_pods(_short):
    """In a virtual cluster only its own pods are called: not what an EndpointSlice says, nor what it says of a pod, nor the neighbour's."""
    address, made, trap = own_address(), 0, Trap()
    with aggregated_server(address) as peer, Target() as target:
        api, host = target.api("admin"), target.api("host")
        pods = "/api/v1/namespaces/default/pods"
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "own"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        for one in (api, target.api("neighbour")):
            assert one.request("POST", pods, pod).code == 201
            eventually(lambda one=one: one.request("GET", f"{pods}/own").json["status"].get("podIP"), "the pod has an address")
        uid = api.request("GET", f"{pods}/own").json["metadata"]["uid"]
        theirs = host.request("GET", "/api/v1/namespaces/elsewhere/pods/own-x-default-x-other").json["metadata"]
        refs = {"here": None, "of-mine": {"kind": "Pod", "namespace": "default", "name": "own", "uid": uid},
                "of-theirs": {"kind": "Pod", "namespace": theirs["namespace"], "name": theirs["name"], "uid": theirs["uid"]},
                "of-nobody": {"kind": "Pod", "namespace": "default", "name": "own", "uid": theirs["uid"]},
                "of-a-path": {"kind": "Pod", "namespace": "default", "name": "../../elsewhere/pods/own-x-default-x-other", "uid": theirs["uid"]},
                "of-a-node": {"kind": "Node", "name": "cpu-1"}}
        for name, ref in refs.items():
            make(api, SERVICES, "Service", name, spec={"ports": [{"name": "api", "port": 443}]})
            answer = api.request("POST", SLICES, slice_of(name, address, peer.port, target=ref))
            assert answer.code in (201, 422), answer.message
            made += 1
            if answer.code == 201:
                add_api(api, peer, f"{name}.test", name)
        # The tenant may write its pod's status; the address that counts is the host's.
        claims = api.request("PATCH", f"{pods}/own/status", {"status": {"podIP": "127.0.0.1", "podIPs": [{"ip": "127.0.0.1"}]}},
                             {"Content-Type": "application/merge-patch+json"})
        assert claims.code in (200, 403, 422), claims.body[:300]
        add_service(api, "loops", "10.1.2.3", trap.port, target=refs["of-mine"])
        add_api(api, peer, "loops.test", "loops")
        made += 1
        anything = re.compile("")
        for name in [*refs, "loops"]:
            if api.request("GET", f"{API_SERVICES}/v1.{name}.test").code == 200:
                is_refused(api, f"{name}.test", anything if name in ("of-mine", "loops") else WHERE)
        assert not peer.requests, f"the syncer or the API server called {address}: {peer.requests}"
        assert api.request("GET", "/apis").code == 200
    trap.close()
    assert trap.knocks == 0
    return made


CASES = {"forged-identities": forged_identities, "redirected": redirected, "inner-addresses": inner_addresses, "beside-the-pods": beside_the_pods}
