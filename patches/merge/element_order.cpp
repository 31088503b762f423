#include "patches/merge/element_order.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "sublet/schema/document.h"

namespace sublet::patches {
namespace {

int sign_of(auto difference) { return difference < 0 ? -1 : difference > 0 ? 1 : 0; }

int rank_of_token(std::string_view token) {
  if (token.empty()) return 6;
  switch (token.front()) {
    case '"':
      return 1;
    case 't':
    case 'f':
      return 2;
    case '[':
      return 3;
    case '{':
      return 4;
    case 'n':
      return 5;
    default:
      return 0;
  }
}

double value_of_token(std::string_view token) {
  double number = 0;
  std::from_chars(token.data(), token.data() + token.size(), number);
  return number;
}

bool is_integer_token(std::string_view token) { return token.find_first_of(".eE") == std::string_view::npos; }

int compare_number_tokens(std::string_view left, std::string_view right) {
  std::int64_t a = 0, b = 0;
  const auto read = [](std::string_view token, std::int64_t& out) {
    return is_integer_token(token) && std::from_chars(token.data(), token.data() + token.size(), out).ec == std::errc();
  };
  if (read(left, a) && read(right, b)) return a < b ? -1 : a > b ? 1 : 0;
  const double x = value_of_token(left), y = value_of_token(right);
  return x < y ? -1 : x > y ? 1 : 0;
}

std::string unescaped(std::string_view token) {
  auto document = schema::Document::parse_json(token);
  return document ? document->root().string() : std::string(token);
}

int compare_string_tokens(std::string_view left, std::string_view right) {
  if (left.find('\\') == std::string_view::npos && right.find('\\') == std::string_view::npos)
    return sign_of(left.substr(1, left.size() - 2).compare(right.substr(1, right.size() - 2)));
  return sign_of(unescaped(left).compare(unescaped(right)));
}

/// Takes one value (or name) off the front of canonical JSON text.
std::string_view take_token(std::string_view& text) {
  int depth = 0;
  bool quoted = false;
  std::size_t i = 0;
  for (; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
      continue;
    }
    if (c == '"') quoted = true;
    if (c == '{' || c == '[') ++depth;
    if (depth == 0 && (c == ',' || c == ':' || c == '}' || c == ']')) break;
    if (c == '}' || c == ']') --depth;
  }
  const std::string_view token = text.substr(0, i);
  text.remove_prefix(std::min(text.size(), i + 1));  // and the separator
  return token;
}

}  // namespace

int compare_json(std::string_view left, std::string_view right) {
  if (left == right) return 0;
  const int rank = rank_of_token(left);
  if (rank != rank_of_token(right)) return rank < rank_of_token(right) ? -1 : 1;
  if (rank == 0) return compare_number_tokens(left, right);
  if (rank == 1) return compare_string_tokens(left, right);
  return sign_of(left.compare(right));
}

int compare_json_members(std::string_view left, std::string_view right) {
  if (left == right) return 0;
  left = left.substr(1);
  right = right.substr(1);
  while (left.size() > 1 && right.size() > 1) {  // a brace alone is the end
    if (const int order = compare_string_tokens(take_token(left), take_token(right))) return order;
    if (const int order = compare_json(take_token(left), take_token(right))) return order;
  }
  return left.size() > 1 ? 1 : right.size() > 1 ? -1 : 0;
}

}  // namespace sublet::patches
