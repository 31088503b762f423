// Element order: how upstream compares the keys and values in path elements; private to patches/merge.
#pragma once

#include <string_view>

namespace sublet::patches {

/// Orders two JSON texts of one value each: numbers (by value), strings, booleans, lists, objects, null.
int compare_json(std::string_view left, std::string_view right);
/// Orders two flat objects member by member: by name, then by value; the shorter one first.
int compare_json_members(std::string_view left, std::string_view right);

}  // namespace sublet::patches
