// compare(): what makes the right value of the left one.
#include <unordered_map>

#include "patches/member_index.h"
#include "patches/merge/item_key.h"
#include "patches/merge/scalar_check.h"
#include "sublet/patches/typed_merge.h"

namespace sublet::patches {
namespace {

using schema::Value;

/// Whether a path itself was removed, changed, added.
struct Marks {
  bool removed = false, modified = false, added = false;
};

class Comparer {
 public:
  explicit Comparer(TypeErrors& errors) : errors_(errors) {}

  Marks values(const Value& left, const Value& right, const MergeType* type, Comparison& below) {
    const TypeChoice of_left = choice_of(type, left), of_right = choice_of(type, right);
    Marks marks;
    bool leaf = false;
    if (right.missing()) {
      leaf = chosen(left, right, of_left, marks, below);
    } else if (left.missing() || of_left == of_right) {
      leaf = chosen(left, right, of_right, marks, below);
    } else {
      chosen(left, right, of_left, marks, below);
      leaf = chosen(left, right, of_right, marks, below);
    }
    if (leaf) return marks;
    marks.added |= left.missing();
    marks.removed |= !left.missing() && right.missing();
    return marks;
  }

 private:
  /// Items of both sides with one key. More than one of a side: they are compared as one thing.
  struct Pair {
    PathElement key;
    std::vector<Value> left = {}, right = {};
  };

  /// True: the value is one thing.
  bool chosen(const Value& left, const Value& right, const TypeChoice& choice, Marks& marks, Comparison& below) {
    if (choice.map) return maps(left, right, *choice.map, marks, below);
    if (choice.scalar != MergeScalar::none) return scalars(left, right, choice.scalar, marks);
    if (choice.list) return lists(left, right, *choice.list, marks, below);
    errors_.push_back({"", "schema error: invalid atom: inlined"});
    return true;
  }

  static bool leaf(const Value& left, const Value& right, Marks& marks) {
    if (left.missing())
      marks.added = true;
    else if (right.missing())
      marks.removed = true;
    else if (!left.equals(right))
      marks.modified = true;
    return true;
  }

  bool scalars(const Value& left, const Value& right, MergeScalar wanted, Marks& marks) {
    const auto of_left = scalar_problem(left, wanted), of_right = scalar_problem(right, wanted);
    if (of_left.empty() || of_right.empty()) return leaf(left, right, marks);
    errors_.push_back({"", "lhs: " + of_left});
    errors_.push_back({"", "rhs: " + of_right});
    return true;
  }

  bool maps(const Value& left, const Value& right, const MergeMap& type, Marks& marks, Comparison& below) {
    const Value old = as_map(left), now = as_map(right);
    // Two that are empty are one thing, so that null and {} differ.
    if (type.atomic || (old.empty() && now.empty())) return leaf(left, right, marks);
    const MemberIndex in_old(old), in_now(now);
    const auto at = [](const Value& member) { return [&member] { return PathElement::field(member.key()); }; };
    for (const Value member : old)
      descend(at(member), member, in_now.find(member.key()), type.type_of(member.key()), below);
    for (const Value member : now)
      if (!in_old.find(member.key())) descend(at(member), Value(), member, type.type_of(member.key()), below);
    settle(below);
    return false;
  }

  bool lists(const Value& left, const Value& right, const MergeList& type, Marks& marks, Comparison& below) {
    const Value old = as_list(left), now = as_list(right);
    if (type.atomic || (old.empty() && now.empty())) return leaf(left, right, marks);
    std::vector<Pair> pairs;
    std::unordered_map<std::string, std::size_t> places;
    gather(old, type, &Pair::left, pairs, places);
    gather(now, type, &Pair::right, pairs, places);
    for (Pair& pair : pairs) items(pair, type, below);
    settle(below);
    return false;
  }

  static void settle(Comparison& below) {
    below.removed.settle();
    below.modified.settle();
    below.added.settle();
  }

  void gather(const Value& list, const MergeList& type, std::vector<Value> Pair::*side, std::vector<Pair>& pairs,
              std::unordered_map<std::string, std::size_t>& places) {
    std::size_t place = 0;
    for (const Value item : list) {
      auto key = item_key(type, item);
      if (key) {
        const auto [known, added] = places.emplace(key->text(), pairs.size());
        if (added) pairs.push_back({std::move(*key)});
        (pairs[known->second].*side).push_back(item);
      } else {
        errors_.push_back({"", "element " + std::to_string(place) + ": " + key.error().message});
      }
      ++place;
    }
  }

  void items(Pair& pair, const MergeList& type, Comparison& below) {
    const auto at = [&pair] { return pair.key; };
    const auto first = [](const std::vector<Value>& side) { return side.empty() ? Value() : side.front(); };
    if (pair.left.size() <= 1 && pair.right.size() <= 1)
      return descend(at, first(pair.left), first(pair.right), type.item, below);
    if (pair.left.size() > 1 && pair.right.size() > 1) {
      if (!same(pair.left, pair.right)) below.modified.attach(std::move(pair.key), true, {});
    } else if (pair.left.size() > 1) {
      if (!pair.right.empty()) descend(at, Value(), pair.right.front(), type.item, below);
      below.removed.attach(std::move(pair.key), true, {});
    } else {
      if (!pair.left.empty()) descend(at, pair.left.front(), Value(), type.item, below);
      below.added.attach(std::move(pair.key), true, {});
    }
  }

  static bool same(const std::vector<Value>& left, const std::vector<Value>& right) {
    if (left.size() != right.size()) return false;
    for (std::size_t i = 0; i < left.size(); ++i)
      if (!left[i].equals(right[i])) return false;
    return true;
  }

  /// `element()` is where both stand; most often nothing differs, and nobody asks.
  template <class MakeElement>
  void descend(const MakeElement& element, const Value& left, const Value& right, const MergeType* type,
               Comparison& above) {
    const std::size_t errors_before = errors_.size();
    Comparison below;
    const Marks marks = values(left, right, type, below);
    for (std::size_t i = errors_before; i < errors_.size(); ++i) {
      std::string path;
      element().append_to(path);
      errors_[i].path.insert(0, path);
    }
    if (marks.removed || !below.removed.empty())
      above.removed.attach(element(), marks.removed, std::move(below.removed));
    if (marks.modified || !below.modified.empty())
      above.modified.attach(element(), marks.modified, std::move(below.modified));
    if (marks.added || !below.added.empty()) above.added.attach(element(), marks.added, std::move(below.added));
  }

  TypeErrors& errors_;
};

}  // namespace

Comparison compare(const Value& left, const Value& right, const MergeType& type, TypeErrors& errors) {
  Comparison comparison;
  Comparer(errors).values(left, right, &type, comparison);
  return comparison;
}

}  // namespace sublet::patches
