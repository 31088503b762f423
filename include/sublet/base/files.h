// Files: whole files read and written, for what sublet keeps on disk itself, and what those who hold a file open share.
//
// Whatever is written is as durable as the data beside it: replace_file() is the one way in which a file is written,
// and a made folder's own entry is synced too. Keys, tokens and records are 0600 in folders 0700; for a user's own file
// (a kubeconfig) kube/file_edit.h keeps mode, owner and links around the same function.
// Failures name the path and the cause. Threads: any; two writers of one file leave the file of one of them.
#pragma once

#include <sys/stat.h>

#include <string>
#include <string_view>

#include "sublet/base/status.h"

namespace sublet {

/// The whole file. not_found when there is none, forbidden when it may not be read, bad_request for a folder or more
/// than 64 MiB.
Result<std::string> read_file(const std::string& path);
/// Puts `content` in the place of the file: temporary file beside it, sync, rename, sync of the folder. A crash leaves
/// the old file or the new one, after the return only the new one. Mode and owner are those of `like`; without it 0600,
/// ours.
Outcome replace_file(const std::string& path, std::string_view content, const struct stat* like = nullptr);
/// The same for what is sublet's own: mode 0600.
inline Outcome write_private_file(const std::string& path, std::string_view content) {
  return replace_file(path, content);
}
/// Creates the folder and its missing parents, each 0700; an existing one that others may enter is closed to them.
Outcome make_private_folder(const std::string& path);
/// All of it, also when the kernel takes it in pieces; false with errno set when it does not.
bool write_all(int fd, std::string_view content);

/// Takes the kernel lock of an open lock file without waiting; false when another has it, or when `path` is no longer
/// that file (whoever removed it had the lock).
bool lock_while_there(int fd, const std::string& path);

}  // namespace sublet
