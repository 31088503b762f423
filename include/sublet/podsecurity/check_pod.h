// Check pod: what a pod does that a level of the Pod Security Standards forbids, in upstream's words.
//
// One library for all who ask: the API server's admission of pods and of templates, and the border's look at the final
// host pod. Every control of baseline and restricted, by every version. Pure; any thread; a pod of which nothing is
// wrong costs no allocation. Source: k8s.io/pod-security-admission/policy of Kubernetes 1.36.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sublet/podsecurity/policy.h"
#include "sublet/schema/document.h"

namespace sublet::podsecurity {

/// "privileged", and which: `container "a" must not set securityContext.privileged=true`.
struct Violation {
  std::string reason, detail;
  bool operator==(const Violation&) const = default;
};
using Violations = std::vector<Violation>;

/// In upstream's order; none: the level allows it. `metadata` and `spec` of a pod or of a pod's template.
Violations check_pod(const LevelVersion& level, const schema::Value& metadata, const schema::Value& spec);

/// Facts of baseline that do not depend on what else the pod is: for who judges field by field.
bool is_default_capability(std::string_view name);
/// Of today's version; "" is the runtime's own.
bool is_confined_selinux_type(std::string_view type);

/// "host namespaces, privileged": of many pods.
std::string reasons_of(const Violations& violations);
/// "host namespaces (hostPID=true), privileged (...)": of one.
std::string details_of(const Violations& violations);

}  // namespace sublet::podsecurity
