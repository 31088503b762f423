// PodLogOptions: the options of a pod's log, as upstream decodes and validates them. Pure. Internal to verbs/.
#pragma once

#include <string>

#include "apiserver/request/request_info.h"
#include "sublet/base/status.h"

namespace sublet::apiserver {

/// Returns the query for the log's reader: the options that are set, booleans as "true", without the container.
/// bad_request when a value cannot be decoded; invalid (422) when upstream refuses it.
Result<std::string> pod_log_query(const Query& query, std::string_view pod_name);

}  // namespace sublet::apiserver
