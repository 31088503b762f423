// Parser: tokens to syntax tree, by precedence climbing. Depth is capped, so no later walk can overflow the stack.
#pragma once

#include <string_view>

#include "patches/cel/ast.h"
#include "patches/cel/lexer.h"

namespace sublet::patches::cel {

inline constexpr int kSyntaxDepthMax = 200;       // of nested brackets, calls and signs
inline constexpr int kTreeHeightMax = 400;        // of the tree with its macros written out
inline constexpr std::size_t kNodesMax = 50'000;  // optMap() doubles its receiver
inline constexpr std::size_t kSourceMax = 100'000;

tl::expected<NodePtr, std::vector<Problem>> parse(std::string_view source, const Environment& environment);

}  // namespace sublet::patches::cel
