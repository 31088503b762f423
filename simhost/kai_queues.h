// KaiQueues: the type Queue of KAI (scheduling.run.ai/v2), which the simulated host installs as KAI's chart does. An
// operator of the host makes the queues; a KAI pod of a queue that does not exist stays Pending.
#pragma once

#include "sublet/base/status.h"
#include "sublet/kube/client.h"

namespace sublet::simhost {

inline const kube::Resource kQueueResource{"scheduling.run.ai", "v2", "queues"};

/// Creates the CustomResourceDefinition unless it is there. Blocks until the server serves it; not on the loop.
Outcome write_queue_type(const kube::Client& client);

}  // namespace sublet::simhost
