// gzip for large answers, level 1 as upstream. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sublet::apiserver {

inline constexpr std::size_t kGzipBytesMin = 128 * 1024;

std::string gzip(std::string_view bytes);
/// "" when the text is no gzip stream.
std::string gunzip(std::string_view bytes);
bool accepts_gzip(std::string_view accept_encoding);

}  // namespace sublet::apiserver
