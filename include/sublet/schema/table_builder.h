// TableBuilder: compiles struct types, kinds and resources at run time into a Table, in memory of its own; what a CRD
// will be served by.
//
// Add structs first, then resources over them; build() lays the rows out and ends the builder. Members are kept as a
// client sent them (an empty list stays, what is absent stays absent): FieldSpec's defaults say so. What has no shape
// here (a list of lists, any JSON) is Scalar::json, or a struct that is open. One thread at a time. build() fails only
// when a table's numbers do not suffice (32,767 types, texts and the like).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sublet/base/status.h"
#include "sublet/schema/table.h"

namespace sublet::schema {

class ObjectForm;  // sublet/schema/engine.h

/// A struct of the table that is being built, or a built-in type.
class StructRef {
 public:
  StructRef() = default;
  StructRef(Type builtin) : builtin_(builtin) {}  // NOLINT(google-explicit-constructor): either is a type

 private:
  friend class TableBuilder;
  friend class TableCompiler;
  explicit StructRef(std::size_t number) : number_(number) {}
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  Type builtin_;
  std::size_t number_ = kNone;
};

struct FieldSpec {
  std::string name;  // "": the struct's fields are inlined
  Scalar scalar = Scalar::string;
  StructRef type = {};  // of a message
  Shape shape = Shape::single;
  bool required = false;
  ListType list_type = ListType::none;
  MapType map_type = MapType::none;
  std::vector<std::string> list_map_keys = {};
  std::vector<std::string> enum_values = {};
  std::string default_json = {};
  PatchStrategy patch_strategy = PatchStrategy::none;
  std::string patch_merge_key = {};
};

struct StructSpec {
  std::string name;  // definition name: "com.example.v1.WidgetSpec"
  bool atomic = false;
  bool open = false;  // keeps members that are no fields
  std::vector<FieldSpec> fields = {};
  std::shared_ptr<const ObjectForm> form = nullptr;  // what conform() does with those members; null: nothing
};

struct SubresourceSpec {
  std::string name, group, version, kind;
  std::vector<std::string> verbs;
};

/// A resource in one version. Its list kind's type is made along.
struct ResourceSpec {
  std::string group, version, resource, kind, list_kind, singular;
  StructRef type;  // that add_object() gave
  bool namespaced = true;
  bool served = true;
  std::string storage_version;
  std::vector<std::string> verbs = {"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"};
  std::vector<std::string> short_names = {}, categories = {};
  std::vector<SubresourceSpec> subresources = {};
};

class TableBuilder {
 public:
  StructRef add_struct(StructSpec spec);
  /// A kind's own type: `fields` behind kind, apiVersion and metadata.
  StructRef add_object(std::string name, std::vector<FieldSpec> fields);
  /// A kind's own type whose members beside those three are known to `form` alone.
  StructRef add_object(std::string name, std::shared_ptr<const ObjectForm> form);
  /// Versions of one group in the order of preference, as discovery lists them.
  void add_resource(ResourceSpec spec);

  Result<std::shared_ptr<const Table>> build();

 private:
  StructRef add_list(const ResourceSpec& spec);

  std::vector<StructSpec> structs_;
  std::vector<ResourceSpec> resources_;
};

}  // namespace sublet::schema
