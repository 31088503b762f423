"""Cases: seeded changes of the valid objects of seeds.txt, and the request that each of them is.

A case is a seed, a verb and a few edits (a path in the object and what to do there), so that the same change can be made to each
side's own stored object, and edits can be left out one by one when a difference is reduced.
"""

import copy
import json
import pathlib
import random

HERE = pathlib.Path(__file__).resolve().parent
NAMESPACE, LIMITED_NAMESPACE = "differ", "differ-limits"
LIMITING = ("resourcequotas", "limitranges")  # stored beside the others, not among them: they would judge them

INTEGERS = [0, -1, 1, 2, 3, 50, 99, 100, 101, 256, 3600, 65535, 65536, 2147483647, -2147483648]
FAR_INTEGERS = [2147483648, 9223372036854775807, -9223372036854775808]
TEXTS = ["", "a", "A", "-a", "a-", "a_b", "a.b", "a/b", "a/b/c", "a b", " a", "\u00fc\u4e2d", "x" * 64, "x" * 254, "10%", "101%", "0", "-1", "5", "080",
         "1.2.3.4", "1.2.3.0/24", "1.2.3.4/24", "01.2.3.4", "1.2.3.4/33", "::1", "2001:DB8::/32", "127.0.0.1", "example.com", "example.com/x", "Example.com",
         "*.example.com", "*", "/", "/abs", "../x", "a/../b", "x.y/z", "kubernetes.io/x", "k8s.io/y", "None", "none", "true", "Always",
         "http://x", "https://x/y", "1Gi", "100m", "-1Gi", "1.5", "TCP", "bad", "{{x}}", "\n", "a,b", "$(A)", "a..b", "a//b", "//a"]
QUANTITIES = ["1", "0", "-1", "1Gi", "1.5", "100m", "1e3", "abc", "", "10Ei", "0.0001"]
WRONG = [1, "x", True, 1.5, [], {}, ["x"], {"x": "y"}, None]
KEYS = ["a", "a/b", "A_b", "-bad", "x" * 64, "example.com/ok", "a/b/c", "", "kubernetes.io/x", "\u00fc"]


class Kind:
    """One resource of seeds.txt: where it is, its seeds, its schema as the reference tells it."""

    def __init__(self, version, collection, seeds):
        self.version, self.seeds = version, seeds
        self.resource = collection.rsplit("/", 1)[-1]
        namespace = LIMITED_NAMESPACE if self.resource in LIMITING else NAMESPACE
        self.namespace = namespace if "{ns}" in collection else None
        root = "/api/" if "/" not in version else "/apis/"
        self.collection = root + version + "/" + collection.replace("{ns}", NAMESPACE)
        self.stored_collection = root + version + "/" + collection.replace("{ns}", namespace)
        self.name = f"{version}/{self.resource}"
        self.kind = None
        self.schemas, self.schema = {}, {}
        self.has_status = False
        self.bases = None  # each side's stored object, in the order of the servers

    def learn(self, reference, documents):
        root = "/api/" if "/" not in self.version else "/apis/"
        found = [r for r in reference.ask("GET", root + self.version).body["resources"]]
        self.kind = next(r["kind"] for r in found if r["name"] == self.resource)
        self.has_status = any(r["name"] == self.resource + "/status" for r in found)
        at = "/openapi/v3" + root + self.version
        if at not in documents:
            documents[at] = reference.ask("GET", at).body["components"]["schemas"]
        self.schemas = documents[at]
        group, _, version = ("", "", self.version) if "/" not in self.version else self.version.partition("/")
        wanted = {"group": group, "version": version, "kind": self.kind}
        self.schema = next(s for s in self.schemas.values() if wanted in s.get("x-kubernetes-group-version-kind", []))
        for seed in self.seeds:
            seed.update({"apiVersion": self.version, "kind": self.kind})

    def resolve(self, schema):
        while True:
            if "allOf" in schema:
                schema = {**schema, **schema["allOf"][0]}
                del schema["allOf"]
            elif "$ref" in schema:
                schema = self.schemas[schema["$ref"].rsplit("/", 1)[-1]]
            else:
                return schema

    def schema_at(self, path):
        schema = self.resolve(self.schema)
        for step in path:
            if isinstance(step, int):
                schema = self.resolve(schema.get("items", {}))
            elif step in schema.get("properties", {}):
                schema = self.resolve(schema["properties"][step])
            else:
                more = schema.get("additionalProperties")
                schema = self.resolve(more) if isinstance(more, dict) else {}
        return schema


def read_kinds():
    kinds, place, seeds = [], None, []
    for line in (HERE / "seeds.txt").read_text().splitlines() + ["### end end"]:
        if line.startswith("### "):
            if place:
                kinds.append(Kind(*place, seeds))
            place, seeds = line[4:].split(), []
        elif line.startswith("{"):
            seeds.append(json.loads(line.replace("{ns}", NAMESPACE)))
    return kinds


# --- edits ---


def paths_of(value, at=()):
    """Every place in the object but its type and its name."""
    yield at
    if isinstance(value, dict):
        for key, inner in value.items():
            if at or key not in ("apiVersion", "kind"):
                yield from paths_of(inner, at + (key,))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from paths_of(inner, at + (index,))


def find(value, path):
    for step in path:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def edited(value, edits):
    """A copy with the edits made; one whose place is not there (any more) does nothing."""
    value = copy.deepcopy(value)
    for path, action, what in edits:
        parent = find(value, path[:-1])
        if not isinstance(parent, (dict, list)) or (isinstance(parent, list) != isinstance(path[-1], int)):
            if action != "set" or isinstance(path[-1], int):
                continue
            parent = value  # make the way there
            for step in path[:-1]:
                if not isinstance(parent, dict):
                    break
                parent = parent.setdefault(step, {})
            if not isinstance(parent, dict):
                continue
        if isinstance(parent, list) and path[-1] >= len(parent) + (action == "set"):
            continue
        if action == "remove":
            parent.pop(path[-1], None) if isinstance(parent, dict) else parent.pop(path[-1])
        elif isinstance(parent, list) and path[-1] == len(parent):
            parent.append(copy.deepcopy(what))
        else:
            parent[path[-1]] = copy.deepcopy(what)
    return value


class Mutator:
    """Makes the cases of one kind from a seed of the random numbers."""

    def __init__(self, kind, seed):
        self.kind = kind
        self.random = random.Random(f"{seed} {kind.name}")
        self.spoken = {}  # what the seeds say at a key: the words that mean something there
        for one in kind.seeds:
            for path in paths_of(one):
                value = find(one, path)
                if path and isinstance(path[-1], str) and isinstance(value, str):
                    self.spoken.setdefault(path[-1], []).append(value)

    def pick(self, values):
        return self.random.choice(values)

    def scalar(self, schema, key):
        if self.random.random() < 0.02:
            return self.pick(WRONG)
        if schema.get("enum") and self.random.random() < 0.7:
            return self.pick(schema["enum"])
        form, type_ = schema.get("format"), schema.get("type")
        if form == "int-or-string":
            return self.pick([0, 1, -1, 5, 70000, "50%", "0%", "101%", "-5%", "x", "5", "http", ""])
        if schema.get("oneOf"):  # a quantity
            return self.pick(QUANTITIES)
        if form == "date-time":
            return self.pick(["2026-01-01T00:00:00Z", None, "x"])
        if form == "byte":
            return self.pick(["", "YQ==", "AAEC", "!"])
        if type_ == "boolean":
            return self.pick([True, False])
        if type_ in ("integer", "number"):
            return self.pick(FAR_INTEGERS) if self.random.random() < 0.05 else self.pick(INTEGERS)
        if self.random.random() < 0.35 and self.spoken.get(key):
            return self.pick(self.spoken[key])
        return self.pick(TEXTS)

    def synthetic(self, schema, key, depth=0):
        """A value as the schema has it, with some of its optional fields."""
        schema = self.kind.resolve(schema)
        properties = schema.get("properties")
        if properties:
            needed = schema.get("required", [])
            chosen = {p for p in properties if p in needed and self.random.random() < 0.95}
            for name in self.random.sample(sorted(properties), min(len(properties), self.random.randint(0, 3))):
                if depth < 5:
                    chosen.add(name)
            return {p: self.synthetic(properties[p], p, depth + 1) for p in sorted(chosen) if p not in ("managedFields",)}
        if schema.get("type") == "array":
            return [self.synthetic(schema.get("items", {}), key, depth + 1) for _ in range(self.random.choice([0, 1, 1, 1, 2]))]
        if schema.get("type") == "object":
            more = schema.get("additionalProperties")
            inner = more if isinstance(more, dict) else {"type": "string"}
            return {self.pick(KEYS): self.synthetic(inner, key, depth + 1) for _ in range(self.random.choice([0, 1, 1, 2]))}
        return self.scalar(schema, key)

    def place(self, value, inside):
        """A place to change: mostly what is particular to the kind, seldom its metadata."""
        places = [p for p in paths_of(value) if p[: len(inside)] == inside]
        own = [p for p in places if p[:1] != ("metadata",)]
        if own and (inside or self.random.random() < 0.92):
            return self.pick(own)
        return self.pick([p for p in places if p[:2] not in (("metadata", "uid"), ("metadata", "managedFields"))])

    def edit(self, value, inside=()):
        path = self.place(value, inside)
        here = find(value, path)
        roll = self.random.random()
        if isinstance(here, dict) and roll < 0.6:
            schema = self.kind.schema_at(path)
            properties = [p for p in schema.get("properties", {}) if p not in here and p not in ("apiVersion", "kind", "managedFields")]
            if not inside and not path:
                properties = [p for p in properties if p != "status"]
            if properties:
                name = self.pick(sorted(properties))
                return (path + (name,), "set", self.synthetic(schema["properties"][name], name))
            if isinstance(schema.get("additionalProperties"), dict):
                return (path + (self.pick(KEYS),), "set", self.synthetic(schema["additionalProperties"], path[-1] if path else ""))
        if isinstance(here, list) and roll < 0.75:
            if here and roll < 0.25:
                return (path + (len(here),), "set", self.pick(here))
            if roll < 0.3:
                return (path, "set", [])
            schema = self.kind.schema_at(path).get("items", {})
            return (path + (len(here),), "set", self.synthetic(schema, path[-1]))
        if not path or (path in (("metadata",), ("spec",)) and roll < 0.9):
            return self.edit(value, inside)
        if roll > 0.98:
            return (path, "set", self.pick(WRONG))
        if roll > 0.8:
            return (path, "remove", None)
        if isinstance(here, (dict, list)):
            return (path, "set", self.synthetic(self.kind.schema_at(path), path[-1]))
        key = next((s for s in reversed(path) if isinstance(s, str)), "")
        return (path, "set", self.scalar(self.kind.schema_at(path), key))

    def edits(self, value, inside=()):
        made, current = [], value
        for _ in range(self.random.choice([1, 1, 1, 1, 2, 2, 3])):
            if inside and not find(current, inside):
                break
            edit = self.edit(current, inside)
            made.append(edit)
            current = edited(current, [edit])
        return made

    def case(self, place):
        verb = self.random.choices(["create", "update", "merge", "json", "apply", "status"], [55, 25, 3, 4, 5, 8])[0]
        stored = self.kind.bases[0] if self.kind.bases else None
        if verb == "status" and not self.kind.has_status or (verb not in ("create", "apply") and stored is None):
            verb = "create"
        if verb in ("create", "apply"):
            seed = self.random.randrange(len(self.kind.seeds))
            return Case(self.kind, place, verb, seed, self.edits(self.kind.seeds[seed]))
        if verb == "status":
            schema = self.kind.schema_at(("status",))
            edits = [(("status",), "set", self.synthetic(schema, "status"))]
            if isinstance(edits[0][2], dict) and edits[0][2]:
                edits += self.edits(edited(stored, edits), ("status",))
            return Case(self.kind, place, verb, 0, edits)
        return Case(self.kind, place, verb, 0, self.edits(stored))


class Case:
    def __init__(self, kind, place, verb, seed, edits):
        self.kind, self.place, self.verb, self.seed, self.edits = kind, place, verb, seed, edits

    def with_edits(self, edits):
        return Case(self.kind, self.place, self.verb, self.seed, edits)

    def text(self):
        return f"{self.verb} {self.kind.name} seed {self.seed}: {json.dumps(self.edits)}"

    def request(self, side):
        """(method, path, body, content type) for the server of this place."""
        kind = self.kind
        query = "?dryRun=All"
        if self.verb == "create":
            return "POST", kind.collection + query, edited(kind.seeds[self.seed], self.edits), "application/json"
        if self.verb == "apply":
            name = kind.seeds[self.seed]["metadata"]["name"]
            body = edited(kind.seeds[self.seed], self.edits)
            return "PATCH", f"{kind.collection}/{name}{query}&fieldManager=differ&force=true", body, "application/apply-patch+yaml"
        base = kind.bases[side]
        one = kind.stored_collection + "/" + base["metadata"]["name"]
        if self.verb in ("update", "status"):
            return "PUT", one + ("/status" if self.verb == "status" else "") + query, edited(base, self.edits), "application/json"
        if self.verb == "merge":
            patch = {}
            after = edited(base, self.edits)
            for path, _, _ in self.edits:
                top = tuple(s for s in path[: next((i for i, s in enumerate(path) if isinstance(s, int)), len(path))])
                here = patch
                for step in top[:-1]:
                    here = here.setdefault(step, {}) if isinstance(here.get(step, {}), dict) else {}
                if top:
                    here[top[-1]] = find(after, top)
            return "PATCH", one + query, patch, "application/merge-patch+json"
        operations = []
        for path, action, what in self.edits:
            pointer = "".join("/" + str(s).replace("~", "~0").replace("/", "~1") for s in path)
            operation = {"op": "add" if action == "set" else "remove", "path": pointer}
            if action == "set":
                operation["value"] = what
            operations.append(operation)
        return "PATCH", one + query, operations, "application/json-patch+json"
