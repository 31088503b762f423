// Strategic merge patch: merge patch that knows, from the schema's table, which lists merge and by what key.
//
// Semantics as in k8s.io/apimachinery's strategicpatch with the options of the API server. Two differences, both where
// upstream fails without need: directives inside a value that the target lacks are dropped with their meaning "nothing
// to merge with" instead of staying as unknown fields, and malformed patches that upstream answers with 500 or a crash
// are 400 here.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "patches/go_text.h"
#include "patches/member_index.h"
#include "sublet/patches/patch.h"

namespace sublet::patches {

using schema::Type;
using schema::Value;

namespace {

constexpr std::string_view kDirective = "$patch";
constexpr std::string_view kRetainKeys = "$retainKeys";
constexpr std::string_view kSetElementOrder = "$setElementOrder";
constexpr std::string_view kDeleteFromPrimitiveList = "$deleteFromPrimitiveList";

constexpr const char* kBadRetainKeys = "invalid patch format of retainKeys";
constexpr const char* kBadPrimitiveList = "invalid patch format of primitive list";
constexpr const char* kBadElementOrder = "invalid patch format of setElementOrder list";

bool is_directive(std::string_view key) {
  return key == kDirective || key == kRetainKeys || key.starts_with(kSetElementOrder) ||
         key.starts_with(kDeleteFromPrimitiveList);
}

// What the table says about a member.
struct MemberFacts {
  Type type;  // of the member, or of its items; missing for scalars and free-form values
  bool merge = false;
  bool replace = false;
  std::string_view merge_key;
};

MemberFacts facts_of(Type type, std::string_view key) {
  if (type.missing()) return {};
  const auto field = type.field(key);
  if (!field) return {};
  using schema::PatchStrategy;
  const PatchStrategy strategy = field->patch_strategy();
  MemberFacts facts;
  if (field->scalar() == schema::Scalar::message && !field->map()) facts.type = field->type();
  facts.merge = strategy == PatchStrategy::merge || strategy == PatchStrategy::merge_retain_keys;
  facts.replace = strategy == PatchStrategy::replace;
  facts.merge_key = field->patch_merge_key();
  return facts;
}

bool is_scalar(const Value& value) { return !value.is_object() && !value.is_array() && !value.is_null(); }

// A text that is equal for equal scalars only; kinds do not mix, as in Go's interface comparison.
std::string scalar_key(const Value& value) {
  std::string key(1, static_cast<char>('0' + static_cast<int>(value.kind())));
  value.append_json(key);
  return key;
}

tl::unexpected<Status> no_merge_key(const Value& item, std::string_view merge_key) {
  return bad_request("map: " + go_text(item) + " does not contain declared merge key: " + std::string(merge_key));
}

tl::unexpected<Status> unknown_directive(const Value& item) {
  return bad_request("unknown patch type: " + go_text(item[kDirective]) + " in map: " + go_text(item));
}

tl::unexpected<Status> expected_list(const Value& value) {
  return bad_request("expected a []interface {}, but received a " + std::string(go_type(value)));
}

// The identity of a list item: its merge key's value, or the scalar itself.
Result<std::string> strategic_item_key(const Value& item, std::string_view merge_key) {
  if (merge_key.empty() || !item.is_object()) {
    if (!is_scalar(item))
      return bad_request("list item is neither a scalar nor has its list a merge key: " + go_text(item));
    return scalar_key(item);
  }
  const Value value = item[merge_key];
  if (value.missing() || value.is_null()) return no_merge_key(item, merge_key);
  if (!is_scalar(value))
    return bad_request("merge key " + std::string(merge_key) + " is not a scalar in " + go_text(item));
  return scalar_key(value);
}

// Copies a value that meets nothing in the target: without directives, without nulls, without items marked by $patch.
void copy_plain(Value target, const Value& source) {
  if (source.is_object()) {
    target.make_object();
    for (Value member : source) {
      if (member.is_null() || is_directive(member.key()) || member.has(kDirective)) continue;
      copy_plain(target.add_member(member.key()), member);
    }
  } else if (source.is_array()) {
    target.make_array();
    for (Value item : source) {
      if (item.has(kDirective)) continue;
      copy_plain(target.push(false), item);
    }
  } else {
    target.set(source);
  }
}

// All items must be of one kind, and no lists.
Outcome check_item_kinds(const Value& a, const Value& b) {
  Value first;
  for (const Value& list : {a, b})
    for (Value item : list) {
      if (item.is_array()) return fail(Reason::invalid, "lists of lists are not supported");
      if (first.missing()) first = item;
      if (item.is_null() || item.kind() != first.kind())
        return bad_request("list element types are not identical: " + go_text(a) + go_text(b));
    }
  return {};
}

using Order = std::unordered_map<std::string, std::size_t>;  // identity -> first index

Result<Order> order_of(const Value& list, std::string_view merge_key) {
  Order order;
  std::size_t index = 0;
  for (Value item : list) {
    auto key = strategic_item_key(item, merge_key);
    if (!key) return fail(key.error());
    order.emplace(std::move(*key), index++);
  }
  return order;
}

struct Item {
  Value value;
  std::size_t wanted = 0;                  // index in the wanted order
  std::size_t server = std::string::npos;  // index in the list before the patch; npos: new
};

// Items of `wanted` in that order, the others in theirs; interleaved so that an item that stood before another one
// stays before it where both orders allow.
Outcome order_items(Value list, const Order& wanted, const Order& server, std::string_view merge_key) {
  std::vector<Item> named;
  std::vector<Item> others;
  for (Value value : list) {
    auto key = strategic_item_key(value, merge_key);
    if (!key) return fail(key.error());
    const auto in_wanted = wanted.find(*key);
    const auto in_server = server.find(*key);
    Item item{.value = value};
    if (in_server != server.end()) item.server = in_server->second;
    if (in_wanted != wanted.end()) item.wanted = in_wanted->second;
    (in_wanted != wanted.end() ? named : others).push_back(item);
  }
  std::stable_sort(named.begin(), named.end(), [](const Item& a, const Item& b) { return a.wanted < b.wanted; });
  std::stable_sort(others.begin(), others.end(), [](const Item& a, const Item& b) { return a.server < b.server; });
  std::vector<Value> ordered;
  ordered.reserve(list.size());
  auto other = others.begin();
  for (const Item& item : named) {
    while (other != others.end() && item.server != std::string::npos && other->server < item.server)
      ordered.push_back((other++)->value);
    ordered.push_back(item.value);
  }
  for (; other != others.end(); ++other) ordered.push_back(other->value);
  list.reorder(ordered);
  return {};
}

class StrategicMerger {
 public:
  Outcome merge_object(Value target, const Value& patch, Type type);

 private:
  Outcome apply_directive(Value target, const Value& patch);
  Outcome retain_keys(Value target, const Value& patch);
  Outcome merge_ordered_lists(Value target, const Value& patch, Type type, std::unordered_set<std::string_view>& done);
  Outcome merge_ordered_list(Value target, const Value& patch, const Value& order, std::string_view key, Type type);
  Outcome merge_members(Value target, const Value& patch, Type type, const std::unordered_set<std::string_view>& done);
  Outcome merge_member(Value member, const Value& change, const MemberFacts& facts);
  Outcome delete_scalars(Value target, const Value& change);
  // `server` becomes the order that the list's items are then held to have had before the patch.
  Outcome merge_list(Value list, const Value& change, const MemberFacts& facts, Order& server);
  Outcome merge_list_items(Value list, const Value& change, const MemberFacts& facts, Order& server);
  Outcome merge_scalars(Value list, const Value& change);
  Outcome merge_objects(Value list, const Value& change, const MemberFacts& facts, Order& server);
};

Outcome StrategicMerger::merge_object(Value target, const Value& patch, Type type) {
  if (patch.has(kDirective)) return apply_directive(target, patch);
  if (auto ok = retain_keys(target, patch); !ok) return ok;
  std::unordered_set<std::string_view> done;
  if (auto ok = merge_ordered_lists(target, patch, type, done); !ok) return ok;
  return merge_members(target, patch, type, done);
}

Outcome StrategicMerger::apply_directive(Value target, const Value& patch) {
  const std::string_view directive = patch[kDirective].text();
  if (directive != "replace" && directive != "delete") return unknown_directive(patch);
  target.make_object();
  if (directive == "delete") return {};
  for (Value member : patch)
    if (!member.is_null() && !is_directive(member.key()) && !member.has(kDirective))
      copy_plain(target.add_member(member.key()), member);
  return {};
}

Outcome StrategicMerger::retain_keys(Value target, const Value& patch) {
  const Value keys = patch[kRetainKeys];
  if (keys.missing()) return {};
  if (!keys.is_array()) return bad_request(kBadRetainKeys);
  std::unordered_set<std::string_view> kept;
  for (Value key : keys) {
    if (!key.is_string()) return bad_request(kBadRetainKeys);
    kept.insert(key.text());
  }
  for (Value member : patch)
    if (!member.is_null() && !is_directive(member.key()) && !kept.contains(member.key()))
      return bad_request(kBadRetainKeys);
  target.retain([&](const Value& member) { return kept.contains(member.key()); });
  return {};
}

// The name of the list that a directive such as "$setElementOrder/containers" speaks of; empty: malformed.
std::string_view directed_list(std::string_view key, std::string_view prefix) {
  if (key.size() <= prefix.size() || key[prefix.size()] != '/') return {};
  return key.substr(prefix.size() + 1);
}

Outcome StrategicMerger::merge_ordered_lists(Value target, const Value& patch, Type type,
                                             std::unordered_set<std::string_view>& done) {
  for (Value order : patch) {
    if (!order.key().starts_with(kSetElementOrder)) continue;
    if (!order.is_array()) return expected_list(order);
    const std::string_view key = directed_list(order.key(), kSetElementOrder);
    if (key.empty()) return bad_request(kBadElementOrder);
    if (auto ok = merge_ordered_list(target, patch, order, key, type); !ok) return ok;
    done.insert(key);
  }
  return {};
}

// The items of the patch list must come in the order that $setElementOrder names.
Outcome check_against_order(const Value& change, const Value& order, std::string_view merge_key) {
  if (order.empty() || change.empty()) return {};
  auto wanted = order.begin();
  for (Value item : change) {
    if (item.has(kDirective)) continue;
    auto key = strategic_item_key(item, merge_key);
    if (!key) return fail(key.error());
    for (;; ++wanted) {
      if (wanted == order.end())
        return bad_request("The order in patch list:\n" + go_text(change) +
                           "\n doesn't match $setElementOrder list:\n" + go_text(order) + "\n");
      auto wanted_key = strategic_item_key(*wanted, merge_key);
      if (!wanted_key) return fail(wanted_key.error());
      if (*wanted_key == *key) break;
    }
    ++wanted;
  }
  return {};
}

Outcome StrategicMerger::merge_ordered_list(Value target, const Value& patch, const Value& order, std::string_view key,
                                            Type type) {
  Value list = target[key];
  const Value change = patch[key];
  if (list && !list.is_array()) return expected_list(list);
  if (change && !change.is_array()) return expected_list(change);
  if (list.missing() && change.missing()) return {};
  const MemberFacts facts = facts_of(type, key);
  if (auto ok = check_item_kinds(list, change); !ok) return ok;
  if (auto ok = check_against_order(change, order, facts.merge_key); !ok) return ok;
  auto server = order_of(list, facts.merge_key);
  if (!server) return fail(server.error());
  if (list.missing()) {
    list = target.add_member(key);
    copy_plain(list, change);
  } else if (change) {
    if (auto ok = merge_list(list, change, facts, *server); !ok) return ok;
  }
  const auto wanted = order_of(order, facts.merge_key);
  if (!wanted) return fail(wanted.error());
  return order_items(list, *wanted, *server, facts.merge_key);
}

Outcome StrategicMerger::merge_members(Value target, const Value& patch, Type type,
                                       const std::unordered_set<std::string_view>& done) {
  MemberIndex members(target);
  std::unordered_set<std::string_view> removed;
  for (Value change : patch) {
    const std::string_view key = change.key();
    if (key == kRetainKeys || key.starts_with(kSetElementOrder) || done.contains(key)) continue;
    if (key.starts_with(kDeleteFromPrimitiveList)) {
      const std::string_view list = directed_list(key, kDeleteFromPrimitiveList);
      if (list.empty()) return bad_request(kBadPrimitiveList);
      if (auto ok = delete_scalars(members.find(list), change); !ok) return ok;
      continue;
    }
    Value member = members.find(key);
    if (change.is_null()) {
      if (member) removed.insert(member.key());
      continue;
    }
    if (member.missing()) {
      if (!change.has(kDirective)) copy_plain(members.add(key), change);
      continue;
    }
    if (member.kind() != change.kind() && change.has(kDirective)) {
      removed.insert(member.key());
      continue;
    }
    if (auto ok = merge_member(member, change, facts_of(type, key)); !ok) return ok;
  }
  if (!removed.empty()) target.retain([&](const Value& member) { return !removed.contains(member.key()); });
  return {};
}

Outcome StrategicMerger::merge_member(Value member, const Value& change, const MemberFacts& facts) {
  if (member.is_object() && change.is_object() && !facts.replace) return merge_object(member, change, facts.type);
  if (member.is_array() && change.is_array()) {
    Order server;
    return merge_list(member, change, facts, server);
  }
  copy_plain(member, change);
  return {};
}

Outcome StrategicMerger::delete_scalars(Value target, const Value& change) {
  if (!target.is_array() || !change.is_array()) return {};
  std::unordered_set<std::string> gone;
  for (Value item : change) {
    if (!is_scalar(item)) return bad_request(kBadPrimitiveList);
    gone.insert(scalar_key(item));
  }
  if (auto ok = check_item_kinds(target, change); !ok) return ok;
  target.retain([&](const Value& item) { return !gone.contains(scalar_key(item)); });
  return {};
}

Outcome StrategicMerger::merge_list(Value list, const Value& change, const MemberFacts& facts, Order& server) {
  if (!facts.merge) {
    copy_plain(list, change);
    return {};
  }
  if (list.empty() && change.empty()) return {};
  if (auto ok = check_item_kinds(list, change); !ok) return ok;
  return merge_list_items(list, change, facts, server);
}

Outcome StrategicMerger::merge_list_items(Value list, const Value& change, const MemberFacts& facts, Order& server) {
  const Value sample = list.empty() ? change.at(0) : list.at(0);
  if (!sample.is_object()) return merge_scalars(list, change);
  if (facts.merge_key.empty()) return bad_request("cannot merge lists without merge key for struct");
  return merge_objects(list, change, facts, server);
}

Outcome StrategicMerger::merge_scalars(Value list, const Value& change) {
  const auto server = order_of(list, {});
  if (!server) return fail(server.error());
  std::unordered_set<std::string> seen;
  list.retain([&](const Value& item) { return seen.insert(scalar_key(item)).second; });
  for (Value item : change)
    if (seen.insert(scalar_key(item)).second) list.push(item);
  const auto wanted = order_of(change, {});
  if (!wanted) return fail(wanted.error());
  return order_items(list, *wanted, *server, {});
}

// The items of a patched list by what their $patch says.
struct ItemsByDirective {
  std::vector<Value> plain;
  std::unordered_set<std::string> deleted;  // keys
  bool replace = false;
};

Result<ItemsByDirective> sort_by_directive(const Value& change, std::string_view merge_key) {
  ItemsByDirective sorted;
  for (Value item : change) {
    const Value directive = item[kDirective];
    if (directive.missing()) {
      sorted.plain.push_back(item);
    } else if (directive.text() == "delete") {
      auto key = strategic_item_key(item, merge_key);
      if (!key) return fail(key.error());
      sorted.deleted.insert(std::move(*key));
    } else if (directive.text() == "replace") {
      sorted.replace = true;
    } else if (directive.text() == "merge") {
      return bad_request("merging lists cannot yet be specified in the patch");
    } else {
      return unknown_directive(item);
    }
  }
  return sorted;
}

Outcome StrategicMerger::merge_objects(Value list, const Value& change, const MemberFacts& facts, Order& server) {
  const auto sorted = sort_by_directive(change, facts.merge_key);
  if (!sorted) return fail(sorted.error());
  if (sorted->replace) {
    list.clear();
    for (const Value& item : sorted->plain) copy_plain(list.push(false), item);
    return order_of(list, facts.merge_key).map([](const Order&) {});
  }
  const std::size_t size_before = list.size();
  std::unordered_map<std::string, Value> by_key;
  Order kept;
  std::vector<bool> keep;
  for (Value item : list) {
    auto key = strategic_item_key(item, facts.merge_key);
    if (!key) return fail(key.error());
    keep.push_back(!sorted->deleted.contains(*key));
    if (!keep.back()) continue;
    kept.emplace(*key, kept.size());
    by_key.emplace(std::move(*key), item);
  }
  std::size_t index = 0;
  list.retain([&](const Value&) { return keep[index++]; });
  // Upstream deletes and appends in the array that it reads the old order from: as many new items as there were deleted
  // ones count as old for $setElementOrder. Clients see that order, so it is kept.
  server = kept;
  Order wanted;
  for (const Value& item : sorted->plain) {
    auto key = strategic_item_key(item, facts.merge_key);
    if (!key) return fail(key.error());
    wanted.emplace(*key, wanted.size());
    const auto found = by_key.find(*key);
    if (found != by_key.end()) {
      if (auto ok = merge_object(found->second, item, facts.type); !ok) return ok;
      continue;
    }
    Value added = list.push(false);
    copy_plain(added, item);
    if (server.size() < size_before) server.emplace(*key, server.size());
    by_key.emplace(std::move(*key), added);
  }
  return order_items(list, wanted, kept, facts.merge_key);
}

}  // namespace

Outcome apply_strategic_merge(Value target, const Value& patch, Type type) {
  if (!patch.is_object())
    return bad_request("json: cannot unmarshal " + std::string(patch.is_array() ? "array" : "scalar") +
                       " into Go value of type map[string]interface {}");
  if (!target.is_object()) target.make_object();
  return StrategicMerger().merge_object(target, patch, type);
}

}  // namespace sublet::patches
