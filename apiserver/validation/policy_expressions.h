// Policy expressions: which names the CEL of admission policies and of webhooks' match conditions may use, and how one
// is compiled, in upstream's words (k8s.io/apiserver/pkg/admission/plugin/cel). What validates a policy and what runs
// it compile alike.
//
// Threads: an environment is built by one; a PolicyExpression is immutable and may be run by many.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sublet/patches/cel.h"
#include "sublet/schema/document.h"

namespace sublet::apiserver {

/// Places of the values that an expression reads; variables of the policy follow.
enum PolicySlot : int {
  kObjectSlot,
  kOldObjectSlot,
  kNamespaceSlot,
  kRequestSlot,
  kParamsSlot,
  kAuthorizerSlot,
  kRequestResourceSlot,
  kVariableSlots,
};

class PolicyEnvironment {
 public:
  struct Offers {
    bool params = false, authorizer = true, patches = false;
    bool request_resource = true;  // authorizer.requestResource
    patches::cel::TypeRef object_type = nullptr,
                          params_type = nullptr;  // of object and oldObject, of params; null: anything
  };
  explicit PolicyEnvironment(const Offers& offers);
  /// There are variables, so that one that is not declared is an unknown field of `variables`.
  void compose() { names_.close("variables", "variable"); }
  /// `variables.<name>`, of what its expression gives; of one that does not compile, anything.
  void add_variable(const std::string& name, const patches::cel::Program* program);
  /// The same names without the authorizer.
  PolicyEnvironment without_authorizer() const;
  /// With patches.
  PolicyEnvironment with_patches() const;
  const patches::cel::Environment& names() const { return names_; }

 private:
  patches::cel::Environment names_;
};

/// What an expression must give.
enum class Gives { anything, boolean, text, text_or_null, object_patch, json_patches };

struct PolicyExpression {
  std::string source;
  std::optional<patches::cel::Program> program;
  std::string problem;  // why there is none: "compilation failed: ...", "must evaluate to bool but got dyn"
};
PolicyExpression compile_expression(std::string_view source, const PolicyEnvironment& environment, Gives gives);

struct NamedExpression {
  std::string name;
  PolicyExpression expression;
};
/// spec.variables in order, each declared for those after it.
std::vector<NamedExpression> compile_variables(const schema::Value& variables, PolicyEnvironment& environment);

// Kubernetes' limits (k8s.io/apiserver/pkg/apis/cel).
inline constexpr std::uint64_t kPolicyCostMax = 10'000'000;          // of all expressions of one binding
inline constexpr std::uint64_t kMatchConditionsCostMax = 2'500'000;  // of all conditions of one webhook or policy

}  // namespace sublet::apiserver
