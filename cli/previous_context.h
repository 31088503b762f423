// PreviousContext: the current contexts of a kubeconfig file before each `connect`; `disconnect` goes back one step at
// a time. Stored in the state folder, by file, so that the user's kubeconfig gets nothing but the context itself.
#pragma once

#include <string>

#include "sublet/base/status.h"

namespace sublet::cli {

/// Call before the current context of that file becomes `next`. A context is remembered once, at its last place.
Outcome remember_context(const std::string& kubeconfig, const std::string& current, const std::string& next);
/// Returns the context to go back to when the current one of that file is removed: the last remembered that still
/// exists, "" when there is none. Forgets it and those after it.
std::string take_previous_context(const std::string& kubeconfig);

}  // namespace sublet::cli
