// Rules: the x-kubernetes-validations of a schema, compiled (upstream's package cel). The one place that knows
// the CEL engine's contract.
//
// Compiled once, off the loops; checking is bounded by the engine's costs. Immutable; any thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sublet/base/status.h"
#include "sublet/schema/document.h"

namespace sublet::apiserver {

struct RuleNode;

class Rules {
 public:
  /// Null: the schema (openAPIV3Schema of one version) has none.
  static std::shared_ptr<const Rules> compile(const schema::Value& props);
  ~Rules();
  /// `old` missing: the object is new. What a rule says of something unchanged is only warned of.
  void check(const schema::Value& object, const schema::Value& old, std::vector<Cause>& causes,
             std::vector<std::string>& warnings) const;

 private:
  explicit Rules(std::unique_ptr<const RuleNode> root);
  std::unique_ptr<const RuleNode> root_;
};

/// What is wrong with the rules themselves: they do not compile, or could cost too much. `path` is the schema's.
void check_rules(const schema::Value& props, const std::string& path, std::vector<Cause>& causes);

}  // namespace sublet::apiserver
