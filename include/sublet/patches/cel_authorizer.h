// The authorizer that expressions ask: what `authorizer` and `authorizer.requestResource` are in admission policies and
// match conditions. Who gives an expression these values answers its questions.
//
// Threads: values may be used by any; an Authority is called by the thread that runs the expression.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "sublet/patches/cel_value.h"

namespace sublet::patches::cel {

/// One question: may the one whose request it is (or a service account) do that?
struct RightsQuestion {
  std::string service_account_namespace, service_account;  // empty: the request's own user
  std::string verb;
  std::string path;  // of what is no resource; empty: a resource
  std::string group, resource, subresource, namespace_name, name;
};
struct RightsAnswer {
  bool allowed = false;
  std::string reason;
  std::string error;  // empty: none
};
using Authority = std::function<RightsAnswer(const RightsQuestion& question)>;

/// Of type Kind::authorizer.
Value authorizer_value(std::shared_ptr<const Authority> authority);
/// Of type Kind::resource_check, with the resource of `about`.
Value resource_check_value(std::shared_ptr<const Authority> authority, RightsQuestion about);

}  // namespace sublet::patches::cel
