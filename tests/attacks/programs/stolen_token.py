"""Whoever steals the syncer's token has the syncer's rights on the host, and no others: what those do not cover the host refuses,
and what they cover, its admission policy holds to the virtual cluster's own objects.

The same cases are made on the embedded host, taken for somebody else's, and by tests/host/stolen_token.py on a real one.
"""
import base64
import json
import os

from target import Api, Kubeconfig, Target, eventually, sublet

NAME, NAMESPACE, MATE, ELSEWHERE = "rag", "stolen", "mate", "stolen-elsewhere"
CORE, RBAC, ADMISSION = "/api/v1", "/apis/rbac.authorization.k8s.io/v1", "/apis/admissionregistration.k8s.io/v1"
HERE = f"{CORE}/namespaces/{NAMESPACE}"
MERGE = {"Content-Type": "application/merge-patch+json"}
VERSIONS = {"endpointslices": "discovery.k8s.io/v1"}
KINDS = {"pods": "Pod", "services": "Service", "configmaps": "ConfigMap", "secrets": "Secret", "persistentvolumeclaims": "PersistentVolumeClaim",
         "endpoints": "Endpoints", "endpointslices": "EndpointSlice"}
PARTS = {"pods": {"spec": {"serviceAccountName": f"sublet-workload-{NAME}", "automountServiceAccountToken": False,
                           "containers": [{"name": "c", "image": "i"}]}},
         "services": {"spec": {"ports": [{"port": 80}]}},
         "persistentvolumeclaims": {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}},
         "endpointslices": {"addressType": "IPv4", "endpoints": []}}


def labels_of(uid, name=NAME):
    return {"sublet.dev/managed-by": name, "sublet.dev/virtual-cluster-uid": uid}


def thing(resource, labels, name="stolen", **more):
    version = VERSIONS.get(resource, "v1")
    return {"apiVersion": version, "kind": KINDS[resource], "metadata": {"name": name, "labels": labels}, **PARTS.get(resource, {}), **more}


def place(resource, namespace=NAMESPACE):
    return f"{'/apis/' + VERSIONS[resource] if resource in VERSIONS else CORE}/namespaces/{namespace}/{resource}"


def pod(uid, **spec):
    made = thing("pods", labels_of(uid))
    made["spec"] = {**made["spec"], **spec}
    return {"apiVersion": "v1", **made}


def simple(api_version, kind, name="stolen", **more):
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **more}


def reading():
    """What is in other namespaces."""
    for namespace in ("kube-system", "default", ELSEWHERE, None):
        for resource in ("secrets", "configmaps", "pods", "services", "serviceaccounts", "events", "persistentvolumeclaims", "endpoints"):
            path = f"{CORE}/namespaces/{namespace}/{resource}" if namespace else f"{CORE}/{resource}"
            yield f"list {resource} of {namespace or 'all'}", "GET", path, None, {}
    yield "a workload's definition", "GET", f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments", None, {}
    yield "its own rights", "GET", f"{RBAC}/namespaces/{NAMESPACE}/roles", None, {}
    yield "everybody's rights", "GET", f"{RBAC}/clusterrolebindings", None, {}
    yield "leases of nodes", "GET", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases", None, {}
    yield "metrics", "GET", "/metrics", None, {}
    yield "a node through the API server", "GET", f"{CORE}/nodes/any/proxy/pods", None, {}


def writing_elsewhere(uid):
    for namespace in ("kube-system", ELSEWHERE):
        for resource in ("pods", "secrets", "configmaps", "services"):
            yield f"make {resource} in {namespace}", "POST", place(resource, namespace), thing(resource, labels_of(uid)), {}
        for way in ("exec", "attach", "portforward", "proxy"):
            yield f"{way} in {namespace}", "POST", f"{place('pods', namespace)}/any/{way}", None, {}
        yield f"logs of {namespace}", "GET", f"{place('pods', namespace)}/any/log", None, {}


def rising(uid):
    """More rights, another's name."""
    rules = {"rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]}
    role = {"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [{"kind": "ServiceAccount", "name": f"sublet-syncer-{NAME}", "namespace": NAMESPACE}]}
    version = "rbac.authorization.k8s.io/v1"
    yield "a ClusterRole", "POST", f"{RBAC}/clusterroles", simple(version, "ClusterRole", **rules), {}
    yield "a ClusterRoleBinding", "POST", f"{RBAC}/clusterrolebindings", simple(version, "ClusterRoleBinding", **role), {}
    yield "a Role", "POST", f"{RBAC}/namespaces/{NAMESPACE}/roles", simple(version, "Role", **rules), {}
    yield "a RoleBinding", "POST", f"{RBAC}/namespaces/{NAMESPACE}/rolebindings", simple(version, "RoleBinding", **role), {}
    yield "its own Role", "PATCH", f"{RBAC}/namespaces/{NAMESPACE}/roles/sublet-syncer-{NAME}", rules, MERGE
    yield "its own ClusterRole", "PATCH", f"{RBAC}/clusterroles/sublet.{NAMESPACE}.{NAME}", rules, MERGE
    for kind in ("validatingadmissionpolicies", "validatingadmissionpolicybindings"):
        yield f"off with {kind}", "DELETE", f"{ADMISSION}/{kind}/sublet.{NAMESPACE}.{NAME}", None, {}
        yield f"change {kind}", "PATCH", f"{ADMISSION}/{kind}/sublet.{NAMESPACE}.{NAME}", {"spec": {"validationActions": ["Audit"]}}, MERGE
    for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
        yield f"a {kind}", "POST", f"{ADMISSION}/{kind.lower()}s", simple(f"{ADMISSION[6:]}", kind), {}
    enforce = {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "privileged"}}}
    yield "no Pod Security", "PATCH", HERE, enforce, MERGE
    yield "end its namespace", "DELETE", HERE, None, {}
    yield "a namespace", "POST", f"{CORE}/namespaces", simple("v1", "Namespace"), {}
    for header, value in (("Impersonate-User", "system:admin"), ("Impersonate-User", "system:serviceaccount:kube-system:namespace-controller")):
        yield f"impersonate {value}", "GET", f"{CORE}/namespaces/kube-system/secrets", None, {header: value}
    yield "impersonate system:masters", "GET", f"{CORE}/secrets", None, {"Impersonate-User": "x", "Impersonate-Group": "system:masters"}
    own = f"system:serviceaccount:{NAMESPACE}:sublet-syncer-{NAME}"
    yield "impersonate itself with groups", "GET", f"{CORE}/secrets", None, {"Impersonate-User": own, "Impersonate-Group": "system:masters"}
    for namespace, account in ((NAMESPACE, "default"), (NAMESPACE, f"sublet-workload-{NAME}"), (NAMESPACE, f"sublet-syncer-{MATE}"),
                               (ELSEWHERE, "default"), ("kube-system", "default"), ("kube-system", "namespace-controller")):
        yield (f"a token of {namespace}/{account}", "POST", f"{CORE}/namespaces/{namespace}/serviceaccounts/{account}/token",
               {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}, {})
    yield ("a token for a day", "POST", f"{HERE}/serviceaccounts/sublet-syncer-{NAME}/token",
           {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 86400}}, {})
    yield "an account", "POST", f"{HERE}/serviceaccounts", simple("v1", "ServiceAccount"), {}
    yield "a certificate", "POST", "/apis/certificates.k8s.io/v1/certificatesigningrequests", simple("certificates.k8s.io/v1", "CertificateSigningRequest"), {}
    yield ("whose token is it", "POST", "/apis/authentication.k8s.io/v1/tokenreviews",
           {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": uid}}, {})
    yield ("may another", "POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews",
           {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": {"user": "x"}}, {})


def cluster_wide(node):
    yield "label a node", "PATCH", f"{CORE}/nodes/{node}", {"metadata": {"labels": {"a": "b"}}}, MERGE
    yield "a node's status", "PATCH", f"{CORE}/nodes/{node}/status", {"status": {"capacity": {"x.io/y": "1"}}}, MERGE
    yield "away with a node", "DELETE", f"{CORE}/nodes/{node}", None, {}
    yield "a node", "POST", f"{CORE}/nodes", simple("v1", "Node"), {}
    yield "a volume", "POST", f"{CORE}/persistentvolumes", simple("v1", "PersistentVolume"), {}
    yield "all volumes", "GET", f"{CORE}/persistentvolumes", None, {}
    for path, kind in (("storage.k8s.io/v1", "StorageClass"), ("scheduling.k8s.io/v1", "PriorityClass"), ("node.k8s.io/v1", "RuntimeClass"),
                       ("apiextensions.k8s.io/v1", "CustomResourceDefinition"), ("apiregistration.k8s.io/v1", "APIService")):
        plural = kind.lower() + ("es" if kind.endswith("s") else "s")
        yield f"a {kind}", "POST", f"/apis/{path}/{plural}", simple(path, kind), {}


def not_its_own(uid, mates_uid):
    """In its own namespace, what is the platform's or another virtual cluster's."""
    owner = {"metadata": {"labels": labels_of(uid)}}
    for resource in ("configmaps", "secrets", "services", "persistentvolumeclaims", "pods"):
        target = f"{place(resource)}/platform"
        yield f"change the platform's {resource}", "PATCH", target, {"metadata": {"annotations": {"a": "b"}}}, MERGE
        yield f"take over the platform's {resource}", "PATCH", target, owner, MERGE
        yield f"delete the platform's {resource}", "DELETE", target, None, {}
        yield f"delete all {resource}", "DELETE", place(resource), None, {}
    for record in (f"sublet-owner-{MATE}", f"sublet-owner-{NAME}"):
        yield f"take the name {record}", "PATCH", f"{place('configmaps')}/{record}", {"data": {"uid": "stolen"}}, MERGE
        yield f"give up the name {record}", "DELETE", f"{place('configmaps')}/{record}", None, {}
    yield "the mate's object", "DELETE", f"{place('configmaps')}/mates", None, {}
    yield "the mate's object, taken over", "PATCH", f"{place('configmaps')}/mates", owner, MERGE
    yield "hide its own from delete", "PATCH", f"{place('configmaps')}/own", {"metadata": {"labels": {"sublet.dev/virtual-cluster-uid": None}}}, MERGE
    yield "give its own away", "PATCH", f"{place('configmaps')}/own", {"metadata": {"labels": labels_of(mates_uid, MATE)}}, MERGE
    for resource in KINDS:
        yield f"{resource} without labels", "POST", place(resource), thing(resource, {}), {}
        yield f"{resource} as the mate's", "POST", place(resource), thing(resource, labels_of(mates_uid, MATE)), {}


def pods_and_services(uid):
    for account in ("default", f"sublet-syncer-{NAME}", f"sublet-workload-{MATE}", f"sublet-syncer-{MATE}"):
        yield f"a pod as {account}", "POST", place("pods"), pod(uid, serviceAccountName=account), {}
    yield "a pod with a token", "POST", place("pods"), pod(uid, automountServiceAccountToken=True), {}
    yield "a pod on a node of its choice", "POST", place("pods"), pod(uid, nodeName="any"), {}
    yield "a pod in the host's network", "POST", place("pods"), pod(uid, hostNetwork=True), {}
    yield "a pod that sees processes", "POST", place("pods"), pod(uid, hostPID=True), {}
    yield "a pod with IPC", "POST", place("pods"), pod(uid, hostIPC=True), {}
    yield "a pod with the node's files", "POST", place("pods"), pod(uid, volumes=[{"name": "v", "hostPath": {"path": "/"}}]), {}
    for name, context in (("privileged", {"privileged": True}), ("with capabilities", {"capabilities": {"add": ["SYS_ADMIN"]}}),
                          ("as another SELinux user", {"seLinuxOptions": {"user": "system_u"}}), ("unconfined", {"seccompProfile": {"type": "Unconfined"}})):
        container = {"name": "c", "image": "i", "securityContext": context}
        yield f"a pod {name}", "POST", place("pods"), pod(uid, containers=[container]), {}
    yield ("a pod with a host port", "POST", place("pods"),
           pod(uid, containers=[{"name": "c", "image": "i", "ports": [{"containerPort": 80, "hostPort": 80}]}]), {})
    for account in ("default", f"sublet-syncer-{MATE}"):
        secret = thing("secrets", labels_of(uid), type="kubernetes.io/service-account-token")
        secret["metadata"]["annotations"] = {"kubernetes.io/service-account.name": account}
        yield f"a Secret with a token of {account}", "POST", place("secrets"), secret, {}
    for name, selector in (("the platform's", {"app": "platform"}), ("everybody's", {"sublet.dev/managed-by": MATE})):
        yield (f"a Service of {name} pods", "POST", place("services"),
               thing("services", labels_of(uid), spec={"ports": [{"port": 80}], "selector": selector}), {})
    for way in ("binding", "eviction"):
        yield f"{way} of its own pod", "POST", f"{place('pods')}/own/{way}", simple("v1" if way == "binding" else "policy/v1", way.capitalize(), "own"), {}
    yield "the status of its own pod", "PATCH", f"{place('pods')}/own/status", {"status": {"phase": "Succeeded"}}, MERGE


def cases(uid, mates_uid, node):
    for part in (reading(), writing_elsewhere(uid), rising(uid), cluster_wide(node), not_its_own(uid, mates_uid), pods_and_services(uid)):
        yield from part


def attempt(api, method, path, body, headers):
    if method not in ("GET", "HEAD"):
        path += ("&" if "?" in path else "?") + "dryRun=All"  # what works is told by the answer, and does no harm to the next case
    return api.request(method, path, body, headers)


def repelled(answer):
    return answer.code in (401, 403) or (answer.code == 422 and "ValidatingAdmissionPolicy" in answer.message)


def controls(api, uid):
    """What the token is for."""
    own = {"metadata": {"labels": labels_of(uid), "annotations": {"a": "b"}}}
    for method, path, body, headers in (("GET", place("pods"), None, {}), ("GET", f"{CORE}/nodes", None, {}), ("POST", place("pods"), pod(uid), {}),
                                        ("POST", place("services"), thing("services", labels_of(uid), spec={
                                            "ports": [{"port": 80}], "selector": {"sublet.dev/virtual-cluster-uid": uid}}), {}),
                                        ("PATCH", f"{place('configmaps')}/own", own, MERGE), ("DELETE", f"{place('configmaps')}/own", None, {}),
                                        *(("POST", place(resource), thing(resource, labels_of(uid), "another"), {}) for resource in KINDS),
                                        ("POST", f"{HERE}/serviceaccounts/sublet-syncer-{NAME}/token",
                                         {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}, {})):
        answer = attempt(api, method, path, body, headers)
        assert answer.code in (200, 201), f"control {method} {path}: {answer.code} {answer.message}"


def set_up(host, uid, mates_uid):
    parts = {resource: thing(resource, {"app": "platform"}, "platform") for resource in
             ("configmaps", "secrets", "services", "persistentvolumeclaims", "pods")}
    parts["pods"]["spec"] = {"containers": [{"name": "c", "image": "i"}], "nodeSelector": {"none": "such"}}
    for resource, made in parts.items():
        answer = host.request("POST", place(resource), made)
        assert answer.code == 201, answer.body
    for resource, made in (("configmaps", thing("configmaps", labels_of(mates_uid, MATE), "mates")),
                           ("configmaps", thing("configmaps", labels_of(uid), "own"))):
        assert host.request("POST", place(resource), made).code == 201
    own = pod(uid, nodeSelector={"none": "such"})
    own["metadata"]["name"] = "own"
    assert host.request("POST", place("pods"), own).code == 201


def play(state, kubeconfig):
    """Makes three virtual clusters on that host, steals the token of one, and makes every case; gives their number."""
    for name, namespace in ((NAME, NAMESPACE), (MATE, NAMESPACE), (ELSEWHERE, ELSEWHERE)):
        sublet("create", name, "-n", namespace, "--host-kubeconfig", kubeconfig)
    folders = {name: os.path.join(state, "clusters", NAMESPACE, name) for name in (NAME, MATE)}
    uid, mates_uid = (json.load(open(os.path.join(folders[name], "virtual-cluster.json"), encoding="utf-8"))["uid"] for name in (NAME, MATE))
    operators = Kubeconfig(kubeconfig).parts
    for folder in folders.values():
        kept = open(os.path.join(folder, "host.kubeconfig"), encoding="utf-8").read()
        assert "certificate-authority-data" in kept and "client-key" not in kept and "token" not in kept, "the operator's credential is stored"
        for folder_of, _, files in os.walk(folder):
            for file in files:
                if not os.path.islink(path := os.path.join(folder_of, file)) and os.path.isfile(path):
                    kept = open(path, "rb").read()
                    for key in (operators["client-key"].strip(), base64.b64encode(operators["client-key"])):
                        assert key not in kept, f"{path} has the operator's key"
    token = json.load(open(os.path.join(folders[NAME], "syncer", "host-token.json"), encoding="utf-8"))["token"]
    host = Api(Kubeconfig(kubeconfig))
    set_up(host, uid, mates_uid)
    node = next((item["metadata"]["name"] for item in host.request("GET", f"{CORE}/nodes").json["items"]), "any")
    thief = Api(Kubeconfig(kubeconfig), with_certificate=False, headers={"Authorization": f"Bearer {token}"})
    # A policy comes into force a moment after it was made.
    eventually(lambda: repelled(attempt(thief, "DELETE", f"{place('configmaps')}/platform", None, {})), "the policy is in force")
    controls(thief, uid)
    worked, made = [], 0
    for name, method, path, body, headers in cases(uid, mates_uid, node):
        made += 1
        answer = attempt(thief, method, path, body, headers)
        if not repelled(answer):
            worked.append(f"{name}: {method} {path}: {answer.code} {answer.message}")
    controls(thief, uid)
    assert not worked, f"{len(worked)} of {made} worked: " + "; ".join(worked)
    assert made >= 100, f"{made} cases"
    return made


def clean_up():
    for name, namespace in ((NAME, NAMESPACE), (MATE, NAMESPACE), (ELSEWHERE, ELSEWHERE)):
        sublet("delete", name, "-n", namespace, "--yes", "--ignore-not-found", check=False)


def on_a_host(_short):
    with Target(neighbour=False) as target:
        try:
            return play(target.state, os.path.join(target.state, "host", "admin.kubeconfig"))
        finally:
            clean_up()


CASES = {"on-a-host": on_a_host}
