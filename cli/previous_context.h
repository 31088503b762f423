// PreviousContext: which context a kubeconfig file had before `connect` switched it; what `disconnect` goes back to.
// Kept in the state folder, by file, so that the user's kubeconfig carries nothing of ours but the context itself.
#pragma once

#include <string>

#include "sublet/base/status.h"

namespace sublet::cli {

/// Contexts of ours are not remembered: two connects in a row still go back to where the user was.
Outcome remember_context(const std::string& kubeconfig, const std::string& context);
/// "" when nothing is remembered; forgets it.
std::string take_previous_context(const std::string& kubeconfig);

}  // namespace sublet::cli
