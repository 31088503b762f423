// HostAddress: where a host allocates the addresses of Services (ServerOptions::service_addresses_of_host), the answer
// to a create or update that needs some waits until the syncer has brought them; after service_address_wait it is sent
// without them, with a warning. The write itself is committed before; no other request waits.
// Threads: the server's loop.
#pragma once

#include <functional>

#include "apiserver/verbs/verb.h"

namespace sublet::apiserver {

bool awaits_host_address(const RequestContext& context, const Answer& answer);
/// Calls `then` once, with the Service as stored by then.
void await_host_address(const ContextPtr& context, Answer answer, std::function<void(Answer answer)> then);

}  // namespace sublet::apiserver
