// Files of simulated containers: what scripts read and write, in memory.
//
// A FileTree is one volume, or the file system of one container; a Files is the view of one container on several trees.
// A version of a file has the moment from which it exists: a script is run to its end at once, and what it writes after
// `sleep 5` is not visible before. A folder exists while a file is in it; an empty one is the file `FOLDER/.`.
// Threads: the loop's.
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
  /// False when the tree is full: kMaxBytes in all, since scripts may write in endless loops.
  bool write(std::string_view path, std::string content, WallTime at);
  void remove(std::string_view path, WallTime at);
  /// The paths below `folder`.
  std::vector<std::string> list(std::string_view folder, WallTime at) const;
  /// Makes the tree hold exactly `files`: content by path.
  void replace(const std::map<std::string, std::string>& files, WallTime at);

  static constexpr std::size_t kMaxBytes = 4 << 20;

 private:
  static constexpr std::size_t kVersions = 8;  // of one file: those written ahead, and the one before them
  struct Version {
    WallTime since;
    std::optional<std::string> content;  // nullopt: removed
  };
  const Version* current(std::string_view path, WallTime at) const;
  bool put(std::string_view path, Version version);

  std::map<std::string, std::vector<Version>, std::less<>> files_;
  std::size_t bytes_ = 0;
};

class Files {
 public:
  Files() : root_(std::make_shared<FileTree>()) {}
  /// Shows `tree` at `path`; with `file`, only that file of it, as a subPath does.
  void mount(std::string_view path, std::shared_ptr<FileTree> tree, std::string_view file = "");

  /// A copy with trees of its own: what is written there is not seen here.
  Files copy() const;

  std::optional<std::string> read(std::string_view path, WallTime at) const;
  bool write(std::string_view path, std::string content, WallTime at);
  void remove(std::string_view path, WallTime at);
  /// The paths below `folder`, in mounted trees too.
  std::vector<std::string> list(std::string_view folder, WallTime at) const;
  /// Returns true for the root, a mount point, and a path with something below it.
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
