#!/usr/bin/env python3
"""Tests of the generator on small sources of its own; no modules needed. Run: python3 generator_test.py"""

import os
import tempfile
import unittest

from sublet_schema import emit, go_source, markers, model, modules, proto_source

GO = '''package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +enum
type Mode string

const (
	ModeFast Mode = "Fast" // quick
	ModeSlow Mode = "Slow"
	Other         = "x"
)

const (
	ModeOdd = Mode("Odd")
	ModeLent = Mode(metav1.Lent) // of another package
)

type Names []string
type Alias = Thing

/*
 A block comment with a struct in it: type Fake struct {
*/

// The marker of the type stands in a block of its own.
// +structType=atomic

// Thing mentions '*/scale' in its comment.
type Thing struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	// +listType=map
	// +listMapKey=name
	// +listMapKey=kind
	Items []Item `json:"items,omitempty" patchStrategy:"merge,retainKeys" patchMergeKey:"name" protobuf:"bytes,2,rep,name=items"`

	// +default="Fast"
	Mode *Mode `json:"mode,omitempty,omitzero" protobuf:"bytes,3,opt,name=mode"`
	hidden int
	Skipped string `json:"-"`
}

type Item struct{}

type Broken struct {
	A, B int32
}
'''

PROTO = '''package k8s.io.api.test.v1;

message Thing {
  // comment
  repeated Item items = 2;

  map<string, .k8s.io.api.core.v1.Other> others = 4;

  optional string mode = 3;
}
'''


def package(text, name="types.go"):
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
        return go_source.read_package(folder, "k8s.io/api/test/v1")


class GoSource(unittest.TestCase):
    def setUp(self):
        self.package = package(GO)

    def test_fields_in_order_with_tags_and_markers(self):
        meta, items, mode = self.package.structs["Thing"].fields
        self.assertTrue(meta.inlined)
        self.assertEqual((items.json_name, items.proto_number, items.patch_strategy, items.patch_merge_key),
                         ("items", 2, "merge,retainKeys", "name"))
        self.assertEqual(go_source.marker_values(items.markers, "listMapKey"), ["name", "kind"])
        self.assertEqual(mode.json_options, ("omitempty", "omitzero"))
        self.assertEqual(go_source.marker(mode.markers, "default"), '"Fast"')
        self.assertIsNone(go_source.marker(mode.markers, "optional"))

    def test_type_markers_may_stand_one_block_above(self):
        self.assertEqual(go_source.marker(self.package.structs["Thing"].markers, "structType"), "atomic")
        self.assertEqual(self.package.structs["Item"].markers, [])

    def test_comments_are_no_declarations(self):
        self.assertNotIn("Fake", self.package.structs)

    def test_named_types_and_constants(self):
        self.assertFalse(self.package.named["Names"].alias)
        self.assertTrue(self.package.named["Alias"].alias)
        self.assertEqual(self.package.constants["ModeFast"], ("Mode", '"Fast"'))

    def test_an_enum_has_its_constants_however_they_are_written(self):
        builder = model.Builder.__new__(model.Builder)
        builder.packages = {"k8s.io/apimachinery/pkg/apis/meta/v1": package('package v1\nconst Lent Word = "Lent"\n')}
        self.assertEqual(builder._enum(self.package, self.package.named["Mode"]), ("Fast", "Lent", "Odd", "Slow"))
        builder.packages["k8s.io/apimachinery/pkg/apis/meta/v1"].constants.clear()
        with self.assertRaises(model.Disagreement):
            builder._enum(self.package, self.package.named["Mode"])

    def test_a_line_that_is_not_understood_is_kept_as_a_problem(self):
        self.assertIn("A, B int32", self.package.structs["Broken"].problems[0])

    def test_an_embedded_field_needs_no_inline(self):
        field = package('package v1\ntype T struct {\n\tTypeMeta `json:""`\n}\n').structs["T"].fields[0]
        self.assertTrue(field.inlined)

    def test_a_file_that_ends_inside_a_struct_is_an_error(self):
        with self.assertRaises(ValueError):
            package('package v1\ntype T struct {\n\tA string `json:"a"`\n')


class ProtoSource(unittest.TestCase):
    def test_fields(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "generated.proto"), "w", encoding="utf-8") as file:
                file.write(PROTO)
            fields = proto_source.read_proto(folder)["Thing"]
        self.assertEqual([(field.label, field.number, field.type_text) for field in fields],
                         [("repeated", 2, "k8s.io.api.test.v1.Item"), ("map", 4, "k8s.io.api.core.v1.Other"),
                          ("optional", 3, "string")])

    def test_a_folder_without_protobuf(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(proto_source.read_proto(folder), {})


class Checks(unittest.TestCase):
    """What the sources say about one type is compared; each of these differences must stop the generator."""

    def builder(self, messages=None, definition=None):
        builder = model.Builder.__new__(model.Builder)
        builder.types, builder.packages = {}, {"k8s.io/api/test/v1": package(
            'package v1\ntype T struct {\n\t// +listType=set\n\tA []string `json:"a" protobuf:"bytes,1,rep,name=a"`\n}\n')}
        builder.protos = {"k8s.io/api/test/v1": messages or {}}
        builder.openapi = {"io.k8s.api.test.v1.T": definition} if definition else {}
        return builder

    def add(self, **kinds):
        return self.builder(**kinds).add_type("k8s.io/api/test/v1.T")

    def test_agreement(self):
        message = [proto_source.ProtoField("a", 1, "repeated", "string")]
        definition = {"properties": {"a": {"x-kubernetes-list-type": "set"}}, "required": ["a"]}
        builder = self.builder(messages={"T": message}, definition=definition)
        builder.add_type("k8s.io/api/test/v1.T")
        field = builder.types["io.k8s.api.test.v1.T"].fields[0]
        self.assertEqual((field.scalar, field.repeated, field.list_type, field.required), ("string", True, "set", True))

    def test_protobuf_number_and_type(self):
        for number, label, text in ((2, "repeated", "string"), (1, "optional", "string"), (1, "repeated", "int32")):
            with self.assertRaises(model.Disagreement):
                self.add(messages={"T": [proto_source.ProtoField("a", number, label, text)]})

    def test_openapi_fields_and_list_type(self):
        for properties in ({}, {"a": {}}, {"a": {"x-kubernetes-list-type": "set"}, "b": {}}):
            with self.assertRaises(model.Disagreement):
                self.add(definition={"properties": properties, "type": "object"})


class Emit(unittest.TestCase):
    def made(self):
        types = {name: model.Type(name, [model.Field("f", "string", enum_values=("x", "y"))]) for name in ("b.B", "a.A")}
        return model.Model("v1.0.0", types, {("", "v1", "B"): "b.B"}, [("", ["v1", "v1beta1"])], [])

    def test_is_deterministic_and_ordered(self):
        first = emit.files(self.made())
        self.assertEqual(first, emit.files(self.made()))
        self.assertLess(first["types.inc"].index("// A"), first["types.inc"].index("// B"))

    def test_equal_lists_are_stored_once(self):
        emitter = emit.Emitter(self.made())
        emitter.files()
        self.assertEqual(emitter.lists[("x", "y")], emitter.lists[("x", "y")])
        self.assertEqual(emitter.lists[()], 0)
        self.assertEqual(emitter.lists.cells.count(2), 2)  # two lists of two: the enum, the versions


class Markers(unittest.TestCase):
    def test_rules_and_their_stage(self):
        text = """package v1
type T struct {
	// +k8s:alpha(since: "1.36")=+k8s:maxItems=32
	// +k8s:ifEnabled(Gate)=+k8s:optional
	// +k8s:immutable
	// +k8s:deepcopy-gen=false
	// +optional
	A []string `json:"a"`
}
"""
        found = [markers.rule_of(*one) for one in package(text).structs["T"].fields[0].markers]
        self.assertEqual(found, [("alpha", "maxItems"), ("acts", "optional"), ("acts", "immutable"), None])


class Releases(unittest.TestCase):
    def test_staging_modules_have_versions_of_their_own(self):
        self.assertEqual(modules.staging_version("v1.37.0"), "v0.37.0")
        with self.assertRaises(ValueError):
            modules.staging_version("1.37")

    def test_alpha_and_beta_are_not_served(self):
        self.assertEqual(model.Model.served(["v2", "v1", "v1beta1", "v1alpha2"]), ["v2", "v1"])


if __name__ == "__main__":
    unittest.main()
