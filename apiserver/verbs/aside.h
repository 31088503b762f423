// Aside: what would hold up a loop is done by a worker: judging a CustomResourceDefinition (Strategy::takes_long),
// making what a custom kind's requests go by (Strategy::make_ready), and whatever is done with objects that a webhook
// converts (OutsideConversion), which is waited for.
//
// A request that is worked on aside stays there: wherever its loop hears that it can go on (a call outside is answered,
// a commit was undone), it goes back to the workers by go_on(). Answers may be given on any thread. One worker does all
// writes that take long, in the order in which they came; those that wait for webhooks have more. Threads: any; one at
// a time for each request.
#pragma once

#include <functional>

#include "apiserver/request/request_context.h"

namespace sublet::apiserver {

/// Has a request worked on by `pool` from now on, beginning with `step`; answers 429 when too many are already.
void go_aside(const ContextPtr& context, AsidePool& pool, std::function<void()> step);
/// Runs a step of a request: at once, or by a worker when the request is worked on aside. Answers when the server
/// stops.
void go_on(const ContextPtr& context, std::function<void()> step);
/// Runs `step` on the request's loop once its kind is ready for it.
void when_ready(const ContextPtr& context, void (*step)(const ContextPtr& context));

}  // namespace sublet::apiserver
