#include "store/wal_check.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
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

class Wal {
 public:
  explicit Wal(const std::string& path) : in_(path, std::ios::binary) {}

  std::string problem() {
    unsigned char header[kHeader];
    if (!read(header, kHeader)) return {};  // absent or empty
    sum_.big = (big_endian(header) & 1) != 0;
    sum_.add(header, 24);
    page_size_ = big_endian(header + 8);
    if ((big_endian(header) & ~1u) != kMagic || !sum_.matches(header + 24)) return problem_of_a_bad_header(header);
    std::copy(header + 16, header + 24, salts_);
    return problem_of_frames();
  }

 private:
  bool read(unsigned char* out, std::size_t size) {
    in_.read(reinterpret_cast<char*>(out), static_cast<std::streamsize>(size));
    return static_cast<std::size_t>(in_.gcount()) == size;
  }

  /// The header is synced before the first frame is written, so a bad one with frames behind it is damage.
  std::string problem_of_a_bad_header(const unsigned char* header) {
    unsigned char frame[kFrameHeader];
    const auto zero = [](unsigned char byte) { return byte == 0; };
    if (!read(frame, kFrameHeader)) return {};
    if (std::all_of(header, header + kHeader, zero) && std::all_of(frame, frame + kFrameHeader, zero)) return {};
    return "the header of its -wal file does not match its checksum";
  }

  std::string problem_of_frames() {
    if (page_size_ < 512 || page_size_ > 65536) return "its -wal file has an impossible page size";
    std::vector<unsigned char> frame(kFrameHeader + page_size_);
    std::size_t number = 0, broken_at = 0, commits_behind = 0;
    while (read(frame.data(), frame.size())) {
      ++number;
      const bool ours = std::equal(salts_, salts_ + 8, frame.data() + 8);
      const bool commit = big_endian(frame.data() + 4) != 0;
      if (broken_at == 0) {
        sum_.add(frame.data(), 8);
        sum_.add(frame.data() + kFrameHeader, page_size_);
        if (ours && sum_.matches(frame.data() + 16)) continue;
        broken_at = number;
      }
      if (ours && commit) ++commits_behind;
    }
    if (commits_behind < 2) return {};
    return "frame " + std::to_string(broken_at) + " of its -wal file does not match its checksum, and " +
           std::to_string(commits_behind) + " commits stand behind it";
  }

  std::ifstream in_;
  Sum sum_;
  std::size_t page_size_ = 0;
  unsigned char salts_[8] = {};
};

}  // namespace

std::string wal_problem(const std::string& path) { return Wal(path).problem(); }

}  // namespace sublet::store
