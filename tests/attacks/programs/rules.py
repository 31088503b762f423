"""What a template freezes and denies, on every way in which the API server lets an object be changed: the resources, their subresources
and verbs are read from its discovery, and each rule is tried by POST, PUT and every kind of patch. Whatever the answer, neither the
tenant's object nor the host's may have what the rule keeps out."""
import json

from target import Target, eventually

TEMPLATE = """
allow:
  pods:
    annotations: [share]
    labels: [tier]
patches:
  - name: pods
    target: Pod
    effects:
      - freeze: metadata.annotations.share
        message: the share is frozen
      - freeze: metadata.labels.tier
        message: the tier is frozen
      - deny: this share is no number
        when: tenant.metadata.?annotations[?'share'].orValue('1') == 'NaN'
  - name: services
    target: Service
    effects:
      - freeze: metadata.annotations.share
        message: the share is frozen
      - deny: this share is no number
        when: tenant.metadata.?annotations[?'share'].orValue('1') == 'NaN'
"""
META = {"annotations": {"share": "0.1"}, "labels": {"tier": "bronze"}}
KINDS = {
    "pods": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", **META}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
    "services": {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "p", **META}, "spec": {"ports": [{"port": 80}]}},
}
# The rules: of which resource, what an attacker writes, and where that must not be found.
ANNOTATION, LABEL = ("metadata", "annotations", "share"), ("metadata", "labels", "tier")
RULES = [(resource, f"{what} {where[-1]}", where, value, kept)
         for resource, where, kept in (("pods", ANNOTATION, "0.1"), ("services", ANNOTATION, "0.1"))
         for what, value in (("raises", "0.9"), ("removes", None), ("makes nonsense of", "NaN"))]
RULES += [("pods", f"{what} tier", LABEL, value, "bronze") for what, value in (("raises", "gold"), ("removes", None))]


def look(document, where):
    for key in where:
        document = (document or {}).get(key)
    return document


def nest(where, value):
    return value if not where else {where[0]: nest(where[1:], value)}


def merged(into, change):
    made = dict(into)
    for key, value in change.items():
        if value is None:
            made.pop(key, None)
        else:
            made[key] = merged(made.get(key) or {}, value) if isinstance(value, dict) else value
    return made


def endpoints(api, resource):
    """(subresource, its kind, its verbs), as discovery says."""
    listed = api.request("GET", "/api/v1").json["resources"]
    return [(each["name"][len(resource):], each["kind"], each["verbs"]) for each in listed if each["name"].split("/")[0] == resource]


def ways(verbs, kind, whole, current, where, value):
    """(method, type, body) for each verb by which something is written: `current` is what stands there, and `whole` what was sent once."""
    change = nest(where, value)
    if kind not in ("Pod", "Service"):  # a subresource's own kind, with metadata as its object has it
        whole = {"apiVersion": {"Binding": "v1", "Eviction": "policy/v1", "TokenRequest": "authentication.k8s.io/v1"}.get(kind, "v1"), "kind": kind,
                 "metadata": whole["metadata"], **({"target": {"apiVersion": "v1", "kind": "Node", "name": "cpu-1"}} if kind == "Binding" else {})}
        current = whole
    whole, current = merged(whole, change), merged(current, change)
    if "create" in verbs:
        yield "POST", "application/json", whole
    if "update" in verbs:
        yield "PUT", "application/json", current
    if "patch" in verbs:
        yield "PATCH", "application/merge-patch+json", change
        yield "PATCH", "application/strategic-merge-patch+json", change
        pointer = "/" + "/".join(where)
        yield "PATCH", "application/json-patch+json", [{"op": "remove", "path": pointer} if value is None
                                                        else {"op": "replace", "path": pointer, "value": value}]
        yield "PATCH", "application/apply-patch+yaml", {key: item for key, item in whole.items() if key != "status"}


def every_way(_short):
    made, worked = 0, []
    with Target(template=TEMPLATE, neighbour=False) as target:
        api, host = target.api("admin"), target.api("host")
        for resource, what, where, value, kept in RULES:
            base = f"/api/v1/namespaces/default/{resource}"
            if api.request("GET", f"{base}/p").code == 404:
                answer = api.request("POST", base, KINDS[resource])  # the control: what the rules let pass
                assert answer.code == 201, answer.message
            def crossed():
                return host.request("GET", f"/api/v1/namespaces/{target.NAMESPACE}/{resource}/p-x-default-x-{target.NAME}")
            if resource == "pods":
                eventually(lambda: crossed().code == 200, "the pod is on the host")
            for subresource, kind, verbs in endpoints(api, resource):
                for method, content, body in ways(verbs, kind, KINDS[resource], api.request("GET", f"{base}/p").json, where, value):
                    path = base if not subresource and method == "POST" else f"{base}/p{subresource}"
                    if "apply" in content:
                        path += "?fieldManager=attacker&force=true"
                    made += 1
                    answer = api.request(method, path, json.dumps(body), {"Content-Type": content})
                    now = api.request("GET", f"{base}/p").json
                    if "deletionTimestamp" in now.get("metadata", {}) or "metadata" not in now:
                        # An eviction is what it says, and takes nothing with it but the object.
                        eventually(lambda: api.request("GET", f"{base}/p").code == 404, "it is gone")
                        assert api.request("POST", base, KINDS[resource]).code == 201
                        if resource == "pods":
                            eventually(lambda: crossed().code == 200, "the pod is on the host again")
                        continue
                    if look(now, where) != kept:
                        worked.append(f"{method} {path} ({content}) {what}: {answer.code}, is {look(now, where)!r}")
                        api.request("DELETE", f"{base}/p?gracePeriodSeconds=0")
                        eventually(lambda: api.request("GET", f"{base}/p").code == 404, "it is gone")
                        assert api.request("POST", base, KINDS[resource]).code == 201
            if resource == "pods":
                there = crossed().json["metadata"]
                assert look({"metadata": there}, ANNOTATION) == "0.1", there
            # The control: what no rule is about changes on the same way.
            free = api.request("PATCH", f"{base}/p", {"metadata": {"annotations": {"free": what}}}, {"Content-Type": "application/merge-patch+json"})
            assert free.code == 200, free.message
    assert not worked, f"{len(worked)} of {made}: " + "; ".join(worked[:5])
    return made


CASES = {"every-way": every_way}
