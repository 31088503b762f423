#include "store/wal_check.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <map>
#include <string_view>
#include <vector>

namespace sublet::store {
namespace {

constexpr std::size_t kHeader = 32, kFrameHeader = 24;
constexpr std::uint32_t kMagic = 0x377f0682;  // its last bit: checksums over big-endian words

std::uint32_t big_endian(const unsigned char* at) {
  return std::uint32_t{at[0]} << 24 | std::uint32_t{at[1]} << 16 | std::uint32_t{at[2]} << 8 | at[3];
}
std::uint32_t little_endian(const unsigned char* at) {
  return std::uint32_t{at[3]} << 24 | std::uint32_t{at[2]} << 16 | std::uint32_t{at[1]} << 8 | at[0];
}

/// The WAL's running checksum.
struct Sum {
  bool big = false;
  std::uint32_t a = 0, b = 0;
  void add(const unsigned char* data, std::size_t size) {
    for (std::size_t i = 0; i + 8 <= size; i += 8) {
      a += (big ? big_endian(data + i) : little_endian(data + i)) + b;
      b += (big ? big_endian(data + i + 4) : little_endian(data + i + 4)) + a;
    }
  }
  bool matches(const unsigned char* at) const { return a == big_endian(at) && b == big_endian(at + 4); }
};

/// Page number -> where its newest committed image stands in the WAL.
using Pages = std::map<std::uint32_t, std::streamoff>;

class Wal {
 public:
  explicit Wal(const std::string& path) : in_(path, std::ios::binary) {}

  std::string problem(const std::string& database) {
    switch (read_header()) {
      case Header::none:
        return {};
      case Header::bad:
        return problem_of_a_bad_header(database);
      case Header::good:
        break;
    }
    if (!possible_page_size()) return "its -wal file has an impossible page size";
    const Frames frames = read_frames();
    if (frames.commits_behind < 2) return {};
    return "frame " + std::to_string(frames.broken_at) + " of its -wal file does not match its checksum, and " +
           std::to_string(frames.commits_behind) + " commits stand behind it";
  }

  std::string first_page() {
    if (read_header() != Header::good || !possible_page_size()) return {};
    const Frames frames = read_frames();
    const auto found = frames.committed.find(1);
    return found == frames.committed.end() ? "" : page_at(in_, found->second);
  }

 private:
  enum class Header : std::uint8_t { none, good, bad };
  struct Frames {
    Pages committed;
    std::size_t broken_at = 0, commits_behind = 0;
  };

  bool read(unsigned char* out, std::size_t size) {
    in_.read(reinterpret_cast<char*>(out), static_cast<std::streamsize>(size));
    return static_cast<std::size_t>(in_.gcount()) == size;
  }

  bool possible_page_size() const { return page_size_ >= 512 && page_size_ <= 65536; }

  std::string page_at(std::ifstream& file, std::streamoff offset) const {
    std::string page(page_size_, '\0');
    file.clear();
    file.seekg(offset);
    file.read(page.data(), static_cast<std::streamsize>(page.size()));
    return file.gcount() == static_cast<std::streamsize>(page.size()) ? page : "";
  }

  Header read_header() {
    unsigned char header[kHeader];
    if (!read(header, kHeader)) return Header::none;
    sum_.big = (big_endian(header) & 1) != 0;
    sum_.add(header, 24);
    page_size_ = big_endian(header + 8);
    if ((big_endian(header) & ~1u) != kMagic || !sum_.matches(header + 24)) return Header::bad;
    std::copy(header + 16, header + 24, salts_);
    return Header::good;
  }

  /// The chain of frames from here on as SQLite reads it, and the commits of the same generation behind its end.
  Frames read_frames() {
    Frames frames;
    Pages transaction;
    std::vector<unsigned char> frame(kFrameHeader + page_size_);
    std::streamoff at = in_.tellg();
    for (std::size_t number = 1; read(frame.data(), frame.size()); ++number) {
      const bool ours = std::equal(salts_, salts_ + 8, frame.data() + 8);
      const bool commit = big_endian(frame.data() + 4) != 0;
      if (frames.broken_at == 0) frames.broken_at = ours && follows(frame) ? 0 : number;
      if (frames.broken_at == 0) {
        transaction[big_endian(frame.data())] = at + static_cast<std::streamoff>(kFrameHeader);
        if (commit) commit_pages(transaction, frames.committed);
      } else if (ours && commit) {
        ++frames.commits_behind;
      }
      at += static_cast<std::streamoff>(frame.size());
    }
    return frames;
  }

  bool follows(const std::vector<unsigned char>& frame) {
    sum_.add(frame.data(), 8);
    sum_.add(frame.data() + kFrameHeader, page_size_);
    return sum_.matches(frame.data() + 16);
  }

  static void commit_pages(Pages& transaction, Pages& committed) {
    for (const auto& [page, offset] : transaction) committed[page] = offset;
    transaction.clear();
  }

  /// The header is synced before the first frame of its generation is written. So the frames behind a broken one are of
  /// the generation before, all of which a checkpoint had carried into the database; or the header was damaged.
  std::string problem_of_a_bad_header(const std::string& database) {
    page_size_ = 4096;  // what every database of ours has
    std::vector<unsigned char> first(kFrameHeader + page_size_);
    if (!read(first.data(), first.size())) return {};
    std::copy(first.data() + 8, first.data() + 16, salts_);
    for (const bool big : {false, true}) {  // which of them the header said
      in_.clear();
      in_.seekg(static_cast<std::streamoff>(kHeader + first.size()));
      sum_ = Sum{big, big_endian(first.data() + 16), big_endian(first.data() + 20)};
      Pages pages = read_frames().committed;
      if (big_endian(first.data() + 4) != 0 || !pages.empty())
        pages.try_emplace(big_endian(first.data()), static_cast<std::streamoff>(kHeader + kFrameHeader));
      if (!in_database(pages, database)) return "the header of its -wal file does not match its checksum";
    }
    return {};
  }

  bool in_database(const Pages& pages, const std::string& database) {
    std::ifstream file(database, std::ios::binary);
    return std::all_of(pages.begin(), pages.end(), [&](const auto& page) {
      const auto place = (static_cast<std::streamoff>(page.first) - 1) * static_cast<std::streamoff>(page_size_);
      return page_at(in_, page.second) == page_at(file, place);
    });
  }

  std::ifstream in_;
  Sum sum_;
  std::size_t page_size_ = 0;
  unsigned char salts_[8] = {};
};

}  // namespace

std::string wal_problem(const std::string& path, const std::string& database) { return Wal(path).problem(database); }

std::string first_page_in_wal(const std::string& path) { return Wal(path).first_page(); }

}  // namespace sublet::store
