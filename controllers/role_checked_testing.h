// Clients that have the rights of upstream's controller roles, for ControllersOptions::client_as in tests.
//
// A request that RBAC refuses fails the test, and so does one that is missing in the table of calls
// (role_checked_testing.cpp). ControllerCallsTest tests every call of the table against the controller's role.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "sublet/kube/client.h"
#include "sublet/net/http.h"
#include "sublet/net/loop.h"

namespace sublet::controllers {

/// `handler` is the server's. Answers come on `loop`, or on a thread of each client when it is null.
std::function<std::unique_ptr<kube::Client>(const std::string& user)> clients_with_roles(net::Handler handler,
                                                                                         net::Loop* loop = nullptr);

/// Returns "VERB RESOURCE.GROUP/SUBRESOURCE" of a request to the API: "update statefulsets.apps/status". Events and
/// other paths give "".
std::string call_of(std::string_view method, std::string_view target);

/// The calls of each controller account, without its reads of other kinds through listers, which make no request.
const std::map<std::string, std::set<std::string>>& calls_of_controllers();

}  // namespace sublet::controllers
