"""Counts the `+k8s:` markers of declarative validation on the types of the table: what upstream says of fields in a form that is made for
machines, and whether a kube-apiserver of this release acts on it."""

import collections
import re

from . import model

_STAGED = re.compile(r"^\+?k8s:(alpha|beta)\(.*?\)=(.*)$")
_GATED = re.compile(r"^\+?k8s:(?:ifEnabled|ifDisabled)\(.*?\)=(.*)$")
_NAME = re.compile(r"^\+?k8s:(\w+)")
# What of `+k8s:` is no rule but tells code generators what to write.
NO_RULES = ("deprecated", "supportsSubresource", "isSubresource")
READ = ("enum",)  # by model.py; list types, defaults and the like it reads off the older markers, which have them all


def rule_of(name, value):
    """(stage, rule) of one marker; None when it is none of declarative validation."""
    text = f"{name}={value}" if value else name
    if not text.startswith("k8s:"):
        return None
    stage = "acts"
    if match := _STAGED.match(text):
        stage, text = match[1], match[2]
    while match := _GATED.match(text):
        text = match[1]
    rule = _NAME.match(text)
    return (stage, rule[1]) if rule and rule[1] not in NO_RULES else None


def counted(builder):
    """{rule: {stage: on how many fields and types}} of all types of the table."""
    counts = collections.defaultdict(collections.Counter)
    for package in builder.packages.values():
        for struct in package.structs.values():
            if model.definition_name(f"{package.path}.{struct.name}") not in builder.types:
                continue
            for owner in (struct, *struct.fields):
                for marker in owner.markers:
                    if found := rule_of(*marker):
                        counts[found[1]][found[0]] += 1
        for named in package.named.values():
            for marker in named.markers:
                if found := rule_of(*marker):
                    counts[found[1]][found[0]] += 1
    return counts


def table(builder):
    counts = counted(builder)
    lines = [f"{'acts':>6} {'beta':>6} {'alpha':>6}  rule"]
    for rule in sorted(counts, key=lambda r: (-sum(counts[r].values()), r)):
        stages = counts[rule]
        lines.append(f"{stages['acts']:6} {stages['beta']:6} {stages['alpha']:6}  {rule}{'  (read by the generator)' if rule in READ else ''}")
    totals = [sum(stages[stage] for stages in counts.values()) for stage in ("acts", "beta", "alpha")]
    lines.append(f"{totals[0]:6} {totals[1]:6} {totals[2]:6}  of {len(counts)} rules; alpha ones are compared and counted by kube-apiserver, but refuse nothing")
    return "\n".join(lines)
