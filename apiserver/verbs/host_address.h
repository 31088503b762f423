// HostAddress: where a host gives Services their addresses (ServerOptions::service_addresses_of_host), the answer to a
// create or an update that asks for some waits until the syncer has brought them: for service_address_wait, and then
// goes as it is, with a warning. The write itself is committed before; nobody else waits.
// Threads: the server's loop.
#pragma once

#include <functional>

#include "apiserver/verbs/verb.h"

namespace sublet::apiserver {

bool awaits_host_address(const RequestContext& context, const Answer& answer);
/// Calls `then` once, with the Service as it stands by then.
void await_host_address(const ContextPtr& context, Answer answer, std::function<void(Answer answer)> then);

}  // namespace sublet::apiserver
