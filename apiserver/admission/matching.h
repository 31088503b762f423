// Matching: decides which writes a webhook, a policy or a binding applies to: its rules and selectors, compiled once
// (k8s.io/apiserver/pkg/admission/plugin/webhook/predicates, plugin/policy/matching).
//
// Immutable once compiled; any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apiserver/admission/admission_request.h"
#include "sublet/kube/selectors.h"

namespace sublet::apiserver {

/// One rule. "*" matches everything in its list.
struct MatchRule {
  enum class Scope : unsigned char { all, cluster, namespaced };
  std::vector<std::string> operations, groups, versions, names;  // no names: all
  std::vector<std::pair<std::string, std::string>> resources;    // and their subresources
  Scope scope = Scope::all;

  static MatchRule read(const schema::Value& rule);
  bool matches(const AdmissionRequest& request, const schema::ResourceFacts& resource) const;
};

class Matching {
 public:
  /// Everything.
  Matching() = default;
  static Matching of_webhook(const schema::Value& webhook);
  /// Of a policy's matchConstraints or a binding's matchResources.
  static Matching of_resources(const schema::Value& match);

  /// Whether any rule names the operation ("DELETE").
  bool is_about(std::string_view operation) const;
  /// The resource as which the request is matched; nullopt: it is not. An error means that this cannot be decided.
  Result<std::optional<MatchedResource>> match(const AdmissionRequest& request) const;

 private:
  void read_selectors(const schema::Value& from);
  Result<bool> selects_namespace(const AdmissionRequest& request) const;
  bool selects_object(const AdmissionRequest& request) const;
  std::optional<MatchedResource> find(const std::vector<MatchRule>& rules, const AdmissionRequest& request) const;

  std::optional<kube::LabelSelector> namespaces_, objects_;  // nullopt: all
  std::optional<Status> broken_;                             // a selector that cannot be read
  std::vector<MatchRule> rules_, excluded_;
  bool equivalent_ = true;
  bool every_resource_ = true;  // there are no rules, and none are needed
};

}  // namespace sublet::apiserver
