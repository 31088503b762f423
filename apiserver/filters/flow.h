// Flow: a request takes its seats before it is worked on (flowcontrol/flow_control.h), and waits for them without
// holding up its loop.
//
// What goes on for as long as its peer likes (logs, exec, attach, port-forward, proxies) has no seat; a watch has one
// until its stream has begun. Who gets none is told 429 in upstream's words.
#pragma once

#include "apiserver/request/request_context.h"

namespace sublet::apiserver {

/// Runs `next` at once, or later on the request's loop when it has waited for its seats; or answers.
void with_seat(const ContextPtr& context, void (*next)(const ContextPtr& context));

}  // namespace sublet::apiserver
