// Characters of the small grammars here (quantities, times, YAML scalars); private to schema/.
#pragma once

namespace sublet::schema {

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace sublet::schema
