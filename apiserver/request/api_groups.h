// API groups: the names of built-in groups that more than one source needs. The name of the flow control group is in
// sublet/apiserver/flow_objects.h.
#pragma once

#include <string_view>

namespace sublet::apiserver {

inline constexpr std::string_view kAdmissionRegistrationGroup = "admissionregistration.k8s.io";
inline constexpr std::string_view kAuthenticationGroup = "authentication.k8s.io";
inline constexpr std::string_view kAuthorizationGroup = "authorization.k8s.io";
inline constexpr std::string_view kRbacGroup = "rbac.authorization.k8s.io";
inline constexpr std::string_view kResourceApiGroup = "resource.k8s.io";  // devices
inline constexpr std::string_view kSchedulingGroup = "scheduling.k8s.io";
inline constexpr std::string_view kStorageGroup = "storage.k8s.io";

}  // namespace sublet::apiserver
