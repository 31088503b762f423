#include "schema/protobuf_wire.h"

#include <algorithm>

#include "sublet/base/varint.h"

namespace sublet::schema {

namespace {
constexpr int kGroupDepthMax = 32;
constexpr std::uint64_t kTagNumberMax = (std::uint64_t{1} << 29) - 1;
}  // namespace

bool WireReader::varint(std::uint64_t& out) { return take_varint(rest_, out); }

bool WireReader::fixed64(std::uint64_t& out) {
  if (rest_.size() < 8) return false;
  out = 0;
  for (std::size_t i = 0; i < 8; ++i) out |= std::uint64_t{static_cast<unsigned char>(rest_[i])} << (8 * i);
  rest_.remove_prefix(8);
  return true;
}

bool WireReader::bytes(std::string_view& out) {
  std::uint64_t size = 0;
  if (!varint(size) || size > rest_.size()) return false;
  out = rest_.substr(0, static_cast<std::size_t>(size));
  rest_.remove_prefix(static_cast<std::size_t>(size));
  return true;
}

bool WireReader::tag(WireTag& out) {
  std::uint64_t value = 0;
  if (!varint(value)) return false;
  const std::uint64_t number = value >> 3;
  if (number == 0 || number > kTagNumberMax || (value & 7) > 5) return false;
  out.number = static_cast<std::uint32_t>(number);
  out.type = static_cast<WireType>(value & 7);
  return true;
}

bool WireReader::drop(std::uint64_t count) {
  if (count > rest_.size()) return false;
  rest_.remove_prefix(static_cast<std::size_t>(count));
  return true;
}

bool WireReader::skip(WireType type) {
  int depth = 0;
  WireTag next{0, type};
  do {
    std::uint64_t number = 0;
    std::string_view text;
    bool read = true;
    switch (next.type) {
      case WireType::varint:
        read = varint(number);
        break;
      case WireType::fixed64:
        read = drop(8);
        break;
      case WireType::bytes:
        read = bytes(text);
        break;
      case WireType::fixed32:
        read = drop(4);
        break;
      case WireType::group_start:
        read = ++depth <= kGroupDepthMax;
        break;
      case WireType::group_end:
        read = --depth >= 0;
        break;
    }
    if (!read) return false;
  } while (depth > 0 && tag(next));
  return depth == 0;
}

WireWriter::WireWriter(std::size_t expected_size)
    : buffer_(new char[expected_size]), capacity_(expected_size), start_(expected_size) {}

void WireWriter::put_varint(std::uint64_t value) {
  char text[kVarintMax];
  const std::size_t size = write_varint(text, value);
  std::memcpy(make_room(size), text, size);
}

void WireWriter::put_fixed64(std::uint64_t value) {
  char* at = make_room(8);
  for (std::size_t i = 0; i < 8; ++i) at[i] = static_cast<char>(value >> (8 * i));
}

void WireWriter::grow(std::size_t count) {
  const std::size_t used = size();
  const std::size_t larger = std::max(capacity_ * 2, used + count + 64);
  std::unique_ptr<char[]> moved(new char[larger]);
  std::memcpy(moved.get() + larger - used, buffer_.get() + start_, used);
  buffer_ = std::move(moved);
  capacity_ = larger;
  start_ = larger - used;
}

}  // namespace sublet::schema
