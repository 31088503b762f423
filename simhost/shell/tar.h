// Tar: the archives that `kubectl cp` sends and reads, and the command that makes and unpacks them.
//
// Reads ustar, GNU long names and pax paths; writes ustar with GNU long names. Regular files and folders only: links,
// owners and modes are left out. Pure, except for do_tar().
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "simhost/shell/interpreter.h"
#include "sublet/base/status.h"

namespace sublet::simhost::shell {

struct ArchiveEntry {
  std::string path;  // a folder's ends with '/'
  std::string content;
};

std::string write_archive(const std::vector<ArchiveEntry>& entries, WallTime modified);
/// bad_request when the archive is damaged or ends too early.
Result<std::vector<ArchiveEntry>> read_archive(std::string_view archive);

/// tar c|x|t [vmpk] [-f FILE] [-C FOLDER] [PATH...]
Flow do_tar(Interpreter& shell, const Words& words);

}  // namespace sublet::simhost::shell
