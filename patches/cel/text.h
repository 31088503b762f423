// Text helpers of the CEL library: UTF-8 by code points, numbers as CEL prints them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sublet::patches::cel {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool valid_utf8(std::string_view text);
/// Byte offsets of all code points and, last, the text's size. Invalid bytes count as one each.
std::vector<std::size_t> code_points(std::string_view text);
/// How many code points, of well-formed text.
std::size_t character_count(std::string_view text);
void append_utf8(std::string& out, std::uint32_t code);
/// 0.5, 1, 1e+21, NaN, +Inf: shortest form that reads back.
std::string double_text(double value);
/// The same with Go's %g: 1e+06.
std::string go_double_text(double value);
/// As Go's %q quotes: `"a\n\u00ff"`.
std::string go_quote(std::string_view text);

}  // namespace sublet::patches::cel
