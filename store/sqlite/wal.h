// Wal: a write-ahead file that a process left behind, read once: is it damaged, or does it merely end where a crash cut
// it off?
//
// SQLite reads a WAL up to the first frame whose checksum is wrong and silently ignores the rest, which is right after
// a crash and loses acknowledged commits after damage. A crash can only break the last transaction, because each is
// synced before the next begins; so two or more commits of the same generation behind a broken frame are damage. Damage
// to the last transaction alone looks like a crash. The header is written when a new generation begins, after
// a checkpoint: a broken one is a crash when the database has all that the frames behind it say, else damage. Format:
// https://www.sqlite.org/fileformat2.html#walformat.
// Lifecycle: read before SQLite opens the file, whose lock the caller holds; whole in memory, so dropped soon. Reads
// only; one thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "sublet/base/status.h"

namespace sublet::store {

class Wal {
 public:
  /// Of the file at `path`, which need not exist. The error names it.
  static Result<Wal> read(const std::string& path, const std::string& vfs);

  /// Nothing was ever written to it, or it is not there.
  bool empty() const { return bytes_.empty(); }
  const std::string& bytes() const { return bytes_; }
  /// What is wrong with it as the WAL of `database`; empty when it is sound or not there.
  std::string problem(const std::string& database) const;
  /// The database's first page as the last commit in here has it; empty when it is not in here.
  std::string_view first_page() const;

 private:
  enum class Header : std::uint8_t { none, good, bad };
  /// The WAL's running checksum.
  struct Sum {
    bool big = false;
    std::uint32_t a = 0, b = 0;
    void add(std::string_view data);
    bool matches(std::string_view stored) const;
  };
  /// Page number -> offset of its newest committed image.
  using Pages = std::map<std::uint32_t, std::size_t>;
  struct Frames {
    Pages committed;
    std::size_t broken_at = 0, commits_behind = 0;
  };

  explicit Wal(std::string bytes);
  bool possible_page_size() const { return page_size_ >= 512 && page_size_ <= 65536; }
  void read_header(Sum& sum);
  Frames read_frames(std::size_t at, std::size_t page_size, std::string_view salts, Sum sum) const;
  std::string problem_of_a_bad_header(const std::string& database) const;
  bool in_database(const Pages& pages, std::size_t page_size, const std::string& database) const;

  std::string bytes_;
  Header header_ = Header::none;
  std::size_t page_size_ = 0;
  Frames frames_;  // with a good header
};

}  // namespace sublet::store
