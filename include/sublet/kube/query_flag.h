// QueryFlag: a boolean query parameter as apimachinery converts it (Convert_Slice_string_To_bool): "0" and "false" in
// any case are false; every other value is true, also an empty one. Pure.
#pragma once

#include <string_view>

#include "sublet/base/text.h"

namespace sublet::kube {

inline bool query_flag(std::string_view value) { return value != "0" && to_lower(value) != "false"; }

}  // namespace sublet::kube
