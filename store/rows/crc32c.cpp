#include "store/rows/crc32c.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace sublet::store {
namespace {

constexpr std::uint32_t kPolynomial = 0x82f63b78;  // Castagnoli, bits reversed

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    table[i] = crc;
  }
  return table;
}
constexpr auto kTable = make_table();

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t crc32c_sse42(std::uint32_t crc, std::string_view data) {
  std::uint64_t state = ~crc;
  const char* at = data.data();
  std::size_t left = data.size();
  for (; left >= 8; left -= 8, at += 8) {
    std::uint64_t word;
    std::memcpy(&word, at, 8);
    state = _mm_crc32_u64(state, word);
  }
  auto narrow = static_cast<std::uint32_t>(state);
  for (; left > 0; --left, ++at) narrow = _mm_crc32_u8(narrow, static_cast<unsigned char>(*at));
  return ~narrow;
}
#endif

}  // namespace

std::uint32_t crc32c_portable(std::uint32_t crc, std::string_view data) {
  crc = ~crc;
  for (const char c : data) crc = (crc >> 8) ^ kTable[(crc ^ static_cast<unsigned char>(c)) & 0xff];
  return ~crc;
}

std::uint32_t crc32c(std::uint32_t crc, std::string_view data) {
#if defined(__x86_64__)
  static const bool has_instruction = __builtin_cpu_supports("sse4.2") != 0;
  if (has_instruction) return crc32c_sse42(crc, data);
#endif
  return crc32c_portable(crc, data);
}

}  // namespace sublet::store
