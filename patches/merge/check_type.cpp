// check_type() and fields_of(): one value against its type.
#include <unordered_set>

#include "patches/go_text.h"
#include "patches/merge/item_key.h"
#include "patches/merge/scalar_check.h"
#include "sublet/patches/typed_merge.h"

namespace sublet::patches {
namespace {

using schema::Value;

/// Pointers to structs that hold the value are what upstream's messages show.
std::string boxed(const Value& value) { return "&{" + go_text(value) + "}"; }

class TypeChecker {
 public:
  explicit TypeChecker(Duplicates duplicates) : duplicates_(duplicates) {}

  TypeErrors value(const Value& value, const MergeType* type) {
    const TypeChoice choice = choice_of(type, value);
    if (choice.map) return map(value, *choice.map);
    if (choice.scalar != MergeScalar::none) return scalar(value, choice.scalar);
    if (choice.list) return list(value, *choice.list);
    return {{"", "schema error: invalid atom: inlined"}};
  }

 private:
  static TypeErrors scalar(const Value& value, MergeScalar wanted) {
    auto problem = scalar_problem(value, wanted);
    if (problem.empty()) return {};
    return {{"", std::move(problem)}};
  }

  TypeErrors map(const Value& value, const MergeMap& type) {
    if (value.is_null() || value.missing()) return {};
    if (!value.is_object()) return {{"", "expected map, got " + boxed(value)}};
    TypeErrors errors;
    for (const Value member : value) {
      const MergeType* member_type = type.type_of(member.key());
      if (!member_type) {
        errors.push_back({"." + std::string(member.key()), "field not declared in schema"});
        return errors;
      }
      add(errors, this->value(member, member_type), PathElement::field(member.key()));
    }
    return errors;
  }

  TypeErrors list(const Value& value, const MergeList& type) {
    if (value.is_null() || value.missing()) return {};
    if (!value.is_array()) return {{"", "expected list, got " + boxed(value)}};
    TypeErrors errors;
    std::unordered_set<std::string> seen;
    std::int64_t place = 0;
    for (const Value item : value) {
      auto key = type.atomic ? PathElement::index(place) : item_key(type, item);
      if (!key) {
        errors.push_back({"", "element " + std::to_string(place) + ": " + key.error().message});
        return errors;
      }
      if (!type.atomic && !seen.insert(key->text()).second && duplicates_ == Duplicates::refused) {
        std::string path;
        key->append_to(path);
        errors.push_back({"", "duplicate entries for key " + path});
      }
      add(errors, this->value(item, type.item), *key);
      ++place;
    }
    return errors;
  }

  static void add(TypeErrors& errors, TypeErrors more, const PathElement& element) {
    if (more.empty()) return;
    std::string prefix;
    element.append_to(prefix);
    for (TypeError& error : more) errors.push_back({prefix + error.path, std::move(error.message)});
  }

  const Duplicates duplicates_;
};

class Collector {
 public:
  /// What the value sets goes into `below`; true: it is itself set.
  static bool value(const Value& value, const MergeType* type, FieldSet& below) {
    const TypeChoice choice = choice_of(type, value);
    if (choice.map) return map(value, *choice.map, below);
    if (choice.scalar != MergeScalar::none) return true;
    return choice.list && list(value, *choice.list, below);
  }

 private:
  static bool map(const Value& value, const MergeMap& type, FieldSet& below) {
    if (type.atomic) return true;
    for (const Value member : as_map(value)) {
      const MergeField* field = type.find(member.key());
      FieldSet inner;
      bool set = Collector::value(member, field ? field->type : type.other, inner);
      set = set || !field || member.is_null() || (member.is_object() && member.empty());
      below.attach(PathElement::field(member.key()), set, std::move(inner));
    }
    below.settle();
    return false;
  }

  static bool list(const Value& value, const MergeList& type, FieldSet& below) {
    if (type.atomic) return true;
    std::unordered_set<std::string> seen, twice;
    for (const Value item : as_list(value))
      if (auto key = item_key(type, item); key && !seen.insert(key->text()).second) twice.insert(key->text());
    for (const Value item : as_list(value)) {
      auto key = item_key(type, item);
      if (!key) continue;
      FieldSet inner;
      if (!twice.contains(key->text())) Collector::value(item, type.item, inner);
      below.attach(std::move(*key), true, std::move(inner));
    }
    below.settle();
    return false;
  }
};

}  // namespace

std::string scalar_problem(const Value& value, MergeScalar wanted) {
  if (value.missing() || value.is_null()) return {};
  switch (wanted) {
    case MergeScalar::numeric:
      if (value.is_number()) return {};
      return "expected numeric (int or float), got " + std::string(go_type(value));
    case MergeScalar::string:
      if (value.is_string()) return {};
      return "expected string, got &value.valueUnstructured{Value:" + go_syntax(value) + "}";
    case MergeScalar::boolean:
      if (value.is_boolean()) return {};
      return "expected boolean, got " + boxed(value);
    default:
      if (!value.is_object() && !value.is_array()) return {};
      return "expected any scalar, got " + boxed(value);
  }
}

std::string text_of(const TypeErrors& errors) {
  const auto line = [](const TypeError& error) {
    return error.path.empty() ? error.message : error.path + ": " + error.message;
  };
  if (errors.size() == 1) return line(errors.front());
  std::string text = "errors:";
  for (const TypeError& error : errors) text.append("\n  ").append(line(error));
  return text;
}

TypeErrors check_type(const Value& value, const MergeType& type, Duplicates duplicates) {
  return TypeChecker(duplicates).value(value, &type);
}

FieldSet fields_of(const Value& value, const MergeType& type) {
  FieldSet set;
  Collector::value(value, &type, set);
  return set;
}

}  // namespace sublet::patches
