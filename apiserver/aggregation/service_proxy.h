// ServiceProxy: requests of a group version that an API server of the tenant's own serves, handed over to it as the
// front proxy: X-Remote-User and its companions name the user, and nothing that the client sent there,
// nor a credential of its own, goes along. Upgrades are not handed over. Source: kube-aggregator's handler_proxy.go.
//
// Threads: the request's.
#pragma once

#include <string>

#include "apiserver/aggregation/api_service.h"
#include "apiserver/request/request_context.h"

namespace sublet::apiserver {

/// Who serves what the request asks for; null: this server. What this one serves itself it never hands over.
ApiServicePtr server_of(const RequestContext& context);
/// The whole request; its rights have been looked at.
void hand_over(const ContextPtr& context, const ApiService& service);
/// What the aggregator itself asks such a server for, in the name of `user`.
net::Request aggregator_get(std::string path, const User& user);

}  // namespace sublet::apiserver
