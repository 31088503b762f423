// Lexer: CEL source to tokens. Literals are decoded here, so the parser sees values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "patches/cel/value.h"

namespace sublet::patches::cel {

enum class TokenKind : std::uint8_t { end, identifier, quoted_identifier, literal, symbol };

struct Token {
  TokenKind kind = TokenKind::end;
  std::string_view text;  // identifier's name, symbol's characters
  Value literal;
  int offset = 0;  // in bytes
  bool is(std::string_view symbol) const { return kind == TokenKind::symbol && text == symbol; }
};

/// What is wrong with a source, and where (byte offset).
struct Problem {
  int offset = 0;
  std::string message;
};

/// All tokens up to and including `end`; views point into `source`.
tl::expected<std::vector<Token>, Problem> tokenize(std::string_view source);

}  // namespace sublet::patches::cel
