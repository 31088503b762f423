// merge(): one value laid over another.
#include <unordered_map>
#include <unordered_set>

#include "patches/member_index.h"
#include "patches/merge/item_key.h"
#include "patches/merge/scalar_check.h"
#include "sublet/patches/typed_merge.h"

namespace sublet::patches {
namespace {

using schema::Document;
using schema::Value;

/// The items of one side in their order, each with its key; and the item of each key (null when there are several).
struct Items {
  std::vector<PathElement> keys;
  std::vector<Value> values;
  std::unordered_map<std::string, Value> by_key;

  bool has(const PathElement& key) const { return by_key.contains(key.text()); }
  Value find(const PathElement& key) const {
    const auto found = by_key.find(key.text());
    return found == by_key.end() ? Value() : found->second;
  }
};

class Merger {
 public:
  explicit Merger(TypeErrors& errors) : errors_(errors) {}

  /// False: there is nothing to write, and `out` is as it was.
  bool values(const Value& base, const Value& over, const MergeType* type, Value out) {
    const TypeChoice choice = over.missing() ? choice_of(type, base) : choice_of(type, over);
    if (choice.map) return maps(base, over, *choice.map, out);
    if (choice.scalar != MergeScalar::none) return scalars(base, over, choice.scalar, out);
    if (choice.list) return lists(base, over, *choice.list, out);
    errors_.push_back({"", "schema error: invalid atom: inlined"});
    return false;
  }

 private:
  static bool leaf(const Value& base, const Value& over, Value out) {
    out.set(over.missing() ? base : over);
    return true;
  }

  bool scalars(const Value& base, const Value& over, MergeScalar wanted, Value out) {
    const auto of_base = scalar_problem(base, wanted), of_over = scalar_problem(over, wanted);
    if (of_base.empty() || of_over.empty()) return leaf(base, over, out);
    errors_.push_back({"", "lhs: " + of_base});
    errors_.push_back({"", "rhs: " + of_over});
    return false;
  }

  bool maps(const Value& base, const Value& over, const MergeMap& type, Value out) {
    const Value old = as_map(base), now = as_map(over);
    // Two that are empty are one thing, so that null and {} differ.
    if (type.atomic || (old.empty() && now.empty())) return leaf(base, over, out);
    out.make_object();
    const MemberIndex in_old(old), in_now(now);
    for (const Value member : old) add_member(member, in_now.find(member.key()), member.key(), type, out);
    for (const Value member : now)
      if (!in_old.find(member.key())) add_member(Value(), member, member.key(), type, out);
    return !out.empty();
  }

  void add_member(const Value& base, const Value& over, std::string_view key, const MergeMap& type, Value out) {
    Value member = out.add_member(key);
    if (!descend(PathElement::field(key), base, over, type.type_of(key), member)) out.erase(key);
  }

  bool descend(const PathElement& element, const Value& base, const Value& over, const MergeType* type, Value out) {
    const std::size_t errors_before = errors_.size();
    const bool made = values(base, over, type, out);
    for (std::size_t i = errors_before; i < errors_.size(); ++i) {
      std::string path;
      element.append_to(path);
      errors_[i].path.insert(0, path);
    }
    return made;
  }

  Items items_of(const Value& list, const MergeList& type, Duplicates duplicates) {
    Items items;
    std::size_t place = 0;
    for (const Value item : list) {
      auto key = item_key(type, item);
      if (!key) {
        errors_.push_back({"", "element " + std::to_string(place++) + ": " + key.error().message});
        continue;
      }
      ++place;
      const auto [known, added] = items.by_key.emplace(key->text(), item);
      if (!added && duplicates == Duplicates::refused) {
        std::string path;
        key->append_to(path);
        errors_.push_back({"", "duplicate entries for key " + path});
        continue;
      }
      if (!added) known->second = null_.root();  // which of them would be merged cannot be said
      items.keys.push_back(std::move(*key));
      items.values.push_back(item);
    }
    return items;
  }

  bool lists(const Value& base, const Value& over, const MergeList& type, Value out) {
    const Value old = as_list(base), now = as_list(over);
    if (type.atomic || (old.empty() && now.empty())) return leaf(base, over, out);
    const std::size_t errors_before = errors_.size();
    const Items right = items_of(now, type, Duplicates::refused);
    const Items left = items_of(old, type, Duplicates::allowed);
    if (errors_.size() != errors_before) return false;
    out.make_array();
    ListMerge{*this, type, left, right, out}.run();
    return !out.empty();
  }

  /// Upstream's walk over both lists at once: what only `left` has stays in its place, what both have comes in the
  /// order of `right`.
  struct ListMerge {
    Merger& merger;
    const MergeList& type;
    const Items& left;
    const Items& right;
    Value out;
    std::vector<const PathElement*> shared = {};  // of right, that left has too
    std::size_t next_shared = 0;
    std::unordered_set<std::string_view> merged = {};
    std::size_t l = 0, r = 0;

    const PathElement* wanted() const { return next_shared < shared.size() ? shared[next_shared] : nullptr; }

    void run() {
      for (const PathElement& key : right.keys)
        if (left.has(key)) shared.push_back(&key);
      while (l < left.keys.size() || r < right.keys.size())
        if (!step_both() && !step_left()) step_right();
    }

    void add(const PathElement& key, const Value& base, const Value& over) {
      Value item = out.push(false);
      if (!merger.descend(key, base, over, type.item, item)) out.remove(out.size() - 1);
    }

    void take_right(const PathElement& key) {
      merged.insert(key.text());
      add(key, left.find(key), right.find(key));
    }

    bool step_both() {
      if (l >= left.keys.size() || r >= right.keys.size()) return false;
      const PathElement& key = left.keys[l];
      if (key == right.keys[r]) {
        take_right(key);
        ++l, ++r, ++next_shared;
        return true;
      }
      if (!right.has(key) || !wanted() || *wanted() == key) return false;
      ++l;  // both have it, but another one comes first
      return true;
    }

    bool step_left() {
      if (l >= left.keys.size()) return false;
      const PathElement& key = left.keys[l];
      if (!right.has(key)) {
        add(key, left.values[l], Value());
        ++l;
        return true;
      }
      if (merged.contains(key.text())) ++l;
      return false;
    }

    void step_right() {
      if (r >= right.keys.size()) return;
      const PathElement& key = right.keys[r];
      take_right(key);
      ++r;
      if (wanted() && *wanted() == key) ++next_shared;
    }
  };

  TypeErrors& errors_;
  const Document null_;  // for what cannot be told apart
};

}  // namespace

Document merge(const Value& base, const Value& over, const MergeType& type, TypeErrors& errors) {
  Document out;
  Merger(errors).values(base, over, &type, out.root());
  return out;
}

}  // namespace sublet::patches
