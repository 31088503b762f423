"""Merges the sources into one model of types, kinds and resources, and checks them against each other."""

import base64
import dataclasses
import hashlib
import json
import os
import re

from . import facts, go_source, proto_source
from .go_source import marker, marker_values


class Disagreement(Exception):
    """Two of upstream's sources say different things, or one says what the table cannot express."""


@dataclasses.dataclass
class Field:
    name: str
    scalar: str
    type_name: str = ""  # definition name, for message and schema_or_*
    repeated: bool = False
    map: bool = False
    map_of_lists: bool = False
    list_message: str = ""  # name of the .proto message that wraps a list of items, e.g. ExtraValue
    pointer: bool = False
    omit_empty: bool = False
    omit_zero: bool = False
    inlined: bool = False
    required: bool = False
    proto_number: int = 0
    list_type: str = "none"
    map_type: str = "none"
    list_map_keys: tuple = ()
    patch_strategy: str = "none"
    patch_merge_key: str = ""
    enum_values: tuple = ()
    default_json: str = ""


@dataclasses.dataclass
class Type:
    name: str
    fields: list
    atomic: bool = False


@dataclasses.dataclass
class Subresource:
    name: str
    group: str
    version: str
    kind: str
    verbs: list


@dataclasses.dataclass
class Resource:
    group: str
    version: str
    resource: str
    kind: str
    singular: str
    namespaced: bool
    verbs: list
    short_names: list
    categories: list
    subresources: list
    storage_hash: str
    type_name: str = ""
    list_kind: str = ""
    storage_group: str = ""
    storage_version: str = ""
    delete_returns_object: bool = False


@dataclasses.dataclass
class Model:
    release: str
    types: dict  # definition name -> Type
    kinds: dict  # (group, version, kind) -> definition name
    groups: list  # (name, [versions, preferred first])
    resources: list

    @staticmethod
    def served(versions):
        """Those that upstream serves by default: since 1.24 neither alpha nor beta."""
        return [version for version in versions if "alpha" not in version and "beta" not in version]


@dataclasses.dataclass
class _Resolved:
    """What a Go type expression comes down to."""
    scalar: str
    type_path: str = ""  # Go's full name of the struct
    repeated: bool = False
    map: bool = False
    pointer: bool = False
    named_list: str = ""  # Go's full name of a named slice type on the way
    enum: tuple = ()
    atomic: bool = False


def definition_name(go_path):
    package, name = go_path.rsplit(".", 1)
    return "io.k8s." + package.removeprefix("k8s.io/").replace("/", ".") + "." + name


def proto_name(definition):
    """io.k8s.api.core.v1.Pod -> k8s.io.api.core.v1.Pod"""
    return "k8s.io." + definition.removeprefix("io.k8s.").replace("-", "_")


def _json_object(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


class Builder:
    def __init__(self, release, folders):
        self.release = release
        self.folders = folders
        self.packages = {}
        self.protos = {}
        self.types = {}
        api = os.path.join(folders["k8s.io/kubernetes"], "api")
        self.discovery = os.path.join(api, "discovery")
        swagger = _json_object(os.path.join(api, "openapi-spec", "swagger.json"))
        self.openapi, self.paths = swagger["definitions"], swagger["paths"]
        self.group_paths = self._group_paths()

    # Go packages.

    def folder_of(self, import_path):
        for module, folder in self.folders.items():
            if import_path == module or import_path.startswith(module + "/"):
                return os.path.join(folder, import_path[len(module) + 1:])
        raise Disagreement(f"{import_path} is in none of the modules that the tool reads")

    def package(self, import_path):
        if import_path not in self.packages:
            self.packages[import_path] = go_source.read_package(self.folder_of(import_path), import_path)
        return self.packages[import_path]

    def proto(self, import_path):
        if import_path not in self.protos:
            self.protos[import_path] = proto_source.read_proto(self.folder_of(import_path))
        return self.protos[import_path]

    def _group_paths(self):
        """API group -> import path of its folder, from the GroupName that each package declares."""
        paths = dict(facts.GROUP_PACKAGES)
        root = self.folders["k8s.io/api"]
        for group_folder in sorted(os.listdir(root)):
            for version in sorted(os.listdir(os.path.join(root, group_folder)) if "." not in group_folder and
                                  os.path.isdir(os.path.join(root, group_folder)) else []):
                register = os.path.join(root, group_folder, version, "register.go")
                if os.path.exists(register):
                    with open(register, encoding="utf-8") as file:
                        name = re.search(r'const GroupName = "([^"]*)"', file.read())
                    if name:
                        paths[name[1]] = f"k8s.io/api/{group_folder}"
        return paths

    def package_of_group(self, group, version):
        if group not in self.group_paths:
            raise Disagreement(f"no Go package declares the group {group!r}")
        return self.package(f"{self.group_paths[group]}/{version}")

    # Type expressions.

    def resolve(self, package, text):
        if text.startswith("*"):
            inner = self.resolve(package, text[1:])
            inner.pointer = True
            return inner
        if text == "[]byte":
            return _Resolved("bytes")
        if text.startswith("[]"):
            inner = self.resolve(package, text[2:])
            if inner.repeated or inner.map or inner.pointer:
                raise Disagreement(f"{package.path}: the table has no form for {text}")
            inner.repeated = True
            return inner
        if text.startswith("map["):
            return self._resolve_map(package, text)
        if text in facts.GO_SCALARS:
            return _Resolved(facts.GO_SCALARS[text])
        return self._resolve_name(package, text)

    def _resolve_map(self, package, text):
        key, value = text[len("map["):].split("]", 1)
        if self.resolve(package, key).scalar != "string":
            raise Disagreement(f"{package.path}: map key {key}")
        inner = self.resolve(package, value)
        if inner.map or inner.pointer:
            raise Disagreement(f"{package.path}: the table has no form for {text}")
        inner.map = True
        return inner

    def _resolve_name(self, package, text):
        alias, _, name = text.rpartition(".")
        path = f"{package.imports[alias] if alias else package.path}.{name}"
        if path in facts.SPECIAL_SCALARS:
            return _Resolved(facts.SPECIAL_SCALARS[path])
        if path in facts.SCHEMA_OR:
            return _Resolved(facts.SCHEMA_OR[path], type_path=facts.SCHEMA_PROPS)
        if alias:
            package = self.package(package.imports[alias])
        if name in package.structs:
            atomic = marker(package.structs[name].markers, "structType") == "atomic"
            return _Resolved("message", type_path=path, atomic=atomic)
        if name not in package.named:
            raise Disagreement(f"{package.path}: unknown type {name}")
        return self._resolve_named(package, package.named[name], path)

    def _resolve_named(self, package, named, path):
        inner = self.resolve(package, named.underlying)
        if named.alias:
            return inner
        if inner.scalar == "message" and not (inner.repeated or inner.map):
            # type MatchCondition v1.MatchCondition: a definition of its own with the same fields.
            inner.type_path = path
        if inner.repeated:
            inner.named_list = path
        if inner.scalar == "string" and not inner.repeated:
            inner.enum = self._enum(package, named)
        return inner

    def _enum(self, package, named):
        names = [name for name, _ in named.markers]
        gated = any(value.endswith("+k8s:enum") for _, value in named.markers)
        if not ("enum" in names or "k8s:enum" in names or gated):
            return ()
        values = {self._literal(package, text) for go_type, text in package.constants.values() if go_type == named.name}
        return tuple(sorted(values))

    def _literal(self, package, text):
        """The string of a constant that may stand for another one: `AddressType(v1.IPv4Protocol)`."""
        while not text.startswith('"'):
            alias, _, name = text.rpartition(".")
            package = self.package(package.imports[alias]) if alias else package
            if name not in package.constants:
                raise Disagreement(f"{package.path}: {name} is no constant that is understood")
            text = package.constants[name][1]
        return json.loads(text)

    def struct_of(self, path):
        """(package, struct) of a full Go name, through `type X other.X`."""
        import_path, name = path.rsplit(".", 1)
        package = self.package(import_path)
        while name not in package.structs:
            underlying = package.named[name].underlying
            if "." in underlying:
                alias, name = underlying.split(".")
                package = self.package(package.imports[alias])
            else:
                name = underlying
        return package, package.structs[name]

    # Types.

    def add_type(self, path):
        name = definition_name(path)
        if name in self.types:
            return name
        package, struct = self.struct_of(path)
        if struct.problems:
            raise Disagreement("; ".join(struct.problems))
        made = self.types[name] = Type(name, [], marker(struct.markers, "structType") == "atomic")
        for go_field in struct.fields:
            made.fields.append(self._field(package, path, go_field))
        self._check_proto(path, made)
        self._check_openapi(made)
        return name

    def _field(self, package, owner, go_field):
        resolved = self.resolve(package, go_field.type_text)
        field = Field(go_field.json_name, resolved.scalar)
        if resolved.type_path:
            field.type_name = self.add_type(resolved.type_path)
        field.map = resolved.map
        field.map_of_lists = resolved.map and resolved.repeated
        field.repeated = resolved.repeated and not resolved.map
        field.pointer = resolved.pointer
        field.omit_empty = "omitempty" in go_field.json_options
        field.omit_zero = "omitzero" in go_field.json_options
        field.inlined = go_field.inlined
        field.proto_number = go_field.proto_number
        field.enum_values = resolved.enum
        field.list_message = self._list_message(resolved.named_list)
        if not (field.name or field.inlined):
            raise Disagreement(f"{owner}: a field without a JSON name that is not inlined: {go_field.type_text}")
        self._markers(package, owner, go_field, field, resolved)
        return field

    def _list_message(self, go_path):
        """A named slice type that the .proto file makes a message of, as protobuf's name; "" for all others."""
        if not go_path:
            return ""
        import_path, name = go_path.rsplit(".", 1)
        return proto_name(definition_name(go_path)) if name in self.proto(import_path) else ""

    def _markers(self, package, owner, go_field, field, resolved):
        markers = go_field.markers
        field.list_type = marker(markers, "listType") or "none"
        field.map_type = marker(markers, "mapType") or marker(markers, "structType") or "none"
        if resolved.atomic and field.map_type == "none" and not (field.repeated or field.map):
            field.map_type = "atomic"
        field.list_map_keys = tuple(marker_values(markers, "listMapKey"))
        field.patch_strategy = go_field.patch_strategy.replace(",", "_").replace("retainKeys", "retain_keys") or "none"
        field.patch_merge_key = go_field.patch_merge_key
        field.default_json = self._default(package, owner, marker(markers, "default"))
        optional = marker(markers, "optional") is not None
        field.required = not (field.inlined or optional or field.omit_empty or field.omit_zero)

    def _default(self, package, owner, text):
        if text is None:
            return ""
        if match := re.match(r"^ref\(([\w./]+)\)$", text):
            if match[1] not in package.constants:
                raise Disagreement(f"{owner}: default {text} names an unknown constant")
            text = package.constants[match[1]][1]
        value = json.loads(text)
        return json.dumps(value, separators=(",", ":"))

    # Checks between the sources.

    def _check_proto(self, path, made):
        import_path, name = path.rsplit(".", 1)
        message = self.proto(import_path).get(name)
        if message is None:
            return  # JSON only: TypeMeta's owner Table, and the alias types, whose original is checked
        ours = {field.proto_number: field for field in made.fields if field.proto_number}
        theirs = {field.number: field for field in message}
        if ours.keys() != theirs.keys():
            raise Disagreement(f"{path}: Go tags have numbers {sorted(ours)}, the .proto {sorted(theirs)}")
        for number, field in ours.items():
            label, text = self._proto_form(field)
            found = theirs[number]
            seen = "optional" if found.label == "required" else found.label
            if (label, text) != (seen, found.type_text):
                raise Disagreement(f"{path}.{field.name}: Go says {label} {text}, .proto says {seen} {found.type_text}")

    def _proto_form(self, field):
        label = "map" if field.map else "repeated" if field.repeated and not field.list_message else "optional"
        if field.list_message:
            return label, field.list_message
        if field.scalar == "message":
            return label, proto_name(field.type_name)
        return label, facts.PROTO_TYPES[field.scalar]

    def _check_openapi(self, made):
        definition = self.openapi.get(made.name)
        if definition is None:
            return  # kinds that no path of the API mentions, such as PodLogOptions
        properties = definition.get("properties", {})
        required = set(definition.get("required", []))
        self._check_fields(made, made, properties, required)
        unknown = properties.keys() - {field.name for field in self.flattened(made)}
        if unknown:
            raise Disagreement(f"{made.name}: OpenAPI has {sorted(unknown)}, Go has not")

    def flattened(self, made):
        for field in made.fields:
            if field.inlined:
                yield from self.flattened(self.types[field.type_name])
            else:
                yield field

    def _check_fields(self, root, made, properties, required):
        for field in made.fields:
            if field.inlined:
                inner = self.types[field.type_name]
                if inner.name not in self.openapi:  # VolumeSource: only known flattened into its owners
                    self._check_fields(root, inner, properties, required)
                continue
            where = f"{root.name}.{field.name}"
            if field.name not in properties:
                raise Disagreement(f"{where}: not in OpenAPI")
            found = properties[field.name]
            field.required = field.name in required
            self._compare(where, "list type", field.list_type, found.get("x-kubernetes-list-type", "none"))
            self._compare(where, "list keys", list(field.list_map_keys), found.get("x-kubernetes-list-map-keys", []))
            strategy = found.get("x-kubernetes-patch-strategy", "none")
            strategy = strategy.replace(",", "_").replace("retainKeys", "retain_keys")
            self._compare(where, "patch strategy", field.patch_strategy, strategy)
            if field.map_type != "none" and not self._atomic_type(field):
                self._compare(where, "map type", field.map_type, found.get("x-kubernetes-map-type", "none"))
            self._compare(where, "merge key", field.patch_merge_key, found.get("x-kubernetes-patch-merge-key", ""))

    def _atomic_type(self, field):
        """Whether the field is atomic because its struct type is; OpenAPI says that at the type."""
        return field.map_type == "atomic" and field.scalar == "message" and self.types[field.type_name].atomic

    @staticmethod
    def _compare(where, what, ours, theirs):
        if ours != theirs:
            raise Disagreement(f"{where}: {what}: Go says {ours}, OpenAPI says {theirs}")

    # Kinds.

    def add_kinds(self, kinds, group, version, only=None):
        package = self.package_of_group(group, version)
        names = set(package.structs) | set(package.named)
        for name in sorted(names):
            if only is not None and name not in only:
                continue
            path = f"{package.path}.{name}"
            if self._is_kind(package, name):
                kinds[(group, version, name)] = self.add_type(path)

    def _is_kind(self, package, name):
        if name in package.structs:
            return any(field.inlined and field.type_text.split(".")[-1] == "TypeMeta"
                       for field in package.structs[name].fields)
        if package.path.startswith(facts.META):
            return False
        underlying = package.named[name].underlying
        return name == "List" and underlying == "metav1.List"

    def all_kinds(self, groups):
        kinds = {}
        for group, versions in groups:
            for version in versions:
                self.add_kinds(kinds, group, version)
        for group, version, only in facts.UNSERVED_PACKAGES:
            self.add_kinds(kinds, group, version, only)
        for name in facts.KINDS_OF_EVERY_GROUP:
            kinds[("*", "*", name)] = self.add_type(f"{facts.META}.{name}")
        for name in facts.UNVERSIONED_KINDS:
            kinds[("", "v1", name)] = self.add_type(f"{facts.META}.{name}")
        for version, name, path in facts.META_KINDS:
            kinds[("meta.k8s.io", version, name)] = self.add_type(f"{path}.{name}")
        return kinds

    # Discovery.

    def groups(self):
        core = _json_object(os.path.join(self.discovery, "api.json"))
        found = [("", core["versions"])]
        aggregated = _json_object(os.path.join(self.discovery, "aggregated_v2.json"))
        for item in aggregated["items"]:
            found.append((item["metadata"]["name"], [version["version"] for version in item["versions"]]))
        return found

    def resources(self, groups):
        found = []
        for group, versions in groups:
            for version in versions:
                name = f"apis__{group}__{version}.json" if group else f"api__{version}.json"
                listed = _json_object(os.path.join(self.discovery, name))["resources"]
                found += self._resources(group, version, listed)
        return found

    @staticmethod
    def _resources(group, version, listed):
        made = {}
        for entry in listed:
            name, _, subresource = entry["name"].partition("/")
            if not subresource:
                made[name] = Resource(group, version, name, entry["kind"], entry["singularName"], entry["namespaced"],
                                      sorted(entry["verbs"]), entry.get("shortNames", []), entry.get("categories", []),
                                      [], entry.get("storageVersionHash", ""))
        for entry in listed:
            name, _, subresource = entry["name"].partition("/")
            if subresource:
                made[name].subresources.append(
                    Subresource(subresource, entry.get("group", group), entry.get("version", version), entry["kind"],
                                sorted(entry["verbs"])))
        return [made[name] for name in sorted(made)]

    def complete_resource(self, resource, kinds, groups, resources):
        key = (resource.group, resource.version, resource.kind)
        if key not in kinds:
            raise Disagreement(f"{key}: discovery lists a kind without a Go type")
        resource.type_name = kinds[key]
        list_key = (resource.group, resource.version, resource.kind + "List")
        resource.list_kind = list_key[2] if list_key in kinds else ""
        if "list" in resource.verbs and not resource.list_kind:
            raise Disagreement(f"{list_key}: a listed kind without a list type")
        for subresource in resource.subresources:
            self._check_subresource(resource, subresource, kinds)
        resource.storage_group, resource.storage_version = self._storage(resource, groups, resources)
        if "delete" in resource.verbs:
            resource.delete_returns_object = self._delete_returns_object(resource)

    def _delete_returns_object(self, resource):
        root = f"/apis/{resource.group}" if resource.group else "/api"
        scope = "/namespaces/{namespace}" if resource.namespaced else ""
        path = f"{root}/{resource.version}{scope}/{resource.resource}/{{name}}"
        answer = self.paths[path]["delete"]["responses"]["200"]["schema"]["$ref"]
        return not answer.endswith(".meta.v1.Status")

    @staticmethod
    def _check_subresource(resource, subresource, kinds):
        key = (subresource.group, subresource.version, subresource.kind)
        if key not in kinds:
            raise Disagreement(f"{resource.resource}/{subresource.name}: unknown kind {key}")

    @staticmethod
    def _storage(resource, groups, resources):
        """The stored form: the preferred version that serves the resource, in the group that upstream stores it in.

        Discovery gives storageVersionHash, the first 8 bytes of SHA-256 over "group/version/Kind" of upstream's stored
        form. Its group is taken (events.k8s.io events are core events); its version only within a foreign group,
        because upstream may lag behind or keep one that is not served (CustomResourceDefinition: v1beta1).
        """
        for other in resources:
            text = f"{other.group}/{other.version}/{other.kind}"
            digest = base64.b64encode(hashlib.sha256(text.encode()).digest()[:8]).decode()
            same = other.resource == resource.resource and other.kind == resource.kind
            if same and other.group != resource.group and digest == resource.storage_hash:
                return other.group, other.version
        served = {other.version for other in resources
                  if other.group == resource.group and other.resource == resource.resource}
        versions = dict(groups)[resource.group]
        return resource.group, next(version for version in versions if version in served)

    def build(self):
        groups = self.groups()
        kinds = self.all_kinds(groups)
        resources = self.resources(groups)
        for resource in resources:
            self.complete_resource(resource, kinds, groups, resources)
        return Model(self.release, self.types, kinds, groups, resources)
