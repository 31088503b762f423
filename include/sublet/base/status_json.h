// The API's Status object as JSON text: failures, and the success that a finished delete answers with. The one place
// where a Status is spelled; members stand in upstream's order, empty ones are left out. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

#include "sublet/base/status.h"

namespace sublet {

std::string status_json(const Status& status);
/// `resource` is the plural name, though it stands as details.kind: upstream does so.
std::string success_json(std::string_view group, std::string_view resource, std::string_view name,
                         std::string_view uid);

}  // namespace sublet
