// Strategies are written by hand; what the schema table knows as well must be said the same way in both.
#include <gtest/gtest.h>

#include <string>

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

}  // namespace
}  // namespace sublet::apiserver
