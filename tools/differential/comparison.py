"""Comparison: what two answers differ in, as keys that cluster: (what, path, detail), with indexes and values taken out."""

import json
import re
import urllib.parse

OWN_METADATA = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "selfLink")
# Also who asks: each side has its own administrator.
GENERATED = ("authentication.kubernetes.io/credential-id", "clusterIP", "clusterIPs", "nodePort", "healthCheckNodePort", "controller-uid", "batch.kubernetes.io/controller-uid")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


RANDOM_VOLUME = re.compile(r"kube-api-access-[a-z0-9]{5}")


def normal(value, key=""):
    if isinstance(value, dict):
        return {k: normal(v, k) for k, v in value.items() if not (key == "metadata" and k in OWN_METADATA)}
    if isinstance(value, list):
        return "<generated>" if key in GENERATED else [normal(v) for v in value]
    if key in GENERATED and value not in ("", "None", 0):
        return "<generated>"
    if isinstance(value, str):
        return RANDOM_VOLUME.sub("kube-api-access-<random>", UID.sub("<uid>", TIME.sub("<time>", value)))
    return value


def general(path):
    """Indexes and keys of maps out of a field path."""
    return re.sub(r"\[[^\]]*\]", "[*]", path or "")


BAD_STRUCT = re.compile(r"^(Invalid value: |Duplicate value: |Unsupported value: |Not found: )(\{.*\}|\[.*\]|null|map\[.*\])(?=: |$)", re.S)


GO_TYPE = re.compile(r"( into Go (?:struct field|value) ?\S*)? of type \S+")


def exact(message):
    """A message without what only Go can print: the fields and types of its own structs, and the diff of two of them."""
    message = (message or "").partition("\n")[0]
    message = GO_TYPE.sub(" of type <Go>", BAD_STRUCT.sub(r"\1<struct>", message))
    return RANDOM_VOLUME.sub("<volume>", UID.sub("<uid>", TIME.sub("<time>", message)))


def without_values(message):
    message = exact(message)
    message = re.sub(r'"(?:[^"\\]|\\.)*"', '"_"', message)
    message = re.sub(r"(Invalid value: )[^:\"<]+(?=: )", r"\1_", message)
    return re.sub(r"-?\d+", "N", message)


def shape(message):
    return without_values(message)[:220]


def ending(message):
    return without_values(message)[-120:]


def walk(ours, theirs, path=""):
    """Paths at which two stored objects differ."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in sorted(ours.keys() | theirs.keys()):
            here = f"{path}.{key}" if path else key
            if key not in ours:
                yield here, "missing"
            elif key not in theirs:
                yield here, "extra"
            else:
                yield from walk(ours[key], theirs[key], here)
    elif isinstance(ours, list) and isinstance(theirs, list):
        if len(ours) != len(theirs):
            yield path, "length"
        else:
            for pair in zip(ours, theirs):
                yield from walk(*pair, path + "[*]")
    elif ours != theirs or isinstance(ours, bool) != isinstance(theirs, bool):
        yield path, "value"


PATCHED = re.compile(r'^Invalid value: "(?:[^"\\]|\\.)*": ', re.S)


def cause_text(cause):
    """At `patch` upstream repeats the whole object as patched, with what each server alone gave it."""
    message = cause.get("message")
    return PATCHED.sub("Invalid value: <patched>: ", message) if cause.get("field") == "patch" else message


def refusal(answer):
    """{(field, reason, message)} of an error; without causes its message."""
    details = answer.body.get("details") or {}
    causes = {(c.get("field"), c.get("reason"), exact(cause_text(c))) for c in details.get("causes") or []}
    return causes or {("", answer.body.get("reason"), exact(answer.body.get("message")))}


def differences(case, ours, theirs):
    """[(what, path, detail)], empty when both sides say the same."""
    if 0 in (ours.status, theirs.status):
        return [("no answer", "", f"{theirs.status} is {ours.status}")]
    if ours.status < 300 and theirs.status < 300:
        a, b = normal(ours.body), normal(theirs.body)
        if case.kind.resource == "certificatesigningrequests":
            for body in (a, b):
                body.get("spec", {}).pop("username", None), body.get("spec", {}).pop("groups", None)
        if case.verb != "status" and case.kind.resource not in ("namespaces", "nodes"):
            a.pop("status", None), b.pop("status", None)  # controllers write there meanwhile
        found = [("stored", general(path), how) for path, how in walk(a, b)]
        return found + ([("status code", "", f"{theirs.status} is {ours.status}")] if ours.status != theirs.status else [])
    if ours.status < 300:
        return [(f"accepted ({theirs.status})", general(f), f"{r}: {shape(m)}") for f, r, m in sorted(refusal(theirs), key=str)]
    if theirs.status < 300:
        return [(f"refused ({ours.status})", general(f), f"{r}: {shape(m)}") for f, r, m in sorted(refusal(ours), key=str)]
    found = []
    if (ours.status, ours.body.get("reason")) != (theirs.status, theirs.body.get("reason")):
        found.append(("status code", "", f"{theirs.status} {theirs.body.get('reason')} is {ours.status} {ours.body.get('reason')}: {shape(theirs.body.get('message'))} ours: {ending(ours.body.get('message'))}"))
        return found
    a, b = refusal(ours), refusal(theirs)
    for field, reason, message in sorted(b - a, key=str):
        found.append(("cause missing", general(field), f"{reason}: {shape(message)}"))
    for field, reason, message in sorted(a - b, key=str):
        found.append(("cause extra", general(field), f"{reason}: {shape(message)}"))
    return found


def text(key):
    return " | ".join(key)


def quoted(name):
    """A name as a segment of a path."""
    return urllib.parse.quote(name, safe="")


def brief(answer):
    return json.dumps(answer.body if answer.status >= 300 else normal(answer.body), ensure_ascii=False)[:1500]
