#include "sublet/kube/json_scan.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "sublet/schema/document.h"

namespace sublet::kube {
namespace {

bool is_json_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

#ifdef __SSE2__
constexpr std::size_t kBlock = 64;

/// One bit for each of 64 bytes.
struct Marks {
  std::uint64_t quotes = 0, escapes = 0, opening = 0, closing = 0;

  explicit Marks(const char* bytes) {
    for (unsigned part = 0; part < 4; ++part) {
      const __m128i chunk = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + 16 * part));
      const auto add = [part](std::uint64_t& marks, __m128i equal) {
        marks |= static_cast<std::uint64_t>(static_cast<unsigned>(_mm_movemask_epi8(equal))) << (16 * part);
      };
      add(quotes, _mm_cmpeq_epi8(chunk, _mm_set1_epi8('"')));
      add(escapes, _mm_cmpeq_epi8(chunk, _mm_set1_epi8('\\')));
      const __m128i folded = _mm_or_si128(chunk, _mm_set1_epi8(0x20));  // [ is {, ] is }
      add(opening, _mm_cmpeq_epi8(folded, _mm_set1_epi8('{')));
      add(closing, _mm_cmpeq_epi8(folded, _mm_set1_epi8('}')));
    }
  }
};

/// Goes over a container's text in blocks, as long as whole ones are left and it does not end.
class BlockSkip {
 public:
  /// Where the container that begins at `at` ends, behind its bracket; else 0, and at() is where to go on by bytes.
  std::size_t end_of(std::string_view text, std::size_t at) {
    for (at_ = at; text.size() - at_ >= kBlock; at_ += kBlock) {
      Marks marks(text.data() + at_);
      const std::uint64_t inside = strings(marks);
      marks.opening &= ~inside;
      marks.closing &= ~inside;
      if (const auto end = count(marks)) return at_ + end;
    }
    return 0;
  }
  std::size_t at() const { return at_ + (escaped_ ? 1 : 0); }
  bool in_string() const { return in_string_ != 0; }
  std::size_t depth() const { return depth_; }

 private:
  /// The bytes that are inside of strings, opening quotes too.
  std::uint64_t strings(const Marks& marks) {
    std::uint64_t quotes = marks.quotes & ~escaped_bytes(marks.escapes);
    for (unsigned shift = 1; shift < 64; shift *= 2) quotes ^= quotes << shift;
    quotes ^= in_string_;
    in_string_ = static_cast<std::uint64_t>(static_cast<std::int64_t>(quotes) >> 63);
    return quotes;
  }

  std::uint64_t escaped_bytes(std::uint64_t escapes) {
    std::uint64_t escaped = escaped_ ? 1 : 0;
    escapes &= ~escaped;
    escaped_ = false;
    while (escapes != 0) {
      const std::uint64_t first = escapes & (~escapes + 1);
      escaped_ = first >> 63 != 0;
      escaped |= first << 1;
      escapes &= ~(first | first << 1);
    }
    return escaped;
  }

  /// Behind the bracket that closes the container, if it is in this block.
  std::size_t count(const Marks& marks) {
    const auto closing = static_cast<std::size_t>(std::popcount(marks.closing));
    if (closing < depth_) {
      depth_ += static_cast<std::size_t>(std::popcount(marks.opening)) - closing;
      return 0;
    }
    for (std::uint64_t both = marks.opening | marks.closing; both != 0; both &= both - 1) {
      const std::uint64_t first = both & (~both + 1);
      if ((first & marks.opening) != 0)
        ++depth_;
      else if (--depth_ == 0)
        return static_cast<std::size_t>(std::countr_zero(first)) + 1;
    }
    return 0;
  }

  std::size_t at_ = 0, depth_ = 0;
  std::uint64_t in_string_ = 0;  // all bits or none
  bool escaped_ = false;         // the block's first byte is
};
#endif

}  // namespace

JsonScanner::JsonScanner(std::string_view text) : text_(text) {
  skip_space();
  if (at_ == text_.size()) return;
  if (text_[at_] == '{') close_ = '}';
  if (text_[at_] == '[') close_ = ']';
  ++at_;
}

void JsonScanner::skip_space() {
  while (at_ < text_.size() && is_json_space(text_[at_])) ++at_;
}

bool JsonScanner::next(std::string_view& key, std::string_view& value) {
  if (!next_key(key)) return false;
  value = take_value();
  return !value.empty();
}

bool JsonScanner::next_key(std::string_view& key) {
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
  return true;
}

std::string_view JsonScanner::take_string() {
  if (at_ >= text_.size() || text_[at_] != '"') return {};
  const std::size_t start = at_++;
  return leave_string() ? text_.substr(start, at_ - start) : std::string_view();
}

// To behind the quote that ends the string in which it is.
bool JsonScanner::leave_string() {
  for (; at_ < text_.size(); ++at_) {
    if (text_[at_] == '\\') {
      ++at_;
    } else if (text_[at_] == '"') {
      ++at_;
      return true;
    }
  }
  at_ = text_.size();
  return false;
}

std::string_view JsonScanner::take_value() {
  if (at_ >= text_.size()) return {};
  if (text_[at_] == '"') return take_string();
  if (text_[at_] == '{' || text_[at_] == '[') return take_container();
  const std::size_t start = at_;
  while (at_ < text_.size() && text_[at_] != ',' && text_[at_] != '}' && text_[at_] != ']' &&
         !is_json_space(text_[at_]))
    ++at_;
  return text_.substr(start, at_ - start);
}

std::string_view JsonScanner::take_container() {
  const std::size_t start = at_;
  std::size_t depth = 0;
#ifdef __SSE2__
  BlockSkip skip;
  if (const std::size_t end = skip.end_of(text_, start)) {
    at_ = end;
    return text_.substr(start, end - start);
  }
  at_ = std::min(skip.at(), text_.size());
  depth = skip.depth();
  if (skip.in_string() && !leave_string()) return {};
#endif
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

std::string_view json_from(std::string_view object, std::string_view key) {
  JsonScanner scanner(object);
  std::string_view name;
  while (scanner.next_key(name)) {
    if (name == key) return object.substr(scanner.at_);
    if (scanner.take_value().empty()) break;
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
