// The API's Status object as text: failures, and the success that a finished delete answers with. Pure.
#pragma once

#include <string>

#include "sublet/base/status.h"

namespace sublet::apiserver {

std::string status_json(const Status& status);
/// details.kind holds the resource's plural name, as upstream does.
std::string success_json(std::string_view group, std::string_view resource, std::string_view name,
                         std::string_view uid);

}  // namespace sublet::apiserver
