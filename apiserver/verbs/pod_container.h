// pod_container: which container of a pod a request is about. Pure.
#pragma once

#include <string>
#include <string_view>

#include "sublet/base/status.h"
#include "sublet/schema/document.h"

namespace sublet::apiserver {

/// The one that is asked for, or the only one there is: chosen here, by the pod as its owner knows it. The host's pod
/// may have containers that webhooks put there, and would name them.
Result<std::string> container_of(const schema::Value& pod, std::string_view asked);

}  // namespace sublet::apiserver
