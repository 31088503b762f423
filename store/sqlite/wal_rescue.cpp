#include "store/sqlite/wal_rescue.h"

#include <string_view>

#include "store/rows/crc32c.h"
#include "store/sqlite/vfs_file.h"

namespace sublet::store {
namespace {

constexpr const char* kTwin = "-twin";

/// The end of a complete twin: a mark, and length and checksum of everything before.
std::string trailer_of(std::string_view content) {
  return "sublet wal twin " + std::to_string(content.size()) + " " + std::to_string(crc32c(0, content)) + "\n";
}

Outcome failed(const std::string& path, const std::string& what, int code) {
  const bool full = (code & 0xff) == SQLITE_FULL;
  return fail(full ? Reason::too_many_requests : Reason::internal_error,
              path + " cannot be " + what + ": " + sqlite3_errstr(code) + ", code " + std::to_string(code) +
                  (full ? "; free some space" : ""));
}

/// What a complete twin holds; empty when there is none, or it was cut off while it was written: then the WAL is whole.
std::string content_of_twin(VfsFile& twin) {
  std::string content;
  if (twin.open() != SQLITE_OK || twin.read(content) != SQLITE_OK) return {};
  const std::size_t mark = content.rfind("sublet wal twin ");
  if (mark == std::string::npos || content.substr(mark) != trailer_of(std::string_view(content).substr(0, mark)))
    return {};
  content.resize(mark);
  return content;
}

Outcome write_wal(sqlite3_vfs* vfs, const std::string& path, const std::string& content) {
  VfsFile wal(vfs, path);
  int code = wal.open();
  if (code == SQLITE_OK) code = wal.write(content);
  if (code != SQLITE_OK) return failed(path, "made durable", code);
  return {};
}

}  // namespace

Outcome finish_rescue(const std::string& wal_path, const std::string& vfs_name) {
  sqlite3_vfs* vfs = vfs_of(vfs_name);
  VfsFile twin(vfs, wal_path + kTwin);
  if (!twin.exists()) return {};
  if (const std::string content = content_of_twin(twin); !content.empty())
    if (Outcome written = write_wal(vfs, wal_path, content); !written) return written;
  if (const int code = twin.remove(); code != SQLITE_OK) return failed(wal_path + kTwin, "removed", code);
  return {};
}

Outcome rescue_wal(const Wal& wal, const std::string& wal_path, const std::string& vfs_name) {
  if (wal.empty()) return {};
  sqlite3_vfs* vfs = vfs_of(vfs_name);
  const std::string twin_path = wal_path + kTwin;
  VfsFile twin(vfs, twin_path);
  int code = twin.open();
  if (code == SQLITE_OK) code = twin.write(wal.bytes(), trailer_of(wal.bytes()));
  const bool full = (code & 0xff) == SQLITE_FULL;
  if (code != SQLITE_OK && !full) return failed(twin_path, "written", code);
  // A full disk has no space for it; then the WAL's own sectors are written without a copy, which is better than a
  // store that cannot be opened to delete something. What there is of it takes space that they may need.
  if (full)
    if (code = twin.remove(); code != SQLITE_OK) return failed(twin_path, "removed", code);
  if (Outcome written = write_wal(vfs, wal_path, wal.bytes()); !written) return written;
  if (full) return {};
  if (code = twin.remove(); code != SQLITE_OK) return failed(twin_path, "removed", code);
  return {};
}

}  // namespace sublet::store
