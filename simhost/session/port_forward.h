// PortForward: the server's end of port-forward, over SPDY (kubectl) or channels of a WebSocket (Python, JavaScript,
// Java). A small HTTP server answers each connection with what it was asked; other bytes come back as they were sent.
#pragma once

#include <memory>
#include <string>

#include "simhost/session/carrier.h"

namespace sublet::simhost::session {

/// `pod`: "namespace/name", for the answers.
std::shared_ptr<Session> make_port_forward(const Protocol& protocol, std::string pod, std::shared_ptr<Out> out);

}  // namespace sublet::simhost::session
