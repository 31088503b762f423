// VfsFile: one file of an SQLite VFS, read and written whole.
//
// What a store does to its write-ahead file before SQLite opens it goes through the VFS, so that tests can cut the
// power anywhere. Results are SQLite's codes. One thread.
#pragma once

#include <sqlite3.h>

#include <memory>
#include <string>
#include <string_view>

namespace sublet::store {

/// The VFS of that name; "": the default.
sqlite3_vfs* vfs_of(const std::string& name);

class VfsFile {
 public:
  VfsFile(sqlite3_vfs* vfs, std::string path) : vfs_(vfs), path_(std::move(path)) {}
  ~VfsFile();
  VfsFile(const VfsFile&) = delete;
  VfsFile& operator=(const VfsFile&) = delete;

  bool exists() const;
  /// Made when it is not there. As a journal: its first sync syncs the folder, too.
  int open();
  int read(std::string& content);
  /// Content and then trailer as all of the file, synced. Blocks of zeros in the content are left out: they are holes
  /// in a WAL that was lengthened.
  int write(const std::string& content, std::string_view trailer = {});
  int remove();

 private:
  int put(std::string_view bytes, std::size_t at);

  sqlite3_vfs* vfs_;
  std::string path_;
  std::unique_ptr<char[]> memory_;
  sqlite3_file* file_ = nullptr;
};

}  // namespace sublet::store
