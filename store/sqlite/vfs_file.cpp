#include "store/sqlite/vfs_file.h"

#include <algorithm>

namespace sublet::store {
namespace {

constexpr std::size_t kBlock = 64 * 1024;

int length(const std::string& content, std::size_t at) {
  return static_cast<int>(std::min(kBlock, content.size() - at));
}

}  // namespace

sqlite3_vfs* vfs_of(const std::string& name) { return sqlite3_vfs_find(name.empty() ? nullptr : name.c_str()); }

VfsFile::~VfsFile() {
  if (file_ && file_->pMethods != nullptr) file_->pMethods->xClose(file_);
}

bool VfsFile::exists() const {
  int there = 0;
  return vfs_->xAccess(vfs_, path_.c_str(), SQLITE_ACCESS_EXISTS, &there) == SQLITE_OK && there != 0;
}

int VfsFile::open() {
  memory_ = std::make_unique<char[]>(static_cast<std::size_t>(vfs_->szOsFile));
  file_ = reinterpret_cast<sqlite3_file*>(memory_.get());
  file_->pMethods = nullptr;
  return vfs_->xOpen(vfs_, path_.c_str(), file_,
                     SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_NOFOLLOW,
                     nullptr);
}

int VfsFile::read(std::string& content) {
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

int VfsFile::put(std::string_view bytes, std::size_t at) {
  return file_->pMethods->xWrite(file_, bytes.data(), static_cast<int>(bytes.size()), static_cast<sqlite3_int64>(at));
}

int VfsFile::write(const std::string& content, std::string_view trailer) {
  for (std::size_t at = 0; at < content.size(); at += kBlock) {
    const std::string_view block(content.data() + at, static_cast<std::size_t>(length(content, at)));
    if (block.find_first_not_of('\0') == std::string_view::npos) continue;
    if (const int code = put(block, at); code != SQLITE_OK) return code;
  }
  if (!trailer.empty())
    if (const int code = put(trailer, content.size()); code != SQLITE_OK) return code;
  const auto size = static_cast<sqlite3_int64>(content.size()) + static_cast<sqlite3_int64>(trailer.size());
  const int code = file_->pMethods->xTruncate(file_, size);
  return code == SQLITE_OK ? file_->pMethods->xSync(file_, SQLITE_SYNC_NORMAL) : code;
}

int VfsFile::remove() { return vfs_->xDelete(vfs_, path_.c_str(), 1); }

}  // namespace sublet::store
