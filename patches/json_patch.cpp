// JSON patch, RFC 6902, with the leniencies of kube-apiserver, since clients have come to use them: `replace` of a
// missing member adds it, a missing member reads as null for `test` and `copy`, and array indexes may count from the
// end ("-1" is the last item).
#include <charconv>
#include <optional>

#include "sublet/patches/patch.h"

namespace sublet::patches {

using schema::Value;

namespace {

constexpr std::size_t kOperationsMax = 10'000;
constexpr std::size_t kCopiedBytesMax = 3 * 1024 * 1024;

constexpr std::size_t kQuotedMax = 512, kCauseMax = 1536;  // a patch's own words are not sent back by the megabyte

std::string truncated(std::string_view text, std::size_t size_max) {
  if (text.size() <= size_max) return std::string(text);
  auto end = size_max;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return std::string(text.substr(0, end)) + "...";
}

std::string quoted_start(std::string_view text) { return "'" + truncated(text, kQuotedMax) + "'"; }

// Upstream answers with the first half only and keeps the cause to itself.
tl::unexpected<Status> does_not_apply(const std::string& why) {
  return fail(Reason::invalid,
              "the server rejected our request due to an error in our request: " + truncated(why, kCauseMax));
}

// One JSON pointer, split and unescaped.
std::optional<std::vector<std::string>> parse_pointer(std::string_view pointer) {
  std::vector<std::string> tokens;
  if (pointer.empty()) return tokens;
  if (pointer.front() != '/') return std::nullopt;
  for (std::size_t i = 0; i < pointer.size(); ++i) {
    if (pointer[i] == '/') {
      tokens.emplace_back();
    } else if (pointer[i] == '~' && i + 1 < pointer.size() && (pointer[i + 1] == '0' || pointer[i + 1] == '1')) {
      tokens.back() += pointer[++i] == '0' ? '~' : '/';
    } else {
      tokens.back() += pointer[i];
    }
  }
  return tokens;
}

// An index into an array of `size` items; `limit` is the first index that is too large. No leading zeros, no plus.
std::optional<std::size_t> parse_array_index(std::string_view token, std::size_t limit) {
  const bool from_end = token.size() > 1 && token.front() == '-';
  const std::string_view digits = from_end ? token.substr(1) : token;
  if (digits.empty() || (digits.size() > 1 && digits.front() == '0')) return std::nullopt;
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  if (from_end) return index == 0 || index > limit ? std::nullopt : std::optional(limit - index);
  return index < limit ? std::optional(index) : std::nullopt;
}

// How many levels of nodes stand below and at this value.
int height(const Value& value) {
  int below = 0;
  for (Value child : value) below = std::max(below, height(child));
  return below + 1;
}

// A place in the target: the container and the last token. Root has no container.
struct Place {
  std::string_view pointer;  // as the patch spells it
  bool root = false;
  Value parent;  // missing: the way there does not exist
  std::string token;
  int depth = 0;  // of the place itself, the root being 0
};

class JsonPatcher {
 public:
  explicit JsonPatcher(Value target) : target_(target) {}

  Outcome apply(const Value& operation);

 private:
  using Handler = Outcome (JsonPatcher::*)(const Value& operation, const Place& path);
  static Handler handler_of(std::string_view name);

  Outcome add(const Value& operation, const Place& path);
  Outcome remove(const Value& operation, const Place& path);
  Outcome replace(const Value& operation, const Place& path);
  Outcome move(const Value& operation, const Place& path);
  Outcome copy(const Value& operation, const Place& path);
  Outcome test(const Value& operation, const Place& path);

  Result<Place> locate(const Value& operation, std::string_view member) const;
  Value value_at(const Place& place) const;
  Outcome check_parent(const Place& place, std::string_view what) const;
  Result<Value> make_room(const Place& place, int value_height);
  Outcome detach(const Place& place);

  Value target_;
  std::size_t copied_bytes_ = 0;
};

JsonPatcher::Handler JsonPatcher::handler_of(std::string_view name) {
  static constexpr std::pair<std::string_view, Handler> kHandlers[] = {
      {"add", &JsonPatcher::add},   {"remove", &JsonPatcher::remove}, {"replace", &JsonPatcher::replace},
      {"move", &JsonPatcher::move}, {"copy", &JsonPatcher::copy},     {"test", &JsonPatcher::test},
  };
  for (const auto& [known, handler] : kHandlers)
    if (known == name) return handler;
  return nullptr;
}

Outcome JsonPatcher::apply(const Value& operation) {
  const Value name = operation["op"];
  const Handler handler = handler_of(name.text());
  if (handler == nullptr) return does_not_apply("Unexpected kind: " + (name.is_string() ? name.string() : "unknown"));
  auto path = locate(operation, "path");
  if (!path) return fail(path.error());
  return (this->*handler)(operation, *path);
}

Result<Place> JsonPatcher::locate(const Value& operation, std::string_view member) const {
  const Value pointer = operation[member];
  const std::string verb = operation["op"].string();
  if (!pointer.is_string())
    return does_not_apply(verb + " operation failed to decode " + std::string(member) + ": missing value");
  auto tokens = parse_pointer(pointer.text());
  if (!tokens)
    return does_not_apply(verb + " operation failed to decode " + std::string(member) + ": " +
                          quoted_start(pointer.text()) + " does not start with '/'");
  Place place{.pointer = pointer.text(), .root = tokens->empty(), .parent = {}, .token = {}, .depth = 0};
  if (place.root) return place;
  place.depth = static_cast<int>(tokens->size());
  place.token = std::move(tokens->back());
  tokens->pop_back();
  Value at = target_;
  for (const std::string& token : *tokens) {
    if (at.is_array()) {
      const auto index = parse_array_index(token, at.size());
      at = index ? at.at(*index) : Value();
    } else {
      at = at[token];
    }
  }
  if (at.is_array() || at.is_object()) place.parent = at;
  return place;
}

// The value there; missing for a member that does not exist and for a bad index.
Value JsonPatcher::value_at(const Place& place) const {
  if (place.root) return target_;
  if (place.parent.is_object()) return place.parent[place.token];
  const auto index = parse_array_index(place.token, place.parent.size());
  return index ? place.parent.at(*index) : Value();
}

Outcome JsonPatcher::check_parent(const Place& place, std::string_view what) const {
  if (place.root || place.parent) return {};
  return does_not_apply(std::string(what) + ": \"" + std::string(place.pointer) + "\": missing value");
}

// A place to write a value to, as `add` understands it: a member replaced or appended, an array item inserted.
Result<Value> JsonPatcher::make_room(const Place& place, int value_height) {
  if (place.depth + value_height > schema::kDepthMax)
    return does_not_apply("error in add for path: " + quoted_start(place.pointer) + ": exceeded max depth");
  if (place.root) return target_;
  Value parent = place.parent;
  if (parent.is_object()) {
    const Value member = parent[place.token];
    return member ? member : parent.add_member(place.token);
  }
  if (place.token == "-") return parent.insert(parent.size());
  const auto index = parse_array_index(place.token, parent.size() + 1);
  if (!index)
    return does_not_apply("error in add for path: " + quoted_start(place.pointer) +
                          ": Unable to access invalid index: " + place.token + ": invalid index referenced");
  return parent.insert(*index);
}

// Takes the value out of the tree. Its handle stays good.
Outcome JsonPatcher::detach(const Place& place) {
  if (place.root) {
    target_.set_null();
    return {};
  }
  Value parent = place.parent;
  if (parent.is_object()) {
    if (parent.erase(place.token)) return {};
    return does_not_apply("error in remove for path: " + quoted_start(place.pointer) +
                          ": Unable to remove nonexistent key: " + place.token + ": missing value");
  }
  const auto index = parse_array_index(place.token, parent.size());
  if (index && parent.remove(*index)) return {};
  return does_not_apply("error in remove for path: " + quoted_start(place.pointer) +
                        ": Unable to access invalid index: " + place.token + ": invalid index referenced");
}

Outcome JsonPatcher::add(const Value& operation, const Place& path) {
  const Value value = operation["value"];
  if (value.missing()) return does_not_apply("add operation failed to decode value: missing value");
  if (auto ok = check_parent(path, "add operation does not apply: doc is missing path"); !ok) return ok;
  auto room = make_room(path, height(value));
  if (!room) return fail(room.error());
  room->set(value);
  return {};
}

Outcome JsonPatcher::remove(const Value&, const Place& path) {
  if (auto ok = check_parent(path, "remove operation does not apply: doc is missing path"); !ok) return ok;
  return detach(path);
}

Outcome JsonPatcher::replace(const Value& operation, const Place& path) {
  const Value value = operation["value"];
  if (value.missing()) return does_not_apply("replace operation failed to decode value: missing value");
  if (auto ok = check_parent(path, "replace operation does not apply: doc is missing path"); !ok) return ok;
  Value there = value_at(path);
  if (there.missing() && path.parent.is_array())
    return does_not_apply("replace operation does not apply: doc is missing key: " + std::string(path.pointer) +
                          ": missing value");
  if (path.depth + height(value) > schema::kDepthMax)
    return does_not_apply("error in replace for path: " + quoted_start(path.pointer) + ": exceeded max depth");
  if (there.missing()) there = Value(path.parent).add_member(path.token);
  there.set(value);
  return {};
}

Outcome JsonPatcher::move(const Value& operation, const Place& path) {
  const auto from = locate(operation, "from");
  if (!from) return fail(from.error());
  if (auto ok = check_parent(*from, "move operation does not apply: doc is missing from path"); !ok) return ok;
  Value value = value_at(*from);
  if (value && from->pointer == path.pointer) return {};
  if (from->root || path.pointer.starts_with(std::string(from->pointer) + '/'))
    return does_not_apply("error in move for path: " + quoted_start(path.pointer) +
                          ": a value cannot move into itself");
  if (auto ok = detach(*from); !ok) return ok;
  // Only now: removing may have shifted the items on the way to the destination.
  const auto destination = locate(operation, "path");
  if (!destination) return fail(destination.error());
  if (auto ok = check_parent(*destination, "move operation does not apply: doc is missing destination path"); !ok)
    return ok;
  const int value_height = destination->depth > from->depth ? height(value) : 1;
  auto room = make_room(*destination, value_height);
  if (!room) return fail(room.error());
  room->take(value);
  return {};
}

Outcome JsonPatcher::copy(const Value& operation, const Place& path) {
  const auto from = locate(operation, "from");
  if (!from) return fail(from.error());
  if (auto ok = check_parent(*from, "copy operation does not apply: doc is missing from path"); !ok) return ok;
  const Value value = value_at(*from);
  if (value.missing() && from->parent.is_array())
    return does_not_apply("error in copy for from: " + quoted_start(from->pointer) +
                          ": Unable to access invalid index: " + from->token + ": invalid index referenced");
  if (auto ok = check_parent(path, "copy operation does not apply: doc is missing destination path"); !ok) return ok;
  copied_bytes_ += value.to_json().size();
  if (copied_bytes_ > kCopiedBytesMax)
    return does_not_apply("Unable to complete the copy, the accumulated size increase of copy is " +
                          std::to_string(copied_bytes_) + ", exceeding the limit " + std::to_string(kCopiedBytesMax));
  const schema::Document copied = schema::Document::copy_of(value);  // first: the destination may lie inside the source
  auto room = make_room(path, height(value));
  if (!room) return fail(room.error());
  room->set(copied.root());
  return {};
}

Outcome JsonPatcher::test(const Value& operation, const Place& path) {
  if (operation["value"].missing()) return does_not_apply("test operation failed to decode value: missing value");
  if (auto ok = check_parent(path, "test operation does not apply: is missing path"); !ok) return ok;
  const Value value = value_at(path);
  if (value.missing() && path.parent.is_array())
    return does_not_apply("error in test for path: " + quoted_start(path.pointer) +
                          ": Unable to access invalid index: " + path.token + ": invalid index referenced");
  const Value expected = operation["value"];
  const bool same = value.missing() ? expected.is_null() : value.equals(expected);
  if (same) return {};
  return does_not_apply("testing value " + std::string(path.pointer) + " failed: test failed");
}

std::string_view json_kind(const Value& value) {
  switch (value.kind()) {
    case schema::NodeKind::object:
      return "object";
    case schema::NodeKind::array:
      return "array";
    case schema::NodeKind::string:
      return "string";
    case schema::NodeKind::boolean:
      return "bool";
    case schema::NodeKind::null:
      return "null";
    default:
      return "number";
  }
}

}  // namespace

Outcome apply_json_patch(Value target, const Value& patch) {
  if (!patch.is_array())
    return bad_request("json: cannot unmarshal " + std::string(json_kind(patch)) +
                       " into Go value of type jsonpatch.Patch");
  for (Value operation : patch)
    if (!operation.is_object())
      return bad_request("json: cannot unmarshal " + std::string(json_kind(operation)) +
                         " into Go value of type jsonpatch.Operation");
  if (patch.size() > kOperationsMax)
    return fail(Reason::request_entity_too_large, "The allowed maximum operations in a JSON patch is " +
                                                      std::to_string(kOperationsMax) + ", got " +
                                                      std::to_string(patch.size()));
  JsonPatcher patcher(target);
  for (Value operation : patch)
    if (auto done = patcher.apply(operation); !done) return done;
  return {};
}

}  // namespace sublet::patches
