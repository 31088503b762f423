// PodConnectRequest: exec, attach or port-forward of a pod, on its way to where the pod runs; and what of a client's
// request may go that way. Pure.
//
// What is spoken after the 101 (SPDY/3.1, or WebSocket with one of the channel protocols) is the client's and the
// kubelet's matter: here it is bytes. Only the headers and query parameters that the subresource knows cross; neither a
// credential does (also not the one that browsers put into Sec-WebSocket-Protocol), nor what would be for a proxy.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "sublet/net/http.h"

namespace sublet::kube {

struct PodConnectRequest {
  std::string namespace_name, pod_name, pod_uid;
  std::string subresource;           // "exec", "attach", "portforward"
  std::string method;                // as the client has it: GET (WebSocket) or POST
  std::string query;                 // allowed_connect_query()
  net::Headers headers;              // allowed_upgrade_headers()
  std::string user{}, request_id{};  // who asks, for logs
};

/// Connects on behalf of a pod (the syncer's tunnel in a tenant, the simulated kubelet in simhost). The implementation
/// answers through the sink, with 101 and an upgrade or with an error.
using PodConnections = std::function<void(const PodConnectRequest& request, std::shared_ptr<net::ResponseSink> sink)>;

bool is_connect_subresource(std::string_view subresource);
/// The parameters that the subresource knows; booleans as "true", or left out. "" for other subresources.
std::string allowed_connect_query(std::string_view subresource, std::string_view query);
/// Those by which a client asks for another protocol.
net::Headers allowed_upgrade_headers(const net::Headers& headers);
/// Those by which a server answers that it speaks it.
net::Headers allowed_upgraded_headers(const net::Headers& headers);
/// Connection says "upgrade" and Upgrade names something.
bool asks_for_upgrade(const net::Headers& headers);

}  // namespace sublet::kube
