// PreviousContext: which contexts a kubeconfig file had before each `connect` switched it; what `disconnect` goes back
// to, one step at a time. Kept in the state folder, by file, so that the user's kubeconfig carries nothing of ours but
// the context itself.
#pragma once

#include <string>

#include "sublet/base/status.h"

namespace sublet::cli {

/// Before the current context of that file becomes `next`. One that is connected to again is not gone back to twice.
Outcome remember_context(const std::string& kubeconfig, const std::string& current, const std::string& next);
/// Where to go when the current context of that file goes: the last remembered that is still there, "" when none is;
/// forgets it, and those after it.
std::string take_previous_context(const std::string& kubeconfig);

}  // namespace sublet::cli
