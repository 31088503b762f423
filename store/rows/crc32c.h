// crc32c: the checksum of stored rows (Castagnoli polynomial; finds every burst of up to 32 bits).
// Pure, any thread; uses the processor's instruction where there is one.
#pragma once

#include <cstdint>
#include <string_view>

namespace sublet::store {

/// Continues `crc` (0 to begin) over `data`.
std::uint32_t crc32c(std::uint32_t crc, std::string_view data);

/// The same without the processor's instruction; public so that a test can hold the two against each other.
std::uint32_t crc32c_portable(std::uint32_t crc, std::string_view data);

}  // namespace sublet::store
