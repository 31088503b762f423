// Flow: takes the seats of a request before it runs (flowcontrol/flow_control.h), and waits for them without blocking
// its loop.
//
// Requests without an end of their own (logs, exec, attach, port-forward, proxies) take no seat; a watch holds one
// until its stream has begun. A request without a seat is answered 429 in upstream's words.
#pragma once

#include "apiserver/request/request_context.h"

namespace sublet::apiserver {

/// Runs `next` at once, or later on the request's loop when it has waited for its seats; or answers.
void with_seat(const ContextPtr& context, void (*next)(const ContextPtr& context));

}  // namespace sublet::apiserver
