// Translation: one run of the field table over one object: where denials, warnings, references and tokens collect.
//
// Lives on the stack of translate(). The host object starts as a copy of the tenant's and is changed in place.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sublet/schema/document.h"
#include "sublet/syncer/translate.h"

namespace sublet::syncer {

class Translation {
 public:
  Translation(const TranslateContext& context, const schema::Value& tenant_object, Operation operation);

  /// Applies the rows of `type` to each member of `value`.
  void walk(schema::Value value, std::string_view type);

  void deny(std::string message);  // at the current path
  void warn(std::string message);
  void refer(std::string_view kind, std::string_view tenant_name, bool optional);
  /// The host's name of an object in the tenant pod's namespace.
  std::string host_name_of(std::string_view tenant_name) const;
  /// Asks for an annotation on the host pod that carries a tenant fact for the downward API; returns its key.
  std::string carry_annotation(std::string_view key, std::string value);

  const TranslateContext& context() const { return context_; }
  const schema::Value& tenant() const { return tenant_; }
  std::string_view tenant_name() const { return tenant_name_; }
  std::string_view tenant_namespace() const { return tenant_namespace_; }
  Operation operation() const { return operation_; }
  const std::string& path() const { return path_; }

  std::vector<Cause> causes;
  std::vector<std::string> warnings;
  std::vector<Reference> references;
  std::vector<TokenRequest> tokens;
  std::vector<std::pair<std::string, std::string>> carried_annotations;

 private:
  void apply(schema::Value parent, schema::Value field, std::string_view type);
  void walk_each(schema::Value field, std::string_view type);

  const TranslateContext& context_;
  schema::Value tenant_;
  std::string tenant_name_, tenant_namespace_;
  Operation operation_;
  std::string path_;
};

}  // namespace sublet::syncer
