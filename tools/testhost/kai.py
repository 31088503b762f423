"""KAI beside a test host: the four processes that carry a pod with a share of a GPU, and what they find in the API.

admission mutates and checks pods, podgrouper makes their PodGroups, scheduler decides and binder binds. CRDs and priority
classes are those of the pinned module; the queue `default` is the parent of what an operator makes. All four act as the
host's admin, for there is nothing to learn here from their RBAC. What a KWOK node cannot do is RESERVATION_STAGE.
"""

import base64
import json
import urllib.request
from pathlib import Path

import build

RESERVATION_STAGE = Path(__file__).resolve().parent / "kai-reservation-stage.yaml"
NAMESPACES = ("kai-scheduler", "kai-resource-reservation", "kai-scale-adjust")
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
UNLIMITED = {"quota": -1, "limit": -1, "overQuotaWeight": 1}


# Kind of configuration: its verb in the webhook's path, and the operations that it judges.
WEBHOOKS = {"MutatingWebhookConfiguration": ("mutate", ["CREATE"]), "ValidatingWebhookConfiguration": ("validate", ["CREATE", "UPDATE"])}
PORTS = ("webhook", "kai-admission", "kai-podgrouper", "kai-binder", "kai-scheduler")


def arguments(port: dict[str, int]) -> dict[str, list[str]]:
    """Per part. The port of each answers plain HTTP once it serves; --plugin-server-port=-1 is one that is never opened."""
    def at(part: str) -> str:
        return f"127.0.0.1:{port[part]}"

    return {
        "kai-admission": [f"--webhook-addr={port['webhook']}", "--gpu-sharing-enabled=true", "--metrics-bind-address=0",
                          f"--health-probe-bind-address={at('kai-admission')}"],
        "kai-podgrouper": ["--metrics-bind-address=0", f"--health-probe-bind-address={at('kai-podgrouper')}"],
        "kai-binder": ["--fake-gpu-nodes=true", "--health-probe-bind-address=0", f"--metrics-bind-address={at('kai-binder')}"],
        "kai-scheduler": ["--plugin-server-port=-1", f"--listen-address={at('kai-scheduler')}"],
    }


def webhook(kind: str, port: int, ca: bytes) -> dict:
    """As KAI's operator writes it, but for the address: the process is not behind a Service."""
    verb, operations = WEBHOOKS[kind]
    return {
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": f"kai-{verb}"},
        "webhooks": [{
            "name": "admission.kai-scheduler.svc", "admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": "Fail",
            "namespaceSelector": {"matchExpressions": [
                {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system", "kai-scheduler"]}]},
            "clientConfig": {"url": f"https://127.0.0.1:{port}/{verb}--v1-pod", "caBundle": base64.b64encode(ca).decode()},
            "rules": [{"operations": operations, "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"],
                       "scope": "Namespaced"}],
            **({"reinvocationPolicy": "IfNeeded"} if verb == "mutate" else {}),
        }],
    }


def serves(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=2) as answer:
            return answer.status == 200
    except urllib.error.HTTPError as error:
        return error.code == 404  # a metrics server: it is there, and knows no /readyz
    except OSError:
        return False


class Kai:
    def __init__(self, host, api, free_ports: list[int]):
        """As many ports as PORTS has names."""
        self.host, self.api, self.ports = host, api, dict(zip(PORTS, free_ports))
        pin = build.pins()["component"]["kai-scheduler"]
        self.chart = build.module_dir(pin["module"], pin["version"]) / "deployments" / "kai-scheduler"

    def _create(self, path: str, body: dict | bytes):
        code, answer = self.api.call("POST", path, body)
        if code not in (201, 409):
            raise SystemExit(f"testhost: KAI's objects: POST {path} gave {code} {answer.decode(errors='replace')}")

    def _established(self) -> bool:
        items = json.loads(self.api.call("GET", DEFINITIONS)[1] or b"{}").get("items", [])
        return bool(items) and all(any(c["type"] == "Established" and c["status"] == "True"
                                       for c in item.get("status", {}).get("conditions") or []) for item in items)

    def start(self, binaries: dict):
        """Its types, objects and processes; none of them waits for nodes."""
        for file in sorted((self.chart / "crds").glob("*.yaml")):
            self._create(DEFINITIONS, file.read_bytes())
        for file in sorted((self.chart / "templates" / "priorityclasses").glob("*.yaml")):
            self._create("/apis/scheduling.k8s.io/v1/priorityclasses", file.read_bytes())
        for name in NAMESPACES:
            self._create("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        self._create("/api/v1/namespaces/kai-resource-reservation/serviceaccounts",
                     {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "kai-resource-reservation"}})
        self.host.wait_for("the establishment of KAI's types", self._established, 60)
        self._create("/apis/scheduling.run.ai/v2/queues", {
            "apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "metadata": {"name": "default"},
            "spec": {"resources": {resource: UNLIMITED for resource in ("cpu", "gpu", "memory")}}})
        # Its certificate is looked for below the folder of temporary files; the scheduler's logger writes there too.
        temporary = self.host.state / "kai"
        certificates = temporary / "k8s-webhook-server" / "serving-certs"
        certificates.mkdir(parents=True)
        for ending in ("crt", "key"):
            (certificates / f"tls.{ending}").symlink_to(self.host.pki / f"server.{ending}")
        environment = {"KUBECONFIG": str(self.host.state / "kubeconfig"), "TMPDIR": str(temporary)}
        for part, flags in arguments(self.ports).items():
            self.host.start(part, [binaries[part], *flags], environment)

    def finish(self):
        """Waits until all parts serve; the webhook counts from then on, for it refuses every pod while nobody answers."""
        for part in arguments(self.ports):
            self.host.wait_for(f"{part} to serve", lambda: serves(self.ports[part]), 60)
        ca = (self.host.pki / "ca.crt").read_bytes()
        for kind in WEBHOOKS:
            self._create(f"/apis/admissionregistration.k8s.io/v1/{kind.lower()}s", webhook(kind, self.ports["webhook"], ca))
