// PolicyActivation: the values that policy expressions read for one request, in one version, with one set of
// parameters; it runs them and keeps count of what they cost.
//
// Lifecycle: for one evaluation; what it is given must outlive it. Threads: one. Internal to admission/.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apiserver/admission/policy.h"
#include "sublet/patches/cel_authorizer.h"

namespace sublet::apiserver {

/// What is the same for all policies of one request and version.
class PolicyInputs {
 public:
  PolicyInputs(const AdmissionRequest& request, const MatchedResource& matched);
  /// Reads the object again, after a mutation.
  void refresh();

  const AdmissionRequest& request;
  const MatchedResource matched;
  schema::Document object, old, namespace_object, review;
  std::shared_ptr<const patches::cel::Authority> authority;
};

class PolicyActivation final : public patches::cel::Activation {
 public:
  /// `params` missing: null.
  PolicyActivation(const PolicyInputs& inputs, const schema::Value& params,
                   const std::vector<NamedExpression>* variables);

  struct Given {
    patches::cel::Value value;
    std::string error;   // empty: there is a value
    bool stops = false;  // the budget is used up: nothing further is evaluated
  };
  /// Takes the cost off the budget.
  Given run(const PolicyExpression& expression, std::uint64_t& budget);

  patches::cel::Value get(int slot) const override;

 private:
  patches::cel::Value variable(std::size_t index) const;

  const PolicyInputs& inputs_;
  const schema::Value params_;
  const std::vector<NamedExpression>* const variables_;  // null: none
  mutable std::vector<std::optional<patches::cel::Value>> known_;
  mutable std::uint64_t spent_ = 0;  // by variables
};

}  // namespace sublet::apiserver
