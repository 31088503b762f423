#include "sublet/schema/document.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <charconv>
#include <cmath>
#include <cstring>
#include <new>
#include <vector>

#include "schema/object_shaper.h"

namespace sublet::schema {

using detail::Node;

// --- Arena ---------------------------------------------------------------------------------------------------------

struct Arena::Block {
  Block* next;
};

namespace {
constexpr std::size_t kFirstBlock = 4 * 1024;
constexpr std::size_t kBlockMax = 256 * 1024;
}  // namespace

Arena::~Arena() {
  while (blocks_) {
    Block* next = blocks_->next;
    ::operator delete(blocks_);
    blocks_ = next;
  }
}

void* Arena::allocate(std::size_t size, std::size_t align) {
  const auto padding = [&] { return -reinterpret_cast<std::uintptr_t>(cursor_) & (align - 1); };
  if (cursor_ == nullptr || padding() + size > static_cast<std::size_t>(limit_ - cursor_)) {
    std::size_t block_size = std::clamp(bytes_, kFirstBlock, kBlockMax);
    block_size = std::max(block_size, size + align + sizeof(Block));
    auto* block = static_cast<Block*>(::operator new(block_size));
    block->next = blocks_;
    blocks_ = block;
    bytes_ += block_size;
    cursor_ = reinterpret_cast<char*>(block) + sizeof(Block);
    limit_ = reinterpret_cast<char*>(block) + block_size;
  }
  char* const place = cursor_ + padding();
  cursor_ = place + size;
  return place;
}

Node* Arena::new_node() { return new (allocate(sizeof(Node), alignof(Node))) Node(); }

std::string_view Arena::store(std::string_view text) {
  if (text.empty()) return "";
  auto* copy = static_cast<char*>(allocate(text.size(), 1));
  std::memcpy(copy, text.data(), text.size());
  return {copy, text.size()};
}

// --- reading -------------------------------------------------------------------------------------------------------

std::string_view Value::text(std::string_view fallback) const {
  return is_string() ? std::string_view(node_->text, node_->size) : fallback;
}

std::int64_t Value::integer(std::int64_t fallback) const { return is_integer() ? node_->integer : fallback; }

double Value::floating(double fallback) const {
  if (is_floating()) return node_->floating;
  return is_integer() ? static_cast<double>(node_->integer) : fallback;
}

bool Value::boolean(bool fallback) const { return is_boolean() ? node_->boolean : fallback; }

std::size_t Value::size() const { return container() ? node_->size : 0; }

Value Value::operator[](std::string_view key) const {
  if (!is_object()) return {};
  for (Node* child = node_->first; child; child = child->next)
    if (std::string_view(child->key, child->key_size) == key)
      return {arena_, child};  // both may be empty, without bytes
  return {};
}

Value Value::at(std::size_t index) const {
  if (!is_array() || index >= node_->size) return {};
  Node* child = node_->first;
  while (index-- > 0) child = child->next;
  return {arena_, child};
}

Value Value::path(std::string_view dotted) const {
  Value value = *this;
  while (value && !dotted.empty()) {
    const auto dot = dotted.find('.');
    value = value[dotted.substr(0, dot)];
    dotted = dot == std::string_view::npos ? std::string_view() : dotted.substr(dot + 1);
  }
  return value;
}

namespace {

constexpr std::size_t kFewMembers = 16;  // looking each of more up would cost the square of their number

std::vector<Value> by_key(const Value& object) {
  std::vector<Value> members(object.begin(), object.end());
  std::ranges::sort(members, {}, [](const Value& member) { return member.key(); });
  return members;
}

bool equal_in_any_order(const Value& one, const Value& other) {
  return std::ranges::equal(by_key(one), by_key(other), [](const Value& mine, const Value& theirs) {
    return mine.key() == theirs.key() && mine.equals(theirs);
  });
}

}  // namespace

bool Value::equals(const Value& other) const {
  if (missing() || other.missing()) return missing() == other.missing();
  if (is_number() && other.is_number()) {
    if (is_integer() && other.is_integer()) return node_->integer == other.node_->integer;
    return floating() == other.floating();
  }
  if (node_->kind != other.node_->kind) return false;
  switch (node_->kind) {
    case NodeKind::null:
      return true;
    case NodeKind::boolean:
      return node_->boolean == other.node_->boolean;
    case NodeKind::string:
      return text() == other.text();
    case NodeKind::array: {
      if (size() != other.size()) return false;
      auto theirs = other.begin();
      for (Value item : *this) {
        if (!item.equals(*theirs)) return false;
        ++theirs;
      }
      return true;
    }
    case NodeKind::object: {
      if (size() != other.size()) return false;
      // Members mostly stand in the same order; look a name up only when they do not.
      auto theirs = other.begin();
      for (Value member : *this) {
        const bool in_step = (*theirs).key() == member.key();
        if (!in_step && size() > kFewMembers) return equal_in_any_order(*this, other);
        const Value same = in_step ? *theirs : other[member.key()];
        if (same.missing() || !member.equals(same)) return false;
        ++theirs;
      }
      return true;
    }
    case NodeKind::integer:
    case NodeKind::floating:
      break;
  }
  return false;
}

// --- writing -------------------------------------------------------------------------------------------------------

namespace {

// Takes `child`, which follows `before` (null: it is the first), out of the chain.
void unlink(Node* parent, Node* before, Node* child) {
  if (before)
    before->next = child->next;
  else
    parent->first = child->next;
  if (parent->last == child) parent->last = before;
  --parent->size;
}

void set_text(Arena& arena, Node* node, std::string_view text) {
  clear_node(node, NodeKind::string);
  const std::string_view stored = arena.store(text);
  node->text = stored.data();
  node->size = static_cast<std::uint32_t>(stored.size());
}

void set_key(Arena& arena, Node* node, std::string_view key) {
  const std::string_view stored = arena.store(key);
  node->key = stored.data();
  node->key_size = static_cast<std::uint32_t>(stored.size());
}

void copy_into(Arena& arena, Node* to, const Node* from) {
  switch (from->kind) {
    case NodeKind::string:
      set_text(arena, to, {from->text, from->size});
      return;
    case NodeKind::array:
    case NodeKind::object: {
      // `from` may stand inside `to`: build the copy aside, then hang it in.
      Node built;
      built.kind = from->kind;
      for (const Node* child = from->first; child; child = child->next) {
        Node* copy = arena.new_node();
        if (from->kind == NodeKind::object) set_key(arena, copy, {child->key, child->key_size});
        copy_into(arena, copy, child);
        detail::link_last(&built, copy);
      }
      clear_node(to, from->kind);
      to->first = built.first;
      to->last = built.last;
      to->size = built.size;
      return;
    }
    default: {
      const std::int64_t bits = from->integer;
      clear_node(to, from->kind);
      to->integer = bits;
      return;
    }
  }
}

}  // namespace

void Value::set_null() { clear_node(node_, NodeKind::null); }

void Value::set(bool value) {
  clear_node(node_, NodeKind::boolean);
  node_->boolean = value;
}

void Value::set(std::int64_t value) {
  clear_node(node_, NodeKind::integer);
  node_->integer = value;
}

void Value::set(double value) {
  clear_node(node_, NodeKind::floating);
  node_->floating = value;
}

void Value::set(std::string_view value) { set_text(*arena_, node_, value); }

void Value::set(Value other) {
  if (other.missing()) return set_null();
  if (other.node_ == node_) return;
  copy_into(*arena_, node_, other.node_);
}

void Value::take(Value other) {
  if (same_node(other)) return;
  clear_node(node_, other.kind());
  if (other.missing()) return;
  node_->first = other.node_->first;
  node_->last = other.node_->last;
  node_->text = other.node_->text;
  node_->size = other.node_->size;
  node_->integer = other.node_->integer;  // as wide as any member of the union
  clear_node(other.node_, NodeKind::null);
}

void Value::make_object() { clear_node(node_, NodeKind::object); }
void Value::make_array() { clear_node(node_, NodeKind::array); }

Value Value::append() {
  assert(container());
  Node* child = arena_->new_node();
  detail::link_last(node_, child);
  return {arena_, child};
}

Value Value::member_for_write(std::string_view key) {
  assert(is_object());
  if (Value member = (*this)[key]) return member;
  return add_member(key);
}

Value Value::add_member(std::string_view key) {
  assert(is_object());
  Value member = append();
  set_key(*arena_, member.node_, key);
  return member;
}

Value Value::object(std::string_view key) {
  Value member = member_for_write(key);
  if (!member.is_object()) member.make_object();
  return member;
}

Value Value::array(std::string_view key) {
  Value member = member_for_write(key);
  if (!member.is_array()) member.make_array();
  return member;
}

bool Value::erase(std::string_view key) {
  if (!is_object()) return false;
  Node* before = nullptr;
  for (Node* child = node_->first; child; before = child, child = child->next)
    if (std::string_view(child->key, child->key_size) == key) {
      unlink(node_, before, child);
      return true;
    }
  return false;
}

bool Value::rename(std::string_view from, std::string_view to) {
  const Value member = (*this)[from];
  if (member.missing()) return false;
  if (from == to) return true;
  erase(to);
  set_key(*arena_, member.node_, to);
  return true;
}

void Value::clear() {
  if (container()) clear_node(node_, node_->kind);
}

Value Value::push_object() {
  Value item = append();
  item.make_object();
  return item;
}

Value Value::push_array() {
  Value item = append();
  item.make_array();
  return item;
}

Value Value::insert(std::size_t index) {
  assert(is_array() && index <= node_->size);
  if (index == node_->size) return append();
  Node* item = arena_->new_node();
  Node* before = index == 0 ? nullptr : at(index - 1).node_;
  item->next = before ? before->next : node_->first;
  (before ? before->next : node_->first) = item;
  ++node_->size;
  return {arena_, item};
}

bool Value::remove(std::size_t index) {
  if (!is_array() || index >= node_->size) return false;
  Node* before = index == 0 ? nullptr : at(index - 1).node_;
  unlink(node_, before, before ? before->next : node_->first);
  return true;
}

void Value::relink(const std::vector<Node*>& children) {
  node_->first = node_->last = nullptr;
  node_->size = 0;
  for (Node* child : children) detail::link_last(node_, child);
}

void Value::reorder(const std::vector<Value>& children) {
  assert(children.size() == size());
  std::vector<Node*> nodes;
  nodes.reserve(children.size());
  for (const Value& child : children) nodes.push_back(child.node_);
  relink(nodes);
}

void Value::sort_keys() {
  if (!is_object()) return;
  std::vector<Node*> nodes;
  nodes.reserve(node_->size);
  bool sorted = true;
  for (Node* child = node_->first; child; child = child->next) {
    if (!nodes.empty() &&
        std::string_view(child->key, child->key_size) < std::string_view(nodes.back()->key, nodes.back()->key_size))
      sorted = false;
    nodes.push_back(child);
  }
  if (sorted) return;
  std::stable_sort(nodes.begin(), nodes.end(), [](const Node* a, const Node* b) {
    return std::string_view(a->key, a->key_size) < std::string_view(b->key, b->key_size);
  });
  relink(nodes);
}

// --- JSON out ------------------------------------------------------------------------------------------------------

namespace {

void append_node(std::string& out, const Node* node, int indent, bool pretty);

void append_newline(std::string& out, int indent) {
  out += '\n';
  out.append(static_cast<std::size_t>(indent) * 2, ' ');
}

void append_children(std::string& out, const Node* node, int indent, bool pretty) {
  const bool object = node->kind == NodeKind::object;
  out += object ? '{' : '[';
  for (const Node* child = node->first; child; child = child->next) {
    if (pretty) append_newline(out, indent + 1);
    if (object) {
      append_json_string(out, {child->key, child->key_size});
      out += pretty ? ": " : ":";
    }
    append_node(out, child, indent + 1, pretty);
    if (child->next) out += ',';
  }
  if (pretty && node->first) append_newline(out, indent);
  out += object ? '}' : ']';
}

void append_node(std::string& out, const Node* node, int indent, bool pretty) {
  switch (node->kind) {
    case NodeKind::null:
      out += "null";
      return;
    case NodeKind::boolean:
      out += node->boolean ? "true" : "false";
      return;
    case NodeKind::integer: {
      char buffer[24];
      const auto end = std::to_chars(buffer, buffer + sizeof buffer, node->integer).ptr;
      out.append(buffer, end);
      return;
    }
    case NodeKind::floating:
      append_json_float(out, node->floating);
      return;
    case NodeKind::string:
      append_json_string(out, {node->text, node->size});
      return;
    case NodeKind::array:
    case NodeKind::object:
      append_children(out, node, indent, pretty);
      return;
  }
}

// "-1.25e+03" as "-1250".
void append_fixed(std::string& out, std::string_view scientific) {
  if (scientific.front() == '-') {
    out += '-';
    scientific.remove_prefix(1);
  }
  const auto e = scientific.find('e');
  int exponent = 0;
  const char* first = scientific.data() + e + 1;
  std::from_chars(*first == '+' ? first + 1 : first, scientific.data() + scientific.size(), exponent);
  std::string digits(scientific.substr(0, 1));
  if (e > 2) digits += scientific.substr(2, e - 2);
  const int point = exponent + 1;  // digits before the decimal point
  if (point <= 0) {
    out += "0.";
    out.append(static_cast<std::size_t>(-point), '0');
    out += digits;
    return;
  }
  const auto whole = static_cast<std::size_t>(point);
  if (digits.size() <= whole) {
    out += digits;
    out.append(whole - digits.size(), '0');
    return;
  }
  out.append(digits, 0, whole);
  out += '.';
  out.append(digits, whole);
}

}  // namespace

void append_json_float(std::string& out, double value) {
  if (!std::isfinite(value)) {  // JSON has no word for it; nothing we parse can make one
    out += "null";
    return;
  }
  // Shortest digits first: to_chars' own fixed form prints large values exactly, Go pads the shortest digits by zeros.
  char buffer[40];
  char* end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
  const double magnitude = std::fabs(value);
  if (magnitude != 0 && (magnitude < 1e-6 || magnitude >= 1e21)) {
    // Go writes e-9, not e-09.
    if (end[-4] == 'e' && end[-3] == '-' && end[-2] == '0') {
      end[-2] = end[-1];
      --end;
    }
    out.append(buffer, end);
    return;
  }
  append_fixed(out, {buffer, static_cast<std::size_t>(end - buffer)});
}

void Value::append_json(std::string& out) const {
  if (node_)
    append_node(out, node_, 0, false);
  else
    out += "null";
}

std::string Value::to_json() const {
  std::string out;
  append_json(out);
  return out;
}

std::string Value::to_pretty_json() const {
  std::string out;
  if (node_) append_node(out, node_, 0, true);
  return out;
}

// --- Document ------------------------------------------------------------------------------------------------------

Document::Document() : arena_(std::make_unique<Arena>()), root_(arena_->new_node()) {}

Document Document::object() {
  Document document;
  document.root().make_object();
  return document;
}

Document Document::copy_of(const Value& value) {
  Document document;
  document.root().set(value);
  return document;
}

}  // namespace sublet::schema
