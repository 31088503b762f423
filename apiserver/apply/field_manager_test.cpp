// FieldManager::apply(): its short way and the way by sets come to the same. What both must come to:
// verbs/apply_test.cpp.
#include "apiserver/apply/field_manager.h"

#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <string>
#include <vector>

#include "sublet/patches/overlay.h"
#include "sublet/patches/typed_merge.h"
#include "sublet/schema/engine.h"
#include "tests/support/parse_json.h"

namespace sublet::apiserver {
namespace {

using schema::Document;
using schema::Value;
using testing_support::parse_json;

class Applies {
 public:
  Applies(std::string_view group, std::string_view version, std::string_view resource)
      : kinds_(schema::Registry::builtin()),
        facts_(kinds_->find_resource(std::string(group), version, resource)),
        endpoint_{*kinds_, facts_->group, facts_->version, facts_->kind, facts_->type, "", facts_} {}

  FieldManager manager() const { return FieldManager(endpoint_); }
  const schema::ResourceFacts& facts() const { return *facts_; }
  WallTime now() { return now_ += std::chrono::seconds(1); }

  /// Both ways, from the same state; the state that both come to, null when both fail.
  std::optional<Document> both(const Document& live, const Document& config, const std::string& name, bool force) {
    const WallTime at = now();
    auto shortly = manager().apply(live.clone(), config.root(), name, force, at);
    auto by_sets = manager().apply_by_sets(live.root(), config.root(), name, force, at);
    EXPECT_EQ(bool(shortly), bool(by_sets)) << config.to_json() << " to " << live.to_json();
    if (!shortly || !by_sets) {
      if (!shortly && !by_sets) {
        EXPECT_EQ(shortly.error().message, by_sets.error().message);
      }
      return std::nullopt;
    }
    EXPECT_EQ(shortly->to_json(), by_sets->to_json()) << config.to_json() << " to " << live.to_json();
    return std::move(*shortly);
  }

  Document first(const Document& config, const std::string& name) {
    auto made = manager().apply_by_sets(Value(), config.root(), name, false, now());
    EXPECT_TRUE(made) << made.error().message;
    return std::move(*made);
  }

  /// As a PUT by `name` leaves it.
  void updated(const Document& live, Document& object, const std::string& name) {
    ASSERT_TRUE(schema::conform(object.root(), facts_->type));
    const Document fields = manager().update(live.root(), object.root(), name, now());
    if (fields.root().is_array()) object.root().object("metadata").put("managedFields", fields.root());
    ASSERT_TRUE(schema::conform(object.root(), facts_->type));
  }

 private:
  const std::shared_ptr<const schema::Registry> kinds_;
  const schema::ResourceFacts* facts_;
  const ManagedEndpoint endpoint_;
  WallTime now_{std::chrono::seconds(1'800'000'000)};
};

/// Pods that differ mostly in values, now and then in anything.
class PodConfigs {
 public:
  explicit PodConfigs(unsigned seed) : dice_(seed) {}

  std::string pod() {
    std::string text = R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p")";
    if (likely()) text += R"(,"labels":{"a":")" + value() + R"(","b":")" + value() + "\"}";
    if (rarely())
      text += R"(,"annotations":{"x":")" + value() + R"(","kubectl.kubernetes.io/last-applied-configuration":"{}"})";
    if (rarely()) text += R"(,"finalizers":["a/b","c/d"])";
    if (rarely()) text += R"(,"resourceVersion":"1")";
    text += R"(},"spec":{"containers":[)" + container("main") + (likely() ? "," + container("side") : "") + "]";
    if (likely()) text += R"(,"nodeSelector":{"n":")" + value() + "\"}";
    if (rarely()) text += R"(,"tolerations":[{"key":")" + value() + R"(","operator":"Exists"}])";
    if (likely()) text += R"(,"volumes":[{"name":"v","emptyDir":{}}])";
    if (rarely()) text += R"(,"hostAliases":[{"ip":"1.2.3.4","hostnames":[")" + value() + "\"]}]";
    if (rarely()) text += R"(,"securityContext":null)";
    if (rarely()) text += R"(,"priority":)" + std::string(rarely() ? "\"wrong\"" : "1");
    if (rarely()) text += R"(,"unknown":1)";
    text += "}";
    if (rarely()) text += R"(,"status":{"phase":"Running"})";
    return text + "}";
  }

  bool rarely() { return dice_() % 24 == 0; }
  bool likely() { return !rarely(); }
  unsigned among(unsigned count) { return static_cast<unsigned>(dice_() % count); }

 private:
  std::string value() { return std::string(1, static_cast<char>('p' + dice_() % 3)); }
  std::string quantity() {
    static constexpr const char* kSame[] = {"\"1\"", "\"1000m\"", "1", "\"2\"", "1.0"};
    return kSame[rarely() ? dice_() % 5 : 0];
  }

  std::string container(const std::string& name) {
    std::string text = R"({"name":")" + name + R"(","image":")" + value() + "\"";
    const char* orders[] = {"ABC", "CAB", "AAB", "AB", ""};
    const std::string variables = orders[likely() ? 0 : dice_() % 5];
    if (!variables.empty() || rarely()) {
      text += R"(,"env":[)";
      for (const char& c : variables)
        text +=
            std::string(&c == variables.data() ? "" : ",") + R"({"name":")" + c + R"(","value":")" + value() + "\"}";
      text += "]";
    }
    if (likely()) text += R"(,"resources":{"requests":{"cpu":)" + quantity() + "}}";
    if (likely())
      text += R"(,"ports":[{"containerPort":80},{"containerPort":80,"protocol":"UDP","name":")" + value() + "\"}]";
    if (rarely()) text += R"(,"resources":{})";
    if (rarely()) text += R"(,"args":[")" + value() + "\"]";
    if (rarely()) text += R"(,"imagePullPolicy":"Always")";
    return text + "}";
  }

  std::minstd_rand dice_;
};

TEST(FieldManager, TheShortWayComesToTheSame) {
  int applied = 0, refused = 0;
  for (unsigned seed = 1; seed <= 12; ++seed) {
    PodConfigs configs(seed);
    Applies pods("", "v1", "pods");
    std::optional<Document> live;
    for (int round = 0; round < 40; ++round) {
      const Document config = parse_json(configs.pod());
      const std::string name = configs.among(5) == 0 ? "kubectl" : "one";
      if (!live) {
        if (pods.manager().apply_by_sets(Value(), config.root(), name, false, pods.now()))
          live = pods.first(config, name);
        continue;
      }
      if (configs.rarely()) {  // somebody else's PUT
        Document object = parse_json(configs.pod());
        if (!schema::conform(object.root(), pods.facts().type)) continue;
        pods.updated(*live, object, "other");
        live = std::move(object);
        continue;
      }
      auto now = pods.both(*live, config, name, configs.likely());
      if (HasFailure()) return;
      ++(now ? applied : refused);
      if (now) live = std::move(now);
    }
  }
  EXPECT_GT(applied, 200);
  EXPECT_GT(refused, 10);
}

/// Else the test above compares the long way with itself.
TEST(FieldManager, TheShortWayIsTaken) {
  Applies pods("", "v1", "pods");
  const std::string text =
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","labels":{"a":"1"}},"spec":{"containers":[{"name":"c",)"
      R"("image":"i","env":[{"name":"A","value":"1"},{"name":"B","value":"2"}],"resources":{"limits":{"cpu":"1"}}}],)"
      R"("volumes":[{"name":"v","emptyDir":{}}],"tolerations":[{"operator":"Exists"}]}})";
  const Document live = pods.first(parse_json(text), "one");
  const auto overlay = [&](std::string changed) {
    const Document config = parse_json(changed);
    const auto kinds = schema::Registry::builtin();
    static const patches::FieldSet untracked = [] {
      patches::FieldSet set;
      for (const std::string_view name : {"apiVersion", "kind"})
        set.insert(std::vector{patches::PathElement::field(name)});
      set.insert(std::vector{patches::PathElement::field("metadata"), patches::PathElement::field("name")});
      return set;
    }();
    return patches::Overlay::of(live.root(), config.root(), patches::merge_type_of(*kinds, pods.facts()),
                                {live["metadata"]["managedFields"].at(0)["fieldsV1"], {}, &untracked});
  };
  const auto same = overlay(text);
  ASSERT_TRUE(same);
  EXPECT_FALSE(same->changes());
  std::string image = text, variable = text, order = text;
  image.replace(image.find(R"("i")"), 3, R"("j")");
  ASSERT_TRUE(overlay(image));
  EXPECT_TRUE(overlay(image)->changes());
  variable.replace(variable.find(R"({"name":"A","value":"1"},)"), 25, "");
  EXPECT_FALSE(overlay(variable)) << "a variable goes";
  order.replace(order.find(R"({"name":"A","value":"1"},{"name":"B","value":"2"})"), 49,
                R"({"name":"B","value":"2"},{"name":"A","value":"1"})");
  EXPECT_FALSE(overlay(order)) << "in another order";
}

TEST(FieldManager, WhatOthersOwnIsAConflictOnBothWays) {
  Applies maps("", "v1", "configmaps");
  const auto config = [](std::string_view data) {
    return parse_json(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":)" + std::string(data) +
                      "}");
  };
  Document live = maps.first(config(R"({"x":"1"})"), "one");
  auto shared = maps.both(live, config(R"({"x":"1"})"), "two", false);
  ASSERT_TRUE(shared);
  EXPECT_FALSE(maps.both(*shared, config(R"({"x":"2"})"), "two", false)) << "both own it";
  const auto forced = maps.both(*shared, config(R"({"x":"2"})"), "two", true);
  ASSERT_TRUE(forced);
  EXPECT_EQ((*forced)["metadata"]["managedFields"].size(), 1U) << "it is two's alone";
  const auto again = maps.both(*forced, config(R"({"x":"3"})"), "two", false);
  ASSERT_TRUE(again);
  EXPECT_EQ((*again)["data"]["x"].text(), "3");
}

}  // namespace
}  // namespace sublet::apiserver
