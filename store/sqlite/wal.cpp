#include "store/sqlite/wal.h"

#include <algorithm>
#include <fstream>

#include "store/sqlite/vfs_file.h"

namespace sublet::store {
namespace {

constexpr std::size_t kHeader = 32, kFrameHeader = 24, kSalts = 8;
constexpr std::uint32_t kMagic = 0x377f0682;  // its last bit: checksums over big-endian words
constexpr std::size_t kOurPageSize = 4096;    // what every database of ours has

std::uint32_t byte_at(std::string_view text, std::size_t at) { return static_cast<unsigned char>(text[at]); }

std::uint32_t big_endian(std::string_view text, std::size_t at) {
  return byte_at(text, at) << 24 | byte_at(text, at + 1) << 16 | byte_at(text, at + 2) << 8 | byte_at(text, at + 3);
}
std::uint32_t little_endian(std::string_view text, std::size_t at) {
  return byte_at(text, at + 3) << 24 | byte_at(text, at + 2) << 16 | byte_at(text, at + 1) << 8 | byte_at(text, at);
}

/// One frame of a WAL: its header, then the page.
struct Frame {
  std::string_view bytes;
  std::uint32_t page() const { return big_endian(bytes, 0); }
  bool commits() const { return big_endian(bytes, 4) != 0; }
  std::string_view salts() const { return bytes.substr(8, kSalts); }
  std::string_view checksum() const { return bytes.substr(16, 8); }
};

}  // namespace

void Wal::Sum::add(std::string_view data) {
  const auto word = big ? big_endian : little_endian;
  for (std::size_t i = 0; i + 8 <= data.size(); i += 8) {
    a += word(data, i) + b;
    b += word(data, i + 4) + a;
  }
}

bool Wal::Sum::matches(std::string_view stored) const {
  return a == big_endian(stored, 0) && b == big_endian(stored, 4);
}

Result<Wal> Wal::read(const std::string& path, const std::string& vfs) {
  VfsFile file(vfs_of(vfs), path);
  if (!file.exists()) return Wal({});
  std::string bytes;
  int code = file.open();
  if (code == SQLITE_OK) code = file.read(bytes);
  if (code != SQLITE_OK)
    return fail(Reason::internal_error,
                path + " cannot be read: " + sqlite3_errstr(code) + ", code " + std::to_string(code));
  if (bytes.find_first_not_of('\0') == std::string::npos) bytes.clear();  // lengthened, and never written
  return Wal(std::move(bytes));
}

Wal::Wal(std::string bytes) : bytes_(std::move(bytes)) {
  Sum sum;
  read_header(sum);
  if (header_ == Header::good && possible_page_size())
    frames_ = read_frames(kHeader, page_size_, std::string_view(bytes_).substr(16, kSalts), sum);
}

void Wal::read_header(Sum& sum) {
  if (bytes_.size() < kHeader) return;
  const std::string_view header = std::string_view(bytes_).substr(0, kHeader);
  sum.big = (big_endian(header, 0) & 1) != 0;
  sum.add(header.substr(0, 24));
  page_size_ = big_endian(header, 8);
  const bool good = (big_endian(header, 0) & ~1u) == kMagic && sum.matches(header.substr(24));
  header_ = good ? Header::good : Header::bad;
}

/// The chain of frames from `at` on as SQLite reads it, and the commits of the
/// same generation behind its end. Behind it a commit counts when it follows
/// from the frame before (from its content, or from the checksum stored there:
/// one of them may be what is damaged). A power cut can leave garbage in the
/// part of a frame's header that says whether it commits, with the salts, in
/// the next sector, whole: that is no commit.
Wal::Frames Wal::read_frames(std::size_t at, std::size_t page_size, std::string_view salts, Sum sum) const {
  Frames frames;
  Pages transaction;
  const std::size_t size = kFrameHeader + page_size;
  Sum stored = sum;
  for (std::size_t number = 1; at + size <= bytes_.size(); ++number, at += size) {
    const Frame frame{std::string_view(bytes_).substr(at, size)};
    const auto reaches = [&frame](Sum& from) {
      from.add(frame.bytes.substr(0, 8));
      from.add(frame.bytes.substr(kFrameHeader));
      return from.matches(frame.checksum());
    };
    const bool whole = reaches(sum) || (frames.broken_at != 0 && reaches(stored));
    const bool follows = whole && frame.salts() == salts;
    stored = Sum{sum.big, big_endian(frame.checksum(), 0), big_endian(frame.checksum(), 4)};
    if (whole) sum = stored;
    if (frames.broken_at == 0 && !follows) frames.broken_at = number;
    if (frames.broken_at != 0) {
      if (follows && frame.commits()) ++frames.commits_behind;
      continue;
    }
    transaction[frame.page()] = at + kFrameHeader;
    if (!frame.commits()) continue;
    for (const auto& [page, place] : transaction) frames.committed[page] = place;
    transaction.clear();
  }
  return frames;
}

std::string_view Wal::first_page() const {
  const auto found = frames_.committed.find(1);
  if (found == frames_.committed.end()) return {};
  return std::string_view(bytes_).substr(found->second, page_size_);
}

std::string Wal::problem(const std::string& database) const {
  if (header_ == Header::none) return {};
  if (header_ == Header::bad) return problem_of_a_bad_header(database);
  if (!possible_page_size()) return "its -wal file has an impossible page size";
  if (frames_.commits_behind < 2) return {};
  return "frame " + std::to_string(frames_.broken_at) + " of its -wal file does not match its checksum, and " +
         std::to_string(frames_.commits_behind) + " commits follow it";
}

/// The header is synced before the first frame of its generation is written. So
/// the frames behind a broken one are of the generation before, all of which a
/// checkpoint had carried into the database; or the header was damaged.
std::string Wal::problem_of_a_bad_header(const std::string& database) const {
  constexpr std::size_t kSize = kFrameHeader + kOurPageSize;
  if (bytes_.size() < kHeader + kSize) return {};
  const Frame first{std::string_view(bytes_).substr(kHeader, kSize)};
  Pages pages;
  for (const bool big : {false, true}) {  // the header names one; with the other nothing follows
    const Sum sum{big, big_endian(first.checksum(), 0), big_endian(first.checksum(), 4)};
    if (pages.empty()) pages = read_frames(kHeader + kSize, kOurPageSize, first.salts(), sum).committed;
  }
  if (first.commits() || !pages.empty()) pages.try_emplace(first.page(), kHeader + kFrameHeader);
  if (!in_database(pages, kOurPageSize, database)) return "the header of its -wal file does not match its checksum";
  return {};
}

bool Wal::in_database(const Pages& pages, std::size_t page_size, const std::string& database) const {
  std::ifstream file(database, std::ios::binary);
  std::string there(page_size, '\0');
  return std::all_of(pages.begin(), pages.end(), [&](const auto& page) {
    file.clear();
    file.seekg((static_cast<std::streamoff>(page.first) - 1) * static_cast<std::streamoff>(page_size));
    file.read(there.data(), static_cast<std::streamsize>(page_size));
    return file.gcount() == static_cast<std::streamsize>(page_size) &&
           std::string_view(bytes_).substr(page.second, page_size) == there;
  });
}

}  // namespace sublet::store
