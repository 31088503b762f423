// Lexer: CEL source to tokens. Literals are decoded here, so the parser sees values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sublet/patches/cel.h"

namespace sublet::patches::cel {

enum class TokenKind : std::uint8_t { end, identifier, quoted_identifier, literal, symbol };

struct Token {
  TokenKind kind = TokenKind::end;
  std::string_view text;  // identifier's name, symbol's characters
  std::string_view raw;   // as it stands in the source
  Value literal;
  int offset = 0;  // in bytes
  bool is(std::string_view symbol) const { return kind == TokenKind::symbol && text == symbol; }
};

/// All tokens up to and including `end`, whose views point into the source; what is no token is left out.
struct Tokens {
  std::vector<Token> tokens;
  std::vector<Problem> problems;
};
Tokens tokenize(std::string_view source);

}  // namespace sublet::patches::cel
