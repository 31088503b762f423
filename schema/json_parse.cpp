// JSON text to Document: simdjson validates and indexes the text, then its tape is walked once to fill the arena.
//
// simdjson's DOM front end, not on-demand: it picks the fastest kernel of the machine at run time (on-demand is fixed
// at compile time, which for a portable x86-64 build means the scalar fallback), and it checks the whole text. Stricter
// than simdjson where Kubernetes is (depth cap) and looser where Go is (the last of duplicate members wins, and is
// noted).
#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <unordered_map>
#include <vector>

#include "sublet/schema/document.h"

namespace sublet::schema {

using detail::Node;

namespace {

namespace dom = simdjson::dom;

// Objects larger than this look their members up in a hash table while they are parsed: a hostile body with 300,000
// members must not cost their square.
constexpr std::uint32_t kLinearMembersMax = 24;

struct Failure {
  std::string message;
};

class TreeBuilder {
 public:
  TreeBuilder(Arena& arena, ParseNotes* notes) : arena_(arena), notes_(notes) {}

  void fill(Node* node, dom::element element, int depth) {
    if (depth > kDepthMax) throw Failure{"exceeded max depth"};
    switch (element.type()) {
      case dom::element_type::OBJECT:
        return fill_object(node, element, depth);
      case dom::element_type::ARRAY:
        return fill_array(node, element, depth);
      case dom::element_type::STRING:
        return fill_string(node, element);
      case dom::element_type::INT64:
        node->kind = NodeKind::integer;
        node->integer = element;
        return;
      case dom::element_type::UINT64:  // beyond int64: a float, as Go's untyped decoding makes it
        return fill_float(node, static_cast<double>(std::uint64_t(element)));
      case dom::element_type::DOUBLE:
        return fill_float(node, element);
      case dom::element_type::BOOL:
        node->kind = NodeKind::boolean;
        node->integer = 0;
        node->boolean = element;
        return;
      case dom::element_type::NULL_VALUE:
        node->kind = NodeKind::null;
        return;
    }
  }

 private:
  static void fill_float(Node* node, double value) {
    node->kind = NodeKind::floating;
    node->floating = value;
  }

  void fill_string(Node* node, std::string_view text) {
    const std::string_view stored = arena_.store(text);
    node->kind = NodeKind::string;
    node->text = stored.data();
    node->size = static_cast<std::uint32_t>(stored.size());
  }

  void fill_array(Node* node, dom::array array, int depth) {
    node->kind = NodeKind::array;
    for (const dom::element item : array) {
      Node* child = arena_.new_node();
      path_.push_back({{}, static_cast<std::int64_t>(node->size)});
      fill(child, item, depth + 1);
      path_.pop_back();
      detail::link_last(node, child);
    }
  }

  void fill_object(Node* node, dom::object object, int depth) {
    node->kind = NodeKind::object;
    std::unordered_map<std::string_view, Node*> seen;  // only used in large objects
    for (const auto field : object) {
      Node* child = find(node, field.key, seen);
      if (child) {
        note_duplicate(field.key);
        const Node link = *child;
        *child = Node();
        child->next = link.next;
        child->key = link.key;
        child->key_size = link.key_size;
      } else {
        child = arena_.new_node();
        const std::string_view stored = arena_.store(field.key);
        child->key = stored.data();
        child->key_size = static_cast<std::uint32_t>(stored.size());
        detail::link_last(node, child);
        if (!seen.empty()) seen.emplace(stored, child);
      }
      path_.push_back({{child->key, child->key_size}, -1});
      fill(child, field.value, depth + 1);
      path_.pop_back();
    }
  }

  static Node* find(Node* object, std::string_view key, std::unordered_map<std::string_view, Node*>& seen) {
    if (object->size < kLinearMembersMax) {
      for (Node* child = object->first; child; child = child->next)
        if (std::string_view(child->key, child->key_size) == key) return child;
      return nullptr;
    }
    if (seen.empty())
      for (Node* child = object->first; child; child = child->next)
        seen.emplace(std::string_view(child->key, child->key_size), child);
    const auto found = seen.find(key);
    return found == seen.end() ? nullptr : found->second;
  }

  void note_duplicate(std::string_view key) {
    if (!notes_) return;
    std::string path;
    for (const Step& step : path_) {
      if (step.index >= 0) {
        path += '[' + std::to_string(step.index) + ']';
      } else {
        if (!path.empty()) path += '.';
        path += step.key;
      }
    }
    if (!path.empty()) path += '.';
    path += key;
    notes_->duplicate_fields.push_back(std::move(path));
  }

  struct Step {
    std::string_view key;
    std::int64_t index;  // -1: a member
  };
  Arena& arena_;
  ParseNotes* notes_;
  std::vector<Step> path_;
};

// The parser's buffers are worth keeping between requests, but not after a huge one.
constexpr std::size_t kKeepBuffersMax = 256 * 1024;

std::unique_ptr<dom::parser>& thread_parser() {
  thread_local std::unique_ptr<dom::parser> parser;
  if (!parser) parser = std::make_unique<dom::parser>();
  return parser;
}

constexpr std::string_view kDigits = "0123456789", kOfNumbers = "0123456789.eE+-";

// Whether it is an integer, with its sign, that int64 does not hold.
bool overflows(std::string_view number) {
  if (number.find_first_not_of(kDigits, number[0] == '-' ? 1 : 0) != std::string_view::npos) return false;
  std::int64_t value = 0;
  return std::from_chars(number.data(), number.data() + number.size(), value).ec == std::errc::result_out_of_range;
}

// The text with each integer beyond int64 as a float, which it is to Go's untyped decoding (our own writer, as Go's,
// says 1e20 in 21 digits); simdjson refuses such integers. Strings are left alone.
std::string with_floats(std::string_view text) {
  std::string out;
  bool quoted = false;
  for (std::size_t i = 0, size = 1; i < text.size(); i += size) {
    const char c = text[i];
    const bool number = !quoted && (c == '-' || (c >= '0' && c <= '9'));
    size = number ? std::min(text.find_first_not_of(kOfNumbers, i), text.size()) - i : quoted && c == '\\' ? 2 : 1;
    const std::string_view token = text.substr(i, size);
    out += token;
    if (number && overflows(token)) out += "e0";
    if (c == '"') quoted = !quoted;
  }
  return out;
}

dom::element parse_text(std::string_view text) {
  if (text.empty())
    throw simdjson::simdjson_error(simdjson::EMPTY);  // simdjson copies from the pointer, which may be null
  auto parsed = thread_parser()->parse(text.data(), text.size());
  if (parsed.error() == simdjson::NUMBER_ERROR) {
    const std::string again = with_floats(text);
    parsed = thread_parser()->parse(again.data(), again.size());  // the tape keeps its own copy of what it says
  }
  return parsed.value();
}

void parse_into(Node* root, Arena& arena, std::string_view text, ParseNotes* notes) {
  TreeBuilder(arena, notes).fill(root, parse_text(text), 0);
}

void release_large_buffers(std::size_t size) {
  if (size <= kKeepBuffersMax) return;
  thread_parser().reset();
}

}  // namespace

Result<Document> Document::parse_json(std::string_view text, ParseNotes* notes) {
  Document document;
  std::string problem;
  try {
    parse_into(document.root_, *document.arena_, text, notes);
  } catch (const Failure& failure) {
    problem = failure.message;
  } catch (const simdjson::simdjson_error& error) {
    problem =
        error.error() == simdjson::EMPTY ? "unexpected end of JSON input" : simdjson::error_message(error.error());
  }
  release_large_buffers(text.size());
  if (!problem.empty()) return bad_request("invalid JSON: " + problem);
  return document;
}

}  // namespace sublet::schema
