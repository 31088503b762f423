// Strategies are written by hand; what the schema table knows as well must be said the same way in both.
#include <gtest/gtest.h>

#include <string>

#include "apiserver/kind_testing.h"
#include "apiserver/strategies/strategy.h"
#include "sublet/schema/registry.h"

namespace sublet::apiserver {
namespace {

TEST(StrategiesAndTable, AgreeOnWhatTheFinalDeleteAnswers) {
  for (const schema::ResourceFacts& facts : schema::Registry::builtin()->resources()) {
    if (!facts.served || !facts.verbs.contains("delete") || facts.group != facts.storage_group) continue;
    // OpenAPI says Status for namespaces, whose own DELETE upstream overrides; the object comes back all the same.
    if (facts.resource == "namespaces") continue;
    EXPECT_EQ(strategy_for(facts.group, facts.resource).delete_returns_object, facts.delete_returns_object)
        << facts.group << "/" << facts.resource;
  }
}

TEST(StrategiesAndTable, TheMainEndpointOfEveryKindLeavesStatusAlone) {
  KindBench bench;
  int kinds = 0;
  for (const schema::ResourceFacts& facts : schema::Registry::builtin()->resources()) {
    if (!facts.served || !facts.has_status || &facts_of(facts.resource) != &facts) continue;
    const Strategy& strategy = strategy_for(facts.storage_group, facts.resource);
    ASSERT_TRUE(bool(strategy.prepare_update)) << facts.group << "/" << facts.resource;
    auto object = parse(R"({"metadata":{"name":"a"},"spec":{},"status":{"forged":true}})");
    const auto old = parse(R"({"metadata":{"name":"a"},"spec":{},"status":{"told":true}})");
    auto context = bench.context(facts.resource);
    (void)strategy.prepare_update(context, object.root(), old.root());
    EXPECT_TRUE(object["status"].has("told") && !object["status"].has("forged"))
        << facts.group << "/" << facts.resource << ": " << object.to_json();
    ++kinds;
  }
  EXPECT_GT(kinds, 20);
}

}  // namespace
}  // namespace sublet::apiserver
