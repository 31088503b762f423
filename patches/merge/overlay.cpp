#include "sublet/patches/overlay.h"

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>

#include "patches/merge/item_key.h"
#include "patches/merge/scalar_check.h"
#include "sublet/patches/typed_merge.h"

namespace sublet::patches {

using schema::Value;

namespace {

/// A step from the root to where the walk is; `text` is the element's, as FieldsV1 spells it after the colon.
struct Step {
  const Step* up;
  char prefix;
  std::string_view text;

  bool is_spelled(std::string_view element) const {
    return element.size() == text.size() + 2 && element[0] == prefix && element.substr(2) == text;
  }
};

/// Finds children that are mostly asked for in their own order. Whoever asks in quite another one is sent away.
class Cursor {
 public:
  explicit Cursor(const Value& parent) : parent_(parent), at_(parent.begin()), budget_(64 + 8 * parent.size()) {}

  template <class F>
  Value find(F&& is_it) {
    for (auto child = at_; child != parent_.end(); ++child)
      if (spend() && is_it(*child)) return found(child);
    for (auto child = parent_.begin(); child != at_; ++child)
      if (spend() && is_it(*child)) return found(child);
    return {};
  }
  bool is_spent() const { return budget_ == 0; }

 private:
  bool spend() { return budget_ > 0 && --budget_ > 0; }
  Value found(Value::iterator child) {
    at_ = child;
    ++at_;
    return *child;
  }

  const Value parent_;
  Value::iterator at_;
  std::size_t budget_;
};

/// The keys of a list's items, one after the other.
class Keys {
 public:
  /// False: there is an item without one.
  bool add(const MergeList& list, const Value& item) {
    const std::size_t begin = text_.size();
    if (!append_item_key(text_, list, item)) return false;
    places_.emplace_back(begin, text_.size() - begin);
    return true;
  }
  bool add_all(const MergeList& list, const Value& items) {
    return std::all_of(items.begin(), items.end(), [&](const Value& item) { return add(list, item); });
  }
  std::size_t size() const { return places_.size(); }
  std::string_view operator[](std::size_t i) const {
    return std::string_view(text_).substr(places_[i].first, places_[i].second);
  }
  bool has_twins() const {
    if (size() < 2) return false;
    std::vector<std::size_t> hashes;
    hashes.reserve(size());
    for (std::size_t i = 0; i < size(); ++i) hashes.push_back(std::hash<std::string_view>()((*this)[i]));
    std::ranges::sort(hashes);
    return std::ranges::adjacent_find(hashes) != hashes.end();
  }

 private:
  std::string text_;
  std::vector<std::pair<std::size_t, std::size_t>> places_;
};

const FieldSet::Node* node_named(const FieldSet* set, std::string_view name) {
  if (!set) return nullptr;
  for (const FieldSet::Node& node : set->nodes())
    if (node.element.kind() == PathElement::Kind::field && node.element.text() == name) return &node;
  return nullptr;
}

const FieldSet* below(const FieldSet::Node* node) { return node && !node->below.empty() ? &node->below : nullptr; }

/// Whether a set says anything of the path or of what is below it.
Value node_at(const Value& set, const Step& step) {
  const Value parent = step.up ? node_at(set, *step.up) : set;
  for (const Value child : parent)
    if (step.is_spelled(child.key())) return child;
  return {};
}

}  // namespace

class OverlayWalk {
 public:
  OverlayWalk(const OverlaySets& sets, Overlay& overlay) : sets_(sets), overlay_(overlay) {}

  bool run(const Value& live, const Value& config, const MergeType& type) {
    return value(live, config, &type, {sets_.last, sets_.untracked, sets_.not_ours}, nullptr) != Found::other;
  }

 private:
  /// What of a value the manager's set has: itself, only what is below, neither; `other`: it is no overlay.
  enum class Found : std::uint8_t { itself, below, nothing, other };

  /// The same place in the sets.
  struct Place {
    Value last;
    const FieldSet* untracked = nullptr;
    const FieldSet* not_ours = nullptr;
  };

  Found value(const Value& live, const Value& config, const MergeType* type, const Place& place, const Step* step) {
    const TypeChoice choice = choice_of(type, config);
    if (config.is_object())
      return choice.map && !choice.list && live.is_object() ? map(live, config, *type, place, step) : Found::other;
    if (config.is_array())
      return choice.list && !choice.map && live.is_array() ? list(live, config, *type, place, step) : Found::other;
    if (choice.map || choice.list || choice.scalar == MergeScalar::none || config.is_null()) return Found::other;
    if (!(choice_of(type, live) == choice) || !scalar_problem(config, choice.scalar).empty()) return Found::other;
    return leaf(live, config, place, step);
  }

  /// What is one thing, and has nothing below it in any set.
  Found leaf(const Value& live, const Value& config, const Place& place, const Step* step) {
    if (!step || !place.last.empty() || live.is_null()) return Found::other;
    const bool same = live.equals(config);
    if (!same && std::ranges::any_of(sets_.others, [step](const Value& set) { return bool(node_at(set, *step)); }))
      return Found::other;
    const bool looks_the_same = same && live.kind() == config.kind() && !config.is_object() && !config.is_array();
    if (!looks_the_same) overlay_.edits_.push_back({live, config});
    overlay_.changes_ = overlay_.changes_ || !same;
    return Found::itself;
  }

  Found map(const Value& live, const Value& config, const MergeType& type, const Place& place, const Step* step) {
    if (type.map->atomic)
      return check_type(config, type, Duplicates::refused).empty() ? leaf(live, config, place, step) : Found::other;
    Cursor there(live), before(place.last);
    std::size_t owned = 0;
    for (const Value member : config) {
      const std::string_view key = member.key();
      const Step here{step, 'f', key};
      const Value old = there.find([key](const Value& child) { return child.key() == key; });
      const MergeField* field = type.map->find(key);
      const MergeType* member_type = field ? field->type : type.map->other;
      const auto* untracked = node_named(place.untracked, key);
      const auto* not_ours = node_named(place.not_ours, key);
      if (!old || !member_type || (not_ours && not_ours->member)) return Found::other;
      const Place inner{before.find([&here](const Value& child) { return here.is_spelled(child.key()); }),
                        below(untracked), below(not_ours)};
      const Found found = value(old, member, member_type, inner, &here);
      if (found == Found::other) return found;
      const bool is_member = found == Found::itself || !field || (member.is_object() && member.empty());
      if (!owns(inner.last, is_member && !(untracked && untracked->member), found == Found::below, owned))
        return Found::other;
    }
    if (there.is_spent() || before.is_spent()) return Found::other;
    return all_of_it(place.last, owned);
  }

  Found list(const Value& live, const Value& config, const MergeType& type, const Place& place, const Step* step) {
    const MergeList& list = *type.list;
    if (list.atomic)
      return check_type(config, type, Duplicates::refused).empty() ? leaf(live, config, place, step) : Found::other;
    if (config.empty() || place.untracked || place.not_ours) return Found::other;
    Keys of_live, of_config;
    if (!of_live.add_all(list, live) || !of_config.add_all(list, config) || of_live.has_twins()) return Found::other;
    Cursor before(place.last);
    std::size_t owned = 0, at = 0, i = 0;
    auto old = live.begin();
    for (const Value item : config) {
      const std::string_view key = of_config[i++];
      for (; old != live.end() && of_live[at] != key; ++old) ++at;
      if (old == live.end()) return Found::other;  // it is new, or in another place
      const Step here{step, list.keys.empty() ? 'v' : 'k', key};
      const Place inner{before.find([&here](const Value& child) { return here.is_spelled(child.key()); })};
      const Found found = value(*old, item, list.item, inner, &here);
      if (found == Found::other || !owns(inner.last, true, found == Found::below, owned)) return Found::other;
      ++old, ++at;
    }
    return before.is_spent() ? Found::other : all_of_it(place.last, owned);
  }

  /// Whether the set says just this of an element; counts it.
  static bool owns(const Value& last, bool is_member, bool has_below, std::size_t& owned) {
    if (!is_member && !has_below) return last.missing();
    ++owned;
    return last && is_member == (last.empty() || last.has(kSelfMember));
  }

  /// Whether the set has no element but those that were owned.
  static Found all_of_it(const Value& last, std::size_t owned) {
    if (last.size() != owned + (last.has(kSelfMember) ? 1 : 0)) return Found::other;
    return owned > 0 ? Found::below : Found::nothing;
  }

  const OverlaySets& sets_;
  Overlay& overlay_;
};

std::optional<Overlay> Overlay::of(const Value& live, const Value& config, const MergeType& type,
                                   const OverlaySets& sets) {
  Overlay overlay;
  if (!OverlayWalk(sets, overlay).run(live, config, type)) return std::nullopt;
  return overlay;
}

void Overlay::write() const {
  if (!changes_) return;
  for (const Edit& edit : edits_) Value(edit.target).set(edit.value);
}

namespace {

const MergeType* type_of_element(std::string_view element, const MergeType& type) {
  const bool is_field = element.starts_with("f:");
  if (type.map) return is_field ? type.map->type_of(element.substr(2)) : type.map->other;
  return type.list ? type.list->item : nullptr;
}

bool is_one_thing(const MergeType& type) {
  return type.map ? type.map->atomic : type.scalar == MergeScalar::none && type.list && type.list->atomic;
}

}  // namespace

bool is_reconcilable(const Value& fields_v1, const MergeType& type) {
  if (type.map ? type.map->deduced : type.scalar != MergeScalar::none || !type.list) return false;
  for (const Value node : fields_v1) {
    const bool has_below = node.size() > (node.has(kSelfMember) ? 1U : 0U);
    if (!has_below || node.key() == kSelfMember) continue;
    const MergeType* below = type_of_element(node.key(), type);
    if (below && (is_one_thing(*below) || is_reconcilable(node, *below))) return true;
  }
  return false;
}

}  // namespace sublet::patches
