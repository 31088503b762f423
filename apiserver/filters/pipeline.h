// Pipeline: the filters of every request, from the handler to its verb: request info, authentication, impersonation,
// flow control, authorization, limits, negotiation, dispatch. Each filter either answers or passes the request on.
#pragma once

#include "apiserver/request/request_context.h"

namespace sublet::apiserver {

void handle_request(const std::shared_ptr<ServerCore>& core, net::Request request,
                    std::shared_ptr<net::ResponseSink> sink);

}  // namespace sublet::apiserver
