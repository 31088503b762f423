#include "store/rows/row_codec.h"

#include <cstring>

#include "store/rows/crc32c.h"
#include "sublet/base/varint.h"

namespace sublet::store {
namespace {

constexpr std::size_t kHeaderSize = 16;
constexpr std::size_t kChecksumAt = 4;
constexpr std::size_t kPreviousAt = 8;
constexpr std::uint8_t kFlagDeleted = 1;
constexpr std::uint8_t kFlagHasState = 2;

void append_fixed(std::string& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i));
}

std::uint32_t read_u32(const char* at) {
  std::uint32_t value = 0;
  for (int i = 3; i >= 0; --i) value = (value << 8) | static_cast<unsigned char>(at[i]);
  return value;
}

void append_text(std::string& out, std::string_view text) {
  append_varint(out, text.size());
  out += text;
}

void append_pairs(std::string& out, const Sparse<std::pair<std::string, std::string>>& pairs) {
  append_varint(out, pairs.size());
  for (const auto& [key, value] : pairs) {
    append_text(out, key);
    append_text(out, value);
  }
}

std::uint32_t checksum(Revision revision, Revision create_revision, std::string_view key, std::string_view value) {
  const std::uint64_t numbers[] = {static_cast<std::uint64_t>(revision), static_cast<std::uint64_t>(create_revision),
                                   key.size()};
  char fixed[sizeof(numbers)];
  for (std::size_t i = 0; i < sizeof(fixed); ++i) fixed[i] = static_cast<char>(numbers[i / 8] >> (8 * (i % 8)));
  std::uint32_t crc = crc32c(0, {fixed, sizeof(fixed)});
  crc = crc32c(crc, key);
  crc = crc32c(crc, value.substr(0, kChecksumAt));
  return crc32c(crc, value.substr(kPreviousAt));
}

/// Reads what the checksum has already vouched for; still never past the end, so that a bug cannot become an overread.
class Reader {
 public:
  explicit Reader(std::string_view data) : rest_(data) {}
  bool ok() const { return ok_; }
  std::string_view rest() const { return rest_; }

  std::uint64_t varint() {
    std::uint64_t value = 0;
    if (take_varint(rest_, value)) return value;
    ok_ = false;
    return 0;
  }
  std::uint32_t u32() {
    const std::string_view bytes = take(4);
    return ok_ ? read_u32(bytes.data()) : 0;
  }
  std::string_view view() { return take(varint()); }
  std::string text() { return std::string(view()); }
  /// A count of things that take at least one byte each; more than the bytes left is damage.
  std::size_t count() {
    const std::uint64_t n = varint();
    if (n > rest_.size()) ok_ = false;
    return ok_ ? n : 0;
  }
  std::vector<std::pair<std::string, std::string>> pairs() {
    std::vector<std::pair<std::string, std::string>> out(count());
    for (auto& [key, value] : out) {
      key = text();
      value = text();
    }
    return out;
  }

 private:
  std::string_view take(std::uint64_t size) {
    if (!ok_ || size > rest_.size()) {
      ok_ = false;
      return {};
    }
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }

  std::string_view rest_;
  bool ok_ = true;
};

void append_state(std::string& out, const Object& object) {
  append_fixed(out, object.hole, 4);
  append_text(out, object.index.uid.str());
  append_pairs(out, object.index.labels);
  append_pairs(out, object.index.fields);
  append_varint(out, object.index.owner_uids.size());
  for (const std::string& owner : object.index.owner_uids) append_text(out, owner);
  out += object.bytes;
}

bool read_state(std::string_view data, Object& object) {
  Reader reader(data);
  object.hole = reader.u32();
  object.index.uid = reader.view();
  object.index.labels = reader.pairs();
  object.index.fields = reader.pairs();
  for (std::size_t owners = reader.count(); owners > 0; --owners) object.index.owner_uids.push_back(reader.text());
  if (!reader.ok()) return false;
  object.bytes.assign(reader.rest());
  return object.hole == Object::kNoHole || object.hole <= object.bytes.size();
}

std::string row_name(const Row& row) { return "row " + std::to_string(row.revision) + " (" + row.key + ")"; }

/// Empty when the header is one that this version understands.
std::string header_problem(const Row& row) {
  if (row.value.size() < kHeaderSize) return row_name(row) + " is cut short";
  const auto version = static_cast<std::uint8_t>(row.value[0]);
  // The checksum comes first: a flipped version byte is damage, not a newer version.
  if (checksum(row.revision, row.create_revision, row.key, row.value) != read_u32(row.value.data() + kChecksumAt))
    return row_name(row) + " does not match its checksum";
  if (version > kRowFormat) return row_name(row) + " was written by a newer version of sublet";
  if (row.value[1] != kRowEncodingJson || row.value[2] != kRowTransformNone)
    return row_name(row) + " has an encoding that this version of sublet does not know";
  return {};
}

}  // namespace

Row encode_row(const Object& object, bool deleted, bool with_state, Revision previous_row) {
  Row row{object.revision, object.key, deleted, object.create_revision, {}};
  std::string& out = row.value;
  out.reserve(kHeaderSize + 128 + (with_state ? object.bytes.size() : 0));
  out += static_cast<char>(kRowFormat);
  out += static_cast<char>(kRowEncodingJson);
  out += static_cast<char>(kRowTransformNone);
  out += static_cast<char>((deleted ? kFlagDeleted : 0) | (with_state ? kFlagHasState : 0));
  append_fixed(out, 0, 4);
  append_fixed(out, static_cast<std::uint64_t>(previous_row), 8);
  if (with_state) append_state(out, object);
  const std::uint32_t crc = checksum(row.revision, row.create_revision, row.key, out);
  for (int i = 0; i < 4; ++i) out[kChecksumAt + i] = static_cast<char>(crc >> (8 * i));
  return row;
}

Result<DecodedRow> decode_row(Row&& row) {
  if (std::string problem = header_problem(row); !problem.empty())
    return fail(Reason::internal_error, std::move(problem));
  const auto flags = static_cast<std::uint8_t>(row.value[3]);
  DecodedRow out;
  out.deleted = (flags & kFlagDeleted) != 0;
  const std::uint64_t high = read_u32(row.value.data() + kPreviousAt + 4);
  out.previous_row = static_cast<Revision>(high << 32 | read_u32(row.value.data() + kPreviousAt));
  if (out.deleted != row.deleted)
    return fail(Reason::internal_error, row_name(row) + " contradicts itself about being a delete");
  if ((flags & kFlagHasState) == 0) {
    if (!out.deleted) return fail(Reason::internal_error, row_name(row) + " has no content");
    return out;
  }
  auto object = std::make_shared<Object>();
  if (!read_state(std::string_view(row.value).substr(kHeaderSize), *object))
    return fail(Reason::internal_error, row_name(row) + " cannot be decoded");
  object->key = std::move(row.key);
  object->revision = row.revision;
  object->create_revision = row.create_revision;
  out.object = std::move(object);
  return out;
}

}  // namespace sublet::store
