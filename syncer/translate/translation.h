// Translation: one run of the field table over one object: where denials, warnings, references and tokens collect.
//
// Lives on the stack of translate() or carry_back(). What crosses starts as a copy of the sender's object and is
// changed in place.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sublet/base/status.h"
#include "sublet/schema/document.h"
#include "sublet/syncer/translate_context.h"

namespace sublet::syncer {

struct FieldPlan;
struct TypePlan;

/// What crosses of a host value to the tenant, by the rows of that type (one of from_host_roots()). `tenant_object`, as
/// it is now, is for rows that look at it, and so is `context`.
schema::Document carry_back(std::string_view type, const schema::Value& host_value, const schema::Value& tenant_object);
schema::Document carry_back(std::string_view type, const schema::Value& host_value, const schema::Value& tenant_object,
                            const TranslateContext& context);

/// What the template lets tenants decide; the defaults without one.
const patches::Allowed& allowed_by(const TranslateContext& context);

/// Returns true for the members beside an object's content: apiVersion, kind, metadata and status.
constexpr bool is_envelope_or_status(std::string_view member) {
  return member == "apiVersion" || member == "kind" || member == "metadata" || member == "status";
}

/// Where names stand in a list that grows; a tenant may bring many.
class NamePlaces {
 public:
  /// Its place; the next one, and false, for a name that is new.
  std::pair<std::size_t, bool> place_of(std::string_view kind, std::string_view name);

 private:
  std::unordered_map<std::string, std::size_t> places_;
};

class Translation {
 public:
  /// Towards the host: a field without a row refuses the object.
  Translation(const TranslateContext& context, const schema::Value& tenant_object, Operation operation);
  /// Towards the tenant: a field without a row is left out.
  Translation(const TranslateContext& context, const schema::Value& tenant_object);

  /// Applies the rows of `type` to `value`.
  void walk(schema::Value value, std::string_view type);

  void deny(std::string message, std::string_view member = {});  // at the current path, or at a member of it
  void warn(std::string message);
  void refer(std::string_view kind, std::string_view tenant_name, bool optional);
  /// The host's name of an object in the tenant object's namespace (of no namespace, when that has none).
  std::string host_name_of(std::string_view tenant_name) const;
  /// The host's name of a tenant object without namespace. The host's are one to a name for all tenants of the host, so
  /// the host namespace stands in it.
  std::string cluster_name_of(std::string_view tenant_name) const;
  /// Asks for an annotation on the host pod that carries a tenant fact for the downward API; returns its key.
  std::string carry_annotation(std::string_view key, std::string value);

  const TranslateContext& context() const { return context_; }
  const patches::SyncConfig& config() const;
  const NodeNames& nodes() const { return node_names_of(context_); }
  /// What the template lets tenants decide; the defaults without one.
  const patches::Allowed& allowed() const;
  /// Of this object's kind.
  const patches::AllowedMetadata& allowed_metadata() const;
  const schema::Value& tenant() const { return tenant_; }
  std::string_view tenant_name() const { return tenant_name_; }
  std::string_view tenant_namespace() const { return tenant_namespace_; }
  Operation operation() const { return operation_; }
  std::string path() const;

  std::vector<Cause> causes;
  std::vector<std::string> warnings;
  std::vector<Reference> references;
  std::vector<TokenRequest> tokens;
  std::vector<std::pair<std::string, std::string>> carried_annotations;
  std::vector<std::pair<std::string, std::string>> carried_labels;  // by the host's key (metadata.h)

 private:
  /// One step of the path to where the run stands: a member of the step before, or an item of it.
  struct Step {
    std::string_view member;  // empty: an item
    std::size_t item;
  };
  class Descent;
  void walk_object(schema::Value object, const TypePlan& type);
  void walk_field(schema::Value field, const TypePlan& type);
  void walk_values(schema::Value map, const TypePlan& type);
  void apply(schema::Value parent, schema::Value field, const FieldPlan* plan);

  const TranslateContext& context_;
  schema::Value tenant_;
  std::string tenant_name_, tenant_namespace_;
  Operation operation_;
  bool to_host_;
  std::vector<Step> steps_;
  NamePlaces reference_places_, annotation_places_;
  std::vector<schema::Value> members_;  // of the objects that the run stands in, a stack
};

}  // namespace sublet::syncer
