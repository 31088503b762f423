// Attributes: one question to the authorizer in the terms of RBAC: user, verb, resource.
//
// A view: everything points into its caller's data (a request, a review's document), for as long as the call takes.
#pragma once

#include <string>
#include <string_view>

#include "apiserver/request/user_names.h"
#include "sublet/apiserver/options.h"
#include "sublet/base/status.h"

namespace sublet::apiserver {

struct Attributes {
  const User* user = nullptr;
  std::string_view verb;
  bool is_resource = true;
  // of a resource
  std::string_view group, resource, subresource, namespace_name, name;
  // of anything else
  std::string_view path;
};

bool is_in_group(const User& user, std::string_view group);

/// The 403 of a request that is not allowed, in upstream's words; `reason` is the authorizer's, mostly "".
Status forbidden_status(const Attributes& attributes, std::string_view reason);

}  // namespace sublet::apiserver
