// Parser: tokens to syntax tree, by precedence climbing. Depth is capped, so no later walk can overflow the stack.
#pragma once

#include <string_view>

#include "patches/cel/ast.h"
#include "patches/cel/lexer.h"

namespace sublet::patches::cel {

inline constexpr int kSyntaxDepthMax = 200;  // of nested brackets, calls and signs
inline constexpr int kTreeHeightMax = 250;   // of the tree: chains such as a || b || c ... count, too
inline constexpr std::size_t kSourceMax = 64 * 1024;

tl::expected<NodePtr, Problem> parse(std::string_view source);

}  // namespace sublet::patches::cel
