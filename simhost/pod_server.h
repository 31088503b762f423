// PodServer: the HTTP server that a simulated container is, as a proxy's client meets it. Pure, but for the upgrade.
//
// Every port answers. It says what it was asked ("simhost: pod NS/NAME port 80: GET /path"), with what was sent below;
// a path that ends in .html is a page with a link to "/"; /redirect?location=L leads to L, /status?code=N says N, and
// whoever asks for another protocol (but WebSocket, which has frames) is sent back what he sends.
#pragma once

#include <string>

#include "sublet/kube/pod_proxy.h"
#include "sublet/net/http.h"

namespace sublet::simhost {

/// As the proxy before it hands the answer on: links to the server's own "/" begin with the request's prefix.
net::Response answer_of_pod_server(const kube::PodProxyRequest& request, const std::string& pod,
                                   const std::string& port);
bool speaks_protocol(const net::Headers& headers);
/// Answers 101, and sends back what comes.
void echo_bytes(const net::Headers& headers, net::ResponseSink& sink);

}  // namespace sublet::simhost
