#include "sublet/kube/json_scan.h"

#include "sublet/schema/document.h"

namespace sublet::kube {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

}  // namespace

JsonScanner::JsonScanner(std::string_view text) : text_(text) {
  skip_space();
  if (at_ == text_.size()) return;
  if (text_[at_] == '{') close_ = '}';
  if (text_[at_] == '[') close_ = ']';
  ++at_;
}

void JsonScanner::skip_space() {
  while (at_ < text_.size() && is_space(text_[at_])) ++at_;
}

bool JsonScanner::next(std::string_view& key, std::string_view& value) {
  if (close_ == 0 || complete_) return false;
  skip_space();
  if (at_ < text_.size() && text_[at_] == close_) {
    complete_ = true;
    return false;
  }
  if (!first_) {
    if (at_ >= text_.size() || text_[at_] != ',') return false;
    ++at_;
    skip_space();
  }
  first_ = false;
  key = {};
  if (close_ == '}') {
    const std::string_view quoted = take_string();
    skip_space();
    if (quoted.size() < 2 || at_ >= text_.size() || text_[at_] != ':') return false;
    key = quoted.substr(1, quoted.size() - 2);
    ++at_;
    skip_space();
  }
  value = take_value();
  return !value.empty();
}

std::string_view JsonScanner::take_string() {
  if (at_ >= text_.size() || text_[at_] != '"') return {};
  const std::size_t start = at_;
  for (std::size_t i = at_ + 1; i < text_.size(); ++i) {
    if (text_[i] == '\\') {
      ++i;
    } else if (text_[i] == '"') {
      at_ = i + 1;
      return text_.substr(start, at_ - start);
    }
  }
  at_ = text_.size();
  return {};
}

std::string_view JsonScanner::take_value() {
  if (at_ >= text_.size()) return {};
  if (text_[at_] == '"') return take_string();
  if (text_[at_] == '{' || text_[at_] == '[') return take_container();
  const std::size_t start = at_;
  while (at_ < text_.size() && text_[at_] != ',' && text_[at_] != '}' && text_[at_] != ']' && !is_space(text_[at_]))
    ++at_;
  return text_.substr(start, at_ - start);
}

std::string_view JsonScanner::take_container() {
  const std::size_t start = at_;
  std::size_t depth = 0;
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '"') {
      if (take_string().empty()) return {};
      continue;
    }
    ++at_;
    if (c == '{' || c == '[') ++depth;
    if ((c == '}' || c == ']') && --depth == 0) return text_.substr(start, at_ - start);
  }
  return {};
}

std::optional<std::string_view> json_member(std::string_view object, std::string_view key) {
  JsonScanner scanner(object);
  std::string_view name, value;
  while (scanner.next(name, value))
    if (name == key) return value;
  return std::nullopt;
}

std::string json_unquote(std::string_view literal) {
  if (literal.size() < 2 || literal.front() != '"' || literal.back() != '"') return {};
  if (literal.find('\\') == std::string_view::npos) return std::string(literal.substr(1, literal.size() - 2));
  const auto parsed = schema::Document::parse_json(literal);
  return parsed ? parsed->root().string() : std::string();
}

std::optional<ObjectMeta> read_object_meta(std::string_view object) {
  const auto metadata = json_member(object, "metadata");
  if (!metadata || metadata->front() != '{') return std::nullopt;
  struct Wanted {
    std::string_view key;
    std::string ObjectMeta::*field;
  };
  static constexpr Wanted kWanted[] = {{"name", &ObjectMeta::name},
                                       {"namespace", &ObjectMeta::namespace_name},
                                       {"uid", &ObjectMeta::uid},
                                       {"resourceVersion", &ObjectMeta::resource_version}};
  ObjectMeta out;
  int missing = std::size(kWanted);
  JsonScanner scanner(*metadata);
  std::string_view key, value;
  while (missing > 0 && scanner.next(key, value))
    for (const Wanted& wanted : kWanted)
      if (key == wanted.key) {
        out.*wanted.field = json_unquote(value);
        --missing;
      }
  return out;
}

}  // namespace sublet::kube
