// Text helpers of the CEL library: UTF-8 by code points, numbers as CEL prints them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sublet::patches::cel {

bool valid_utf8(std::string_view text);
/// Byte offsets of all code points and, last, the text's size. Invalid bytes count as one each.
std::vector<std::size_t> code_points(std::string_view text);
/// 0.5, 1, 1e+21, NaN, Infinity: shortest form that reads back.
std::string double_text(double value);

}  // namespace sublet::patches::cel
