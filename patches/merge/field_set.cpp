#include "sublet/patches/field_set.h"

#include <algorithm>
#include <charconv>

#include "patches/go_text.h"
#include "patches/merge/element_order.h"

namespace sublet::patches {
namespace {

using schema::Value;

constexpr char kPrefixes[] = {'f', 'k', 'v', 'i'};  // by PathElement::Kind

Result<PathElement> parse_json_element(PathElement::Kind kind, std::string_view json) {
  auto document = schema::Document::parse_json(json);
  if (!document) return fail(document.error());
  if (kind == PathElement::Kind::value) return PathElement::value(document->root());
  if (!document->root().is_object()) return bad_request("a key must be an object: " + std::string(json));
  document->root().sort_keys();
  return PathElement::key(document->root());
}

Result<PathElement> parse_index_element(std::string_view digits) {
  std::int64_t place = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), place);
  if (error != std::errc() || end != digits.data() + digits.size())
    return bad_request("parsing \"" + std::string(digits) + "\": invalid syntax");
  return PathElement::index(place);
}

std::string shown(const Value& value) {
  if (value.is_string()) return go_quoted(value.text());
  std::string text;
  value.append_json(text);
  return text;
}

void append_keys(std::string& path, const std::string& json) {
  const auto document = schema::Document::parse_json(json);
  if (!document) return;
  std::string_view separator;
  for (const Value field : document->root()) {
    path.append(separator).append(field.key()).append("=").append(shown(field));
    separator = ",";
  }
}

bool before(const FieldSet::Node& node, const PathElement& element) { return node.element.compare(element) < 0; }

/// Walks two ascending lists of nodes: `both` gets each pair of equal elements.
template <class F>
void zip(std::vector<FieldSet::Node>& left, const std::vector<FieldSet::Node>& right, F&& both) {
  auto other = right.begin();
  for (FieldSet::Node& node : left) {
    while (other != right.end() && other->element.compare(node.element) < 0) ++other;
    if (other == right.end()) return;
    if (other->element == node.element) both(node, *other);
  }
}

}  // namespace

Result<PathElement> PathElement::parse(std::string_view text) {
  if (text.size() < 2) return bad_request("key must be 2 characters long:");
  if (text[1] != ':') return bad_request("missing colon: " + std::string(text));
  const std::string_view rest = text.substr(2);
  switch (text[0]) {
    case 'f':
      return field(rest);
    case 'k':
      return parse_json_element(Kind::key, rest);
    case 'v':
      return parse_json_element(Kind::value, rest);
    case 'i':
      return parse_index_element(rest);
    default:
      return fail(Reason::not_found, "unknown path element type");
  }
}

std::string PathElement::spelled() const {
  std::string text;
  text.reserve(text_.size() + 2);
  text += kPrefixes[static_cast<std::size_t>(kind_)];
  text += ':';
  return text += text_;
}

void PathElement::append_to(std::string& path) const {
  if (kind_ == Kind::field) {
    path.append(".").append(text_);
    return;
  }
  path += '[';
  if (kind_ == Kind::key) append_keys(path, text_);
  if (kind_ == Kind::index) path += text_;
  if (kind_ == Kind::value) {
    const auto document = schema::Document::parse_json(text_);
    path += '=';
    if (document) path += shown(document->root());
  }
  path += ']';
}

int PathElement::compare(const PathElement& other) const {
  if (kind_ != other.kind_) return kind_ < other.kind_ ? -1 : 1;
  switch (kind_) {
    case Kind::field:
      return text_.compare(other.text_);
    case Kind::key:
      return compare_json_members(text_, other.text_);
    default:
      return compare_json(text_, other.text_);
  }
}

std::string text_of(std::span<const PathElement> path) {
  std::string text;
  for (const PathElement& element : path) element.append_to(text);
  return text;
}

std::size_t FieldSet::size() const {
  std::size_t count = 0;
  for (const Node& node : nodes_) count += (node.member ? 1 : 0) + node.below.size();
  return count;
}

void FieldSet::insert(std::span<const PathElement> path) {
  if (path.empty()) return;
  auto at = std::lower_bound(nodes_.begin(), nodes_.end(), path.front(), before);
  if (at == nodes_.end() || !(at->element == path.front())) at = nodes_.insert(at, Node{path.front()});
  if (path.size() == 1)
    at->member = true;
  else
    at->below.insert(path.subspan(1));
}

const FieldSet::Node* FieldSet::find(const PathElement& element) const {
  const auto at = std::lower_bound(nodes_.begin(), nodes_.end(), element, before);
  return at == nodes_.end() || !(at->element == element) ? nullptr : &*at;
}

bool FieldSet::has(std::span<const PathElement> path) const {
  if (path.empty()) return false;
  const Node* node = find(path.front());
  if (!node) return false;
  return path.size() == 1 ? node->member : node->below.has(path.subspan(1));
}

void FieldSet::attach(PathElement element, bool member, FieldSet below) {
  if (member || !below.empty()) nodes_.push_back({std::move(element), member, std::move(below)});
}

void FieldSet::settle() {
  const auto ascending = [](const Node& a, const Node& b) { return a.element.compare(b.element) < 0; };
  const auto disorder = [](const Node& a, const Node& b) { return a.element.compare(b.element) >= 0; };
  if (std::adjacent_find(nodes_.begin(), nodes_.end(), disorder) == nodes_.end()) return;
  std::stable_sort(nodes_.begin(), nodes_.end(), ascending);
  std::vector<Node> once;
  once.reserve(nodes_.size());
  for (Node& node : nodes_) {
    if (once.empty() || !(once.back().element == node.element)) {
      once.push_back(std::move(node));
      continue;
    }
    once.back().member |= node.member;
    once.back().below.unite(std::move(node.below));
  }
  nodes_ = std::move(once);
}

void FieldSet::unite(const FieldSet& other) { unite(FieldSet(other)); }

void FieldSet::unite(FieldSet&& other) {
  if (nodes_.empty()) {
    nodes_ = std::move(other.nodes_);
    return;
  }
  std::vector<Node> merged;
  merged.reserve(nodes_.size() + other.nodes_.size());
  auto left = nodes_.begin(), right = other.nodes_.begin();
  while (left != nodes_.end() && right != other.nodes_.end()) {
    const int order = left->element.compare(right->element);
    if (order == 0) {
      left->member |= right->member;
      left->below.unite(std::move(right->below));
      ++right;
    }
    merged.push_back(std::move(order <= 0 ? *left++ : *right++));
  }
  std::move(left, nodes_.end(), std::back_inserter(merged));
  std::move(right, other.nodes_.end(), std::back_inserter(merged));
  nodes_ = std::move(merged);
}

void FieldSet::tidy() {
  std::erase_if(nodes_, [](const Node& node) { return !node.member && node.below.empty(); });
}

void FieldSet::intersect(const FieldSet& other) {
  std::vector<Node> common;
  zip(nodes_, other.nodes_, [&common](Node& node, const Node& of_other) {
    node.member = node.member && of_other.member;
    node.below.intersect(of_other.below);
    common.push_back(std::move(node));
  });
  nodes_ = std::move(common);
  tidy();
}

FieldSet FieldSet::common(const FieldSet& other) const {
  FieldSet both;
  auto right = other.nodes_.begin();
  for (const Node& node : nodes_) {
    while (right != other.nodes_.end() && right->element.compare(node.element) < 0) ++right;
    if (right == other.nodes_.end()) break;
    if (right->element == node.element)
      both.attach(node.element, node.member && right->member, node.below.common(right->below));
  }
  return both;
}

void FieldSet::subtract(const FieldSet& other) {
  zip(nodes_, other.nodes_, [](Node& node, const Node& of_other) {
    node.member = node.member && !of_other.member;
    node.below.subtract(of_other.below);
  });
  tidy();
}

void FieldSet::subtract_trees(const FieldSet& other) {
  zip(nodes_, other.nodes_, [](Node& node, const Node& of_other) {
    if (of_other.member) {
      node.member = false;
      node.below = {};
    } else {
      node.below.subtract_trees(of_other.below);
    }
  });
  tidy();
}

Result<FieldSet> FieldSet::from_fields_v1(const Value& fields) {
  FieldSet set;
  if (fields.missing() || fields.is_null()) return set;
  if (!fields.is_object()) return bad_request("FieldsV1 must be an object");
  for (const Value member : fields) {
    if (member.key() == kSelfMember) continue;
    auto element = PathElement::parse(member.key());
    if (!element && element.error().is(Reason::not_found)) continue;  // of a later release
    if (!element) return fail(element.error());
    auto below = from_fields_v1(member);
    if (!below) return below;
    const bool is_member = member.has(kSelfMember) || below->empty();
    set.attach(std::move(*element), is_member, std::move(*below));
  }
  set.settle();
  return set;
}

void FieldSet::write_fields_v1(Value target) const {
  target.make_object();
  write_nodes(target);
}

void FieldSet::write_nodes(Value target) const {
  for (const Node& node : nodes_) {
    Value entry = target.add_member(node.element.spelled());
    entry.make_object();
    if (node.below.empty()) continue;
    if (node.member) entry.add_member(kSelfMember).make_object();
    node.below.write_nodes(entry);
  }
}

std::string FieldSet::fields_v1() const {
  auto document = schema::Document::object();
  write_fields_v1(document.root());
  return document.to_json();
}

bool FieldSet::operator==(const FieldSet& other) const { return nodes_ == other.nodes_; }

}  // namespace sublet::patches
