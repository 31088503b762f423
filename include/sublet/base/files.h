// Files: whole files read and written, for what sublet keeps on disk itself, and what users of descriptors share.
//
// Keys, tokens and records are 0600 in folders 0700, and never half written: a temporary file, synced and renamed. A
// user's own file (a kubeconfig) is changed by kube/file_edit.h instead, which keeps its mode and its links.
// Failures name the path and the cause. Threads: any; two writers of one file leave the file of one of them.
#pragma once

#include <string>
#include <string_view>

#include "sublet/base/status.h"

namespace sublet {

/// The whole file. not_found when there is none, forbidden when it may not be read, bad_request for a folder or more
/// than 64 MiB.
Result<std::string> read_file(const std::string& path);
/// Writes the whole file with mode 0600.
Outcome write_private_file(const std::string& path, std::string_view content);
/// Creates the folder and its missing parents, each 0700; an existing one that others may enter is closed to them.
Outcome make_private_folder(const std::string& path);
/// All of it, also when the kernel takes it in pieces; false with errno set when it does not.
bool write_all(int fd, std::string_view content);

/// Closes on the way out of a scope. -1: nothing.
struct Descriptor {
  int fd;
  ~Descriptor();
};
/// Takes the kernel lock of an open lock file without waiting; false when another has it, or when `path` is no longer
/// that file (whoever removed it had the lock).
bool lock_while_there(int fd, const std::string& path);

}  // namespace sublet
