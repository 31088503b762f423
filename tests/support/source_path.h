// Finds the files of the source tree that tests read.
#pragma once

#include <string>
#include <string_view>

namespace sublet {

/// Returns the absolute path of `relative`, a path in the source tree ("docs/limits.md"). Empty names the tree itself.
std::string source_path(std::string_view relative);

}  // namespace sublet
