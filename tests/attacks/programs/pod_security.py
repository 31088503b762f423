"""Upstream's own fixtures of the Pod Security Standards (tests/podsecurity), sent to virtual clusters whose templates ask for a standard:
every pod that upstream's library says violates it today is refused. The controls are those that it lets pass: they are taken, unless
the border itself has a reason, which is then not the standard."""
import json
import pathlib

from target import Target

FIXTURES = pathlib.Path(__file__).resolve().parents[2] / "podsecurity" / "fixtures.jsonl"


def fixtures():
    with open(FIXTURES, encoding="utf-8") as file:
        next(file)  # what the verdicts refer to
        for line in file:
            # Ephemeral containers come by a subresource of their own, AppArmor's annotations stay in the tenant, and a volume
            # without a source is an emptyDir.
            if "ephemeralContainers" in line or "container.apparmor" in line:
                continue
            fixture = json.loads(line)
            if all(len(volume) > 1 for volume in fixture["pod"]["spec"].get("volumes", [])):
                yield fixture


def violates(fixture, level):
    return len(fixture["verdicts"][level][-1]) > 1  # [from this minor version on, what is said ...]


def standard(level):
    def play(_short):
        made, worked, wrong, taken = 0, [], [], 0
        with Target(template=f"policies: {{podSecurityStandard: {level}}}\n", neighbour=False) as target:
            api = target.api("admin")
            for fixture in fixtures():
                pod = fixture["pod"]
                name = pod["metadata"].get("name", "")
                answer = api.request("POST", "/api/v1/namespaces/default/pods?dryRun=All", {"apiVersion": "v1", "kind": "Pod", **pod})
                if violates(fixture, level):
                    made += 1
                    if answer.code == 201:
                        worked.append(f"{name}: {json.dumps(pod['spec'])[:300]}")
                elif answer.code == 201:
                    taken += 1
                elif "PodSecurity" in answer.message:
                    wrong.append(f"{name}: {answer.message}")
        assert not worked, f"{len(worked)} of {made} were taken: " + "; ".join(worked[:5])
        assert not wrong, f"{len(wrong)} that the standard lets pass were refused for it: " + "; ".join(wrong[:5])
        assert taken >= 12, f"only {taken} controls were taken"
        return made
    return play


CASES = {"baseline": standard("baseline"), "restricted": standard("restricted")}
