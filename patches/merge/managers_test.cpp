// What any history of applies must keep, over random configurations of real kinds. SUBLET_APPLIES: how many of them
// (1,000 when it is not said).
#include "sublet/patches/managers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <iostream>
#include <random>
#include <set>

#include "patches/merge/item_key.h"
#include "sublet/schema/registry.h"

namespace sublet::patches {
namespace {

using schema::Document;
using schema::Value;
using testing::ElementsAre;

class OneVersion final : public Versions {
 public:
  Result<TypedObject> convert(const TypedObject& object, const std::string& version) const override {
    if (version == object.version) return object;
    return fail(Reason::not_found, "no version " + version);
  }
  void filter(FieldSet&, const std::string&) const override {}
};

const MergeType& merge_type(std::string_view group, std::string_view kind) {
  const auto& kinds = *schema::Registry::builtin();
  return kinds.part<MergeTypes>().of(kinds.find_kind(group, "v1", kind));
}

/// Random values of a type, few enough of each sort that configurations meet.
class Maker {
 public:
  explicit Maker(std::uint32_t seed) : random_(seed) {}

  std::size_t pick(std::size_t below) { return std::uniform_int_distribution<std::size_t>(0, below - 1)(random_); }

  void fill(Value out, const MergeType& type, int depth) {
    if (type.map) return fill_map(out, *type.map, depth);
    if (type.list && type.scalar == MergeScalar::none) return fill_list(out, *type.list, depth);
    fill_scalar(out, type.scalar);
  }

 private:
  void fill_scalar(Value out, MergeScalar scalar) {
    constexpr std::array kTexts{"a", "b", "c"};
    if (scalar == MergeScalar::numeric)
      out.set(static_cast<std::int64_t>(pick(3)));
    else if (scalar == MergeScalar::boolean)
      out.set(pick(2) == 1);
    else
      out.set(kTexts[pick(kTexts.size())]);
  }

  void fill_map(Value out, const MergeMap& type, int depth) {
    constexpr std::array kNames{"x", "y", "z"};
    out.make_object();
    if (depth == 0) return;
    for (std::size_t count = pick(4); count > 0; --count) {
      const bool open = type.fields.empty() || (type.other && pick(2) == 0);
      if (open && !type.other) return;
      const MergeField* field = open ? nullptr : &type.fields[pick(std::min<std::size_t>(type.fields.size(), 12))];
      const std::string name = field ? field->name : kNames[pick(kNames.size())];
      if (name == "kind") continue;  // nobody's here: see State
      if (out.has(name)) continue;
      Value member = out.put(name, false);
      fill(member, field ? *field->type : *type.other, depth - 1);
      // What is empty may come back as null or not at all; Go's types, which upstream has between applies, see no
      // difference.
      if ((member.is_object() || member.is_array()) && member.empty()) out.erase(name);
    }
  }

  void fill_list(Value out, const MergeList& type, int depth) {
    out.make_array();
    std::set<std::string> seen;
    for (std::size_t count = depth == 0 ? 0 : pick(4); count > 0; --count) {
      Value item = out.push(false);
      fill(item, *type.item, depth - 1);
      for (const auto& key : type.keys)
        if (const MergeField* field = type.item->map->find(key)) fill_scalar(item.put(key, false), field->type->scalar);
      if (type.atomic) continue;
      const auto key = item_key(type, item);
      if (!key || !seen.insert(key->text()).second) out.remove(out.size() - 1);
    }
  }

  std::mt19937 random_;
};

/// Whether everything that `config` says is so in `object`.
bool contains(const Value& object, const Value& config, const MergeType* type) {
  const TypeChoice choice = choice_of(type, config);
  if (choice.map && !choice.map->atomic && config.is_object()) {
    for (const Value member : config)
      if (!contains(object[member.key()], member, choice.map->type_of(member.key()))) return false;
    return bool(object);
  }
  if (choice.list && !choice.map && !choice.list->atomic && config.is_array()) {
    for (const Value item : config) {
      bool found = false;
      for (const Value other : object)
        found = found || (item_key(*choice.list, other)->text() == item_key(*choice.list, item)->text() &&
                          contains(other, item, choice.list->item));
      if (!found) return false;
    }
    return bool(object);
  }
  return object.equals(config);
}

bool same(const Value& left, const Value& right, const MergeType& type) {
  TypeErrors errors;
  const Comparison comparison = compare(left, right, type, errors);
  return errors.empty() && comparison.removed.empty() && comparison.modified.empty() && comparison.added.empty();
}

/// An object and who owns what of it. It has something that nobody owns, so that it is never quite empty.
struct State {
  State() { object->root().put("kind", "Any"); }
  std::shared_ptr<Document> object = std::make_shared<Document>(Document::object());
  ManagedSets managers;

  TypedObject typed(const MergeType& type) const { return {object->root(), &type, "v1", object}; }
};

/// False: a conflict, and nothing has changed.
bool apply(State& state, const Document& config, const std::string& manager, bool force, const MergeType& type) {
  const TypedObject wanted{config.root(), &type, "v1", nullptr};
  auto applied = apply_managed(OneVersion(), state.typed(type), wanted, state.managers, manager, force);
  if (!applied) {
    EXPECT_TRUE(applied.error().message.empty()) << applied.error().message << "\n" << config.to_json();
    return false;
  }
  if (applied->object) state.object = std::make_shared<Document>(Document::copy_of(applied->object->value));
  state.managers = std::move(applied->managers);
  return true;
}

std::size_t applies_wanted() {
  const char* said = std::getenv("SUBLET_APPLIES");
  return said ? std::strtoul(said, nullptr, 10) : 1000;
}

class History {
 public:
  History(std::uint32_t seed, const MergeType& type) : maker_(seed), type_(type) {}

  /// False: something did not hold, and is said.
  bool step() {
    constexpr std::array kManagers{"a", "b", "c"};
    const std::string manager = kManagers[maker_.pick(kManagers.size())];
    auto config = std::make_shared<Document>(Document::object());
    maker_.fill(config->root(), type_, 5);
    const bool force = maker_.pick(4) == 0;
    const State before = state_;
    if (!apply(state_, *config, manager, force, type_)) {
      ++refused_;
      return true;
    }
    configs_[manager] = config;
    return everybody_has_theirs() && is_idempotent(*config, manager, force) &&
           (force || nobody_lost(before, manager)) && check_update(manager);
  }

  std::size_t refused() const { return refused_; }

 private:
  bool fails(std::string_view what) const {
    ADD_FAILURE() << what << "\nobject: " << state_.object->to_json();
    for (const auto& [manager, config] : configs_) ADD_FAILURE() << manager << ": " << config->to_json();
    return false;
  }

  bool everybody_has_theirs() const {
    for (const auto& [manager, config] : configs_) {
      const auto owned = state_.managers.find(manager);
      if (owned == state_.managers.end() || !(owned->second.fields == fields_of(config->root(), type_))) continue;
      if (!contains(state_.object->root(), config->root(), &type_)) return fails(manager + " misses what it owns");
    }
    return true;
  }

  bool is_idempotent(const Document& config, const std::string& manager, bool force) {
    State again = state_;
    if (!apply(again, config, manager, force, type_)) return fails("a conflict with oneself");
    if (!again.object->root().equals(state_.object->root())) return fails("another object the second time");
    return again.managers == state_.managers || fails("other owners the second time");
  }

  bool nobody_lost(const State& before, const std::string& manager) const {
    for (const auto& [other, set] : before.managers) {
      if (other == manager) continue;
      const auto now = state_.managers.find(other);
      if (now == state_.managers.end() || !(now->second == set)) return fails(other + " lost what it owned");
    }
    return true;
  }

  /// An update of nothing takes nothing from anybody.
  bool check_update(const std::string& manager) const {
    auto managers = update_managers(OneVersion(), state_.typed(type_), state_.typed(type_), state_.managers, "update");
    return (managers && *managers == state_.managers) || fails("an update of nothing by " + manager);
  }

  Maker maker_;
  const MergeType& type_;
  State state_;
  std::map<std::string, std::shared_ptr<Document>> configs_;
  std::size_t refused_ = 0;
};

TEST(ApplyProperties, IdempotentAndNobodyLosesWhatTheyOwn) {
  const std::array<const MergeType*, 4> kinds{&merge_type("", "Pod"), &merge_type("apps", "Deployment"),
                                              &merge_type("", "ConfigMap"), &merge_type("", "Service")};
  const std::size_t wanted = applies_wanted();
  std::uint32_t seed = 1;
  std::size_t done = 0, refused = 0;
  for (; done < wanted; ++seed) {
    History history(seed, *kinds[seed % kinds.size()]);
    for (int i = 0; i < 20; ++i, ++done)
      if (!history.step()) FAIL() << "seed " << seed;
    refused += history.refused();
  }
  EXPECT_LT(refused, done);
  std::cout << done << " applies in " << seed - 1 << " histories, " << refused << " of them refused as conflicts\n";
}

TEST(ApplyProperties, DisjointManagersCommute) {
  const MergeType& type = merge_type("", "Pod");
  const std::size_t wanted = applies_wanted() / 10;
  std::size_t compared = 0;
  std::uint32_t seed = 1;
  for (; compared < wanted; ++seed) {
    Maker maker(seed);
    Document a = Document::object(), b = Document::object();
    maker.fill(a.root(), type, 5);
    maker.fill(b.root(), type, 5);
    FieldSet common = fields_of(a.root(), type);
    common.intersect(fields_of(b.root(), type));
    if (!common.empty()) continue;
    ++compared;
    State first, second;
    ASSERT_TRUE(apply(first, a, "a", false, type) && apply(first, b, "b", false, type)) << seed;
    ASSERT_TRUE(apply(second, b, "b", false, type) && apply(second, a, "a", false, type)) << seed;
    ASSERT_TRUE(same(first.object->root(), second.object->root(), type)) << seed << a.to_json() << b.to_json();
    ASSERT_EQ(first.managers, second.managers) << seed;
  }
  std::cout << compared << " pairs without a common field, of " << seed - 1 << '\n';
}

TEST(ApplyManaged, ConflictsNameManagerAndPath) {
  const MergeType& type = merge_type("apps", "Deployment");
  State state;
  ASSERT_TRUE(apply(state, *Document::parse_json(R"({"spec":{"replicas":1}})"), "a", false, type));
  const auto config = Document::parse_json(R"({"spec":{"replicas":2}})");
  const TypedObject wanted{config->root(), &type, "v1", nullptr};
  const auto refused = apply_managed(OneVersion(), state.typed(type), wanted, state.managers, "b", false);
  ASSERT_FALSE(refused);
  ASSERT_EQ(refused.error().conflicts.size(), 1U);
  EXPECT_EQ(refused.error().conflicts[0].manager, "a");
  EXPECT_EQ(text_of(refused.error().conflicts[0].path), ".spec.replicas");
  ASSERT_TRUE(apply(state, *config, "b", true, type));
  EXPECT_FALSE(state.managers.contains("a")) << "what it owned is taken";
}

TEST(CheckType, SaysWhatDoesNotFit) {
  const MergeType& type = merge_type("apps", "Deployment");
  const auto said = [&type](std::string_view json) {
    return text_of(check_type(Document::parse_json(json)->root(), type, Duplicates::refused));
  };
  EXPECT_EQ(said(R"({"spec":{"foo":1}})"), ".spec.foo: field not declared in schema");
  EXPECT_EQ(said(R"({"spec":{"replicas":"x"}})"), ".spec.replicas: expected numeric (int or float), got string");
  EXPECT_EQ(said(R"({"spec":{"template":{"spec":{"containers":[{"name":"a"},{"name":"a"}]}}}})"),
            R"(.spec.template.spec.containers: duplicate entries for key [name="a"])");
  const MergeType& account = merge_type("", "ServiceAccount");
  EXPECT_EQ(
      text_of(check_type(Document::parse_json(R"({"secrets":[{"kind":"a"}]})")->root(), account, Duplicates::refused)),
      R"(.secrets: element 0: associative list with keys has an element that omits all )"
      R"(key fields ["name"] (and doesn't have default values for any key fields))");
}

// What must be said and was not is Go's zero in the key: it is validation that refuses such an item.
TEST(CheckType, AnItemWithoutItsRequiredKeyHasTheEmptyOne) {
  const MergeType& type = merge_type("apps", "Deployment");
  const auto said = [&type](std::string_view containers) {
    const auto json = R"({"spec":{"template":{"spec":{"containers":)" + std::string(containers) + "}}}}";
    const auto errors = check_type(Document::parse_json(json)->root(), type, Duplicates::refused);
    return errors.empty() ? "nothing" : text_of(errors);
  };
  EXPECT_EQ(said(R"([{"image":"a"}])"), "nothing");
  EXPECT_EQ(said(R"([{"image":"a"},{"image":"b"}])"),
            R"(.spec.template.spec.containers: duplicate entries for key [name=""])");
}

TEST(MergeTypes, KnowsListsAndKeys) {
  const MergeType& pod = merge_type("", "Pod");
  const MergeType& container = *pod.map->type_of("spec")->map->type_of("containers")->list->item;
  EXPECT_THAT(container.map->type_of("ports")->list->keys, ElementsAre("containerPort", "protocol"));
  EXPECT_EQ(container.map->type_of("ports")->list->item->map->find("protocol")->default_json, "\"TCP\"");
  EXPECT_TRUE(container.map->type_of("args")->list->atomic);
  EXPECT_TRUE(pod.map->type_of("spec")->map->type_of("nodeSelector")->map->atomic);
  EXPECT_FALSE(pod.map->type_of("metadata")->map->type_of("finalizers")->list->atomic);
  const MergeType& volume = merge_type("", "PersistentVolume");
  EXPECT_FALSE(volume.map->type_of("spec")->map->type_of("claimRef")->map->atomic) << "the field says so";
}

}  // namespace
}  // namespace sublet::patches
