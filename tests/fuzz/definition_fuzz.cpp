// A CustomResourceDefinition's schema (the input's first line) and an object of it (the rest): whatever is accepted can
// be compiled; pruning and defaults are done once and for all; validation and rules end.
#include <cstdlib>
#include <string_view>

#include "apiserver/structural/check_definition.h"
#include "apiserver/structural/rules.h"
#include "apiserver/structural/validate.h"
#include "sublet/schema/engine.h"
#include "sublet/schema/registry.h"

namespace {

using namespace sublet;
using namespace sublet::apiserver;
using schema::Document;
using schema::Value;

/// Null: the API server would refuse it.
Document accepted(const Value& props) {
  auto definition = Document::parse_json(
      R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"as.b.c"},"spec":{)"
      R"("group":"b.c","scope":"Namespaced","names":{"plural":"as","singular":"a","kind":"A","listKind":"AList"},)"
      R"("conversion":{"strategy":"None"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{}}]},)"
      R"("status":{"storedVersions":["v1"]}})");
  (*definition)["spec"]["versions"].at(0)["schema"].put("openAPIV3Schema", props);
  const auto type = schema::Registry::builtin()->find_kind("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
  if (!schema::conform(definition->root(), type)) return {};
  std::vector<Cause> causes;
  check_definition(definition->root(), Value(), causes);
  if (!causes.empty()) return {};
  return Document::copy_of((*definition)["spec"]["versions"].at(0)["schema"]["openAPIV3Schema"]);
}

void shape(Value object, const Schema& schema) {
  prune(object, schema, Root::resource);
  drop_nulls(object, schema);
  apply_schema_defaults(object, schema);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto line = input.find('\n');
  if (line == std::string_view::npos) return 0;
  const auto props = Document::parse_json(input.substr(0, line));
  auto object = Document::parse_json(input.substr(line + 1));
  if (!props || !props->root().is_object()) return 0;
  const Document schema_json = accepted(props->root());
  if (!schema_json.root().is_object()) return 0;
  Schemas schemas;
  const Schema& schema = *schemas.compile(schema_json.root());
  schemas.seal();
  if (!object || !object->root().is_object()) return 0;
  const Document before = Document::copy_of(object->root());
  shape(object->root(), schema);
  const std::string once = object->to_json();
  shape(object->root(), schema);
  if (object->to_json() != once) std::abort();
  std::vector<Cause> causes;
  std::vector<std::string> warnings;
  validate_schema(object->root(), Value(), schema, "", causes);
  validate_lists(object->root(), schema, "", causes);
  validate_embedded(object->root(), schema, Root::value, "", causes);
  if (blocks_rules(causes)) return 0;
  if (const auto rules = Rules::compile(schema_json.root())) {
    rules->check(object->root(), Value(), causes, warnings);
    rules->check(object->root(), before.root(), causes, warnings);
  }
  return 0;
}
