// Varints: numbers in seven bits a byte, the least significant first, as protobuf and the store's rows write them.
//
// Reading never leaves its text and says whether it worked. Pure; any thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sublet {

inline constexpr std::size_t kVarintMax = 10;  // bytes of the largest number

/// Writes it to the beginning of `out`; how many bytes it took.
inline std::size_t write_varint(char (&out)[kVarintMax], std::uint64_t value) {
  std::size_t size = 0;
  for (; value >= 0x80; value >>= 7) out[size++] = static_cast<char>(value | 0x80);
  out[size++] = static_cast<char>(value);
  return size;
}

inline void append_varint(std::string& out, std::uint64_t value) {
  char bytes[kVarintMax];
  const std::size_t size = write_varint(bytes, value);  // at most kVarintMax, which GCC 12 does not see
  out.append(bytes, std::min(size, kVarintMax));
}

/// Takes one from the front of `text`; false, and nothing taken, when it does not end.
inline bool take_varint(std::string_view& text, std::uint64_t& out) {
  out = 0;
  for (std::size_t i = 0; i < kVarintMax && i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    out |= std::uint64_t{byte & 0x7fu} << (7 * i);
    if (byte >= 0x80) continue;
    text.remove_prefix(i + 1);
    return true;
  }
  return false;
}

/// A protobuf field of counted bytes: text, bytes or a message.
inline void append_protobuf_bytes(std::string& out, std::uint32_t field, std::string_view bytes) {
  append_varint(out, std::uint64_t{field} << 3 | 2);
  append_varint(out, bytes.size());
  out += bytes;
}

}  // namespace sublet
