// Files of simulated containers: what scripts read and write, in memory.
//
// A FileTree is one volume, or one container's own file system; a Files is how one container sees several trees. A file
// has the moment from which it is there: a script is run through at once, and what it writes after `sleep 5` is not
// seen before. Folders are not kept: every path may be written. Threads: the loop's.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sublet/base/clock.h"

namespace sublet::simhost::shell {

class FileTree {
 public:
  /// nullopt when there is no such file at that moment. `path` begins with '/'.
  std::optional<std::string> read(std::string_view path, WallTime at) const;
  /// Drops what is beyond kMaxBytes for the whole tree: scripts may write in endless loops.
  void write(std::string_view path, std::string content, WallTime at);
  void remove(std::string_view path, WallTime at);
  /// The paths below `folder`.
  std::vector<std::string> list(std::string_view folder, WallTime at) const;

 private:
  static constexpr std::size_t kMaxBytes = 1 << 20;
  static constexpr std::size_t kVersions = 8;  // of one file: those written ahead, and the one before them
  struct Version {
    WallTime since;
    std::optional<std::string> content;  // nullopt: removed
  };
  const Version* current(std::string_view path, WallTime at) const;
  void put(std::string_view path, Version version);

  std::map<std::string, std::vector<Version>, std::less<>> files_;
  std::size_t bytes_ = 0;
};

class Files {
 public:
  Files() : root_(std::make_shared<FileTree>()) {}
  /// Shows `tree` at `path`; with `file`, only that file of it, as a subPath does.
  void mount(std::string_view path, std::shared_ptr<FileTree> tree, std::string_view file = "");

  std::optional<std::string> read(std::string_view path, WallTime at) const;
  void write(std::string_view path, std::string content, WallTime at);
  void remove(std::string_view path, WallTime at);
  std::vector<std::string> list(std::string_view folder, WallTime at) const;
  /// A mount point or something below it is there, or the root.
  bool is_folder(std::string_view path, WallTime at) const;

 private:
  struct Mount {
    std::string path, file;
    std::shared_ptr<FileTree> tree;
  };
  struct Place {
    FileTree* tree;
    std::string path;
  };
  Place place_of(std::string_view path) const;

  std::shared_ptr<FileTree> root_;
  std::vector<Mount> mounts_;  // the longest path first
};

}  // namespace sublet::simhost::shell
