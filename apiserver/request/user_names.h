// User names: the users and groups that the API server itself knows.
#pragma once

#include <string_view>

namespace sublet::apiserver {

inline constexpr std::string_view kMastersGroup = "system:masters";
inline constexpr std::string_view kAuthenticatedGroup = "system:authenticated";
inline constexpr std::string_view kUnauthenticatedGroup = "system:unauthenticated";
inline constexpr std::string_view kAnonymousUser = "system:anonymous";
inline constexpr std::string_view kServiceAccountPrefix = "system:serviceaccount:";  // namespace and name follow

}  // namespace sublet::apiserver
