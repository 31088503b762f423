#include "store/wal_rescue.h"

#include <sqlite3.h>

#include <algorithm>
#include <memory>
#include <string_view>

#include "store/crc32c.h"

namespace sublet::store {
namespace {

constexpr const char* kTwin = "-twin";

sqlite3_vfs* vfs_of(const std::string& name) { return sqlite3_vfs_find(name.empty() ? nullptr : name.c_str()); }

/// The end of a complete twin: a mark, and length and checksum of what stands before.
std::string trailer_of(std::string_view content) {
  return "sublet wal twin " + std::to_string(content.size()) + " " + std::to_string(crc32c(0, content)) + "\n";
}

/// One file of a VFS.
class VfsFile {
 public:
  VfsFile(sqlite3_vfs* vfs, std::string path) : vfs_(vfs), path_(std::move(path)) {}
  ~VfsFile() {
    if (file_ && file_->pMethods != nullptr) file_->pMethods->xClose(file_);
  }
  VfsFile(const VfsFile&) = delete;
  VfsFile& operator=(const VfsFile&) = delete;

  bool exists() const {
    int there = 0;
    return vfs_->xAccess(vfs_, path_.c_str(), SQLITE_ACCESS_EXISTS, &there) == SQLITE_OK && there != 0;
  }

  // As a journal: its first sync syncs the folder, too.
  int open() {
    memory_ = std::make_unique<char[]>(static_cast<std::size_t>(vfs_->szOsFile));
    file_ = reinterpret_cast<sqlite3_file*>(memory_.get());
    file_->pMethods = nullptr;
    return vfs_->xOpen(vfs_, path_.c_str(), file_,
                       SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_NOFOLLOW,
                       nullptr);
  }

  int read(std::string& content) {
    sqlite3_int64 size = 0;
    if (const int code = file_->pMethods->xFileSize(file_, &size); code != SQLITE_OK) return code;
    content.resize(static_cast<std::size_t>(size));
    for (std::size_t at = 0; at < content.size(); at += kBlock)
      if (const int code =
              file_->pMethods->xRead(file_, content.data() + at, length(content, at), static_cast<sqlite3_int64>(at));
          code != SQLITE_OK)
        return code;
    return SQLITE_OK;
  }

  /// All of it, synced. Blocks of zeros are left out: they are holes in a WAL that was lengthened.
  int write(const std::string& content) {
    for (std::size_t at = 0; at < content.size(); at += kBlock) {
      const std::string_view block(content.data() + at, static_cast<std::size_t>(length(content, at)));
      if (block.find_first_not_of('\0') == std::string_view::npos) continue;
      if (const int code = file_->pMethods->xWrite(file_, block.data(), static_cast<int>(block.size()),
                                                   static_cast<sqlite3_int64>(at));
          code != SQLITE_OK)
        return code;
    }
    int code = file_->pMethods->xTruncate(file_, static_cast<sqlite3_int64>(content.size()));
    return code == SQLITE_OK ? file_->pMethods->xSync(file_, SQLITE_SYNC_NORMAL) : code;
  }

  int remove() { return vfs_->xDelete(vfs_, path_.c_str(), 1); }

 private:
  static constexpr std::size_t kBlock = 64 * 1024;
  static int length(const std::string& content, std::size_t at) {
    return static_cast<int>(std::min(kBlock, content.size() - at));
  }

  sqlite3_vfs* vfs_;
  std::string path_;
  std::unique_ptr<char[]> memory_;
  sqlite3_file* file_ = nullptr;
};

Outcome failed(const std::string& path, const std::string& what, int code) {
  return fail(Reason::internal_error,
              path + " cannot be " + what + ": " + sqlite3_errstr(code) + ", code " + std::to_string(code));
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

Outcome rescue_wal(const std::string& wal_path, const std::string& vfs_name) {
  sqlite3_vfs* vfs = vfs_of(vfs_name);
  const std::string twin_path = wal_path + kTwin;
  std::string content;
  VfsFile wal(vfs, wal_path);
  if (!wal.exists()) return {};
  int code = wal.open();
  if (code == SQLITE_OK) code = wal.read(content);
  if (code != SQLITE_OK) return failed(wal_path, "read", code);
  if (content.find_first_not_of('\0') == std::string::npos) return {};
  VfsFile twin(vfs, twin_path);
  code = twin.open();
  if (code == SQLITE_OK) code = twin.write(content + trailer_of(content));
  // A full disk has no room for it; then the WAL's own sectors are written without a net, which is better than a store
  // that cannot be opened to delete something.
  if (code != SQLITE_OK && (code & 0xff) != SQLITE_FULL) return failed(twin_path, "written", code);
  if (Outcome written = write_wal(vfs, wal_path, content); !written) return written;
  if (code = twin.remove(); code != SQLITE_OK) return failed(twin_path, "removed", code);
  return {};
}

}  // namespace sublet::store
