// WireReader and WireWriter: the bytes of the protobuf encoding; private to schema/.
//
// The reader never leaves its span and never throws; every read says whether it worked. The writer fills its buffer
// from the back, as gogo-proto's generated code does, so that the length of a nested message is known when its prefix
// is due.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

namespace sublet::schema {

enum class WireType : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, group_start = 3, group_end = 4, fixed32 = 5 };

struct WireTag {
  std::uint32_t number = 0;
  WireType type = WireType::varint;
};

class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : rest_(bytes) {}

  bool done() const { return rest_.empty(); }
  bool varint(std::uint64_t& out);
  bool fixed64(std::uint64_t& out);
  bool bytes(std::string_view& out);
  bool tag(WireTag& out);
  /// Passes over the value behind a tag, groups included.
  bool skip(WireType type);

 private:
  bool drop(std::uint64_t count);
  std::string_view rest_;
};

class WireWriter {
 public:
  explicit WireWriter(std::size_t expected_size);

  std::size_t size() const { return capacity_ - start_; }
  void put_bytes(std::string_view bytes) {
    if (!bytes.empty()) std::memcpy(make_room(bytes.size()), bytes.data(), bytes.size());
  }
  void put_byte(std::uint8_t byte) { *make_room(1) = static_cast<char>(byte); }
  void put_varint(std::uint64_t value);
  void put_fixed64(std::uint64_t value);
  void put_tag(std::uint32_t number, WireType type) {
    put_varint(std::uint64_t{number} << 3 | static_cast<unsigned>(type));
  }
  /// Length prefix and tag of everything written since size() was `size_before`.
  void close_message(std::uint32_t number, std::size_t size_before) {
    put_varint(size() - size_before);
    put_tag(number, WireType::bytes);
  }
  void put_string(std::uint32_t number, std::string_view text) {
    const std::size_t before = size();
    put_bytes(text);
    close_message(number, before);
  }
  void put_int(std::uint32_t number, std::int64_t value) {
    put_varint(static_cast<std::uint64_t>(value));
    put_tag(number, WireType::varint);
  }
  std::string take() const { return {buffer_.get() + start_, size()}; }

 private:
  char* make_room(std::size_t count) {
    if (count > start_) grow(count);
    start_ -= count;
    return buffer_.get() + start_;
  }
  void grow(std::size_t count);

  std::unique_ptr<char[]> buffer_;
  std::size_t capacity_;
  std::size_t start_;  // what is written stands behind it
};

}  // namespace sublet::schema
