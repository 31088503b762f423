// PodServer: the HTTP server of a simulated container, behind the proxy of pods and services. Pure, except for
// upgrades.
//
// Every port answers with the request ("simhost: pod NS/NAME port 80: GET /path") and its body. A path that ends in
// .html is a page with a link to "/"; /redirect?location=L redirects to L; /status?code=N answers with code N. A
// request for another protocol (except WebSocket, which has frames) is upgraded, and its bytes are sent back.
#pragma once

#include <string>

#include "sublet/kube/pod_proxy.h"
#include "sublet/net/http.h"

namespace sublet::simhost {

/// Returns the answer as the proxy passes it on: links to the server's own "/" begin with the request's prefix.
net::Response answer_of_pod_server(const kube::PodProxyRequest& request, const std::string& pod,
                                   const std::string& port);
bool speaks_protocol(const net::Headers& headers);
/// Answers 101 and sends every byte back.
void echo_bytes(const net::Headers& headers, net::ResponseSink& sink);

}  // namespace sublet::simhost
