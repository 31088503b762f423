// Patterns: RE2, bounded. Go's regexp is RE2 as well, so they mean the same.
#pragma once

#include <memory>

#include "patches/cel/functions.h"

namespace re2 {
class RE2;
}

namespace sublet::patches::cel {

/// Null: `problem` says why, in Go's words.
std::shared_ptr<const re2::RE2> compile_pattern(std::string_view pattern, std::string& problem);
Value pattern_matches(const re2::RE2& pattern, std::string_view text, Meter& meter);
/// The first match; "" when there is none.
Value pattern_find(const re2::RE2& pattern, std::string_view text, Meter& meter);
/// Matches that do not overlap, `limit` at most unless it is negative.
Value pattern_find_all(const re2::RE2& pattern, std::string_view text, std::int64_t limit, Meter& meter);

}  // namespace sublet::patches::cel
