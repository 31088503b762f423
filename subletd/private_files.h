// Private files: keys, tokens and databases are 0600 in folders 0700, and never half written.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sublet/base/status.h"

namespace sublet::subletd {

/// Creates the folder (and its parents) with mode 0700; an existing one that others may enter is closed to them.
Outcome make_private_folder(const std::string& path);
/// Writes a temporary file beside it (0600), syncs and renames.
Outcome write_private_file(const std::string& path, std::string_view content);
/// nullopt: there is none.
Result<std::optional<std::string>> read_file(const std::string& path);

}  // namespace sublet::subletd
