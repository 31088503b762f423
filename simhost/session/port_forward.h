// PortForward: the server's end of kubectl port-forward: every connection is answered by a small HTTP server that says
// what it was asked; what is no HTTP comes back as it was sent.
#pragma once

#include <memory>
#include <string>

#include "simhost/session/carrier.h"

namespace sublet::simhost::session {

/// `pod`: "namespace/name", for the answers.
std::shared_ptr<Session> make_port_forward(Protocol::Kind protocol, std::string pod, std::shared_ptr<Out> out);

}  // namespace sublet::simhost::session
