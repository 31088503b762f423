#include "sublet/store/log_engines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "store/store_testing.h"
#include "sublet/store/store.h"

namespace sublet::store {
namespace {

using testing_support::TempFolder;

Row test_row(Revision revision) { return {revision, "pods/default/web", false, revision, "value"}; }

TEST(LogEnginesTest, EveryEngineOpensAndKeepsWhatIsAppended) {
  for (const std::string& engine : log_engines()) {
    SCOPED_TRACE(engine);
    const TempFolder folder;
    auto log = open_log({.folder = folder.path(), .engine = engine});
    ASSERT_TRUE(log) << log.error().message;
    ASSERT_TRUE((*log)->replay([](Row&&) { return Outcome(); }));
    std::string error;
    EXPECT_EQ((*log)->append({test_row(kFirstRevision)}, error), Log::AppendError::none) << error;
    EXPECT_EQ((*log)->last(), kFirstRevision);
  }
}

TEST(LogEnginesTest, TheDefaultEngineKeepsRowsAcrossARestart) {
  const TempFolder folder;
  std::string error;
  {
    auto log = open_log({.folder = folder.path()});
    ASSERT_TRUE(log) << log.error().message;
    ASSERT_TRUE((*log)->replay([](Row&&) { return Outcome(); }));
    ASSERT_EQ((*log)->append({test_row(kFirstRevision)}, error), Log::AppendError::none) << error;
  }
  auto log = open_log({.folder = folder.path()});
  ASSERT_TRUE(log) << log.error().message;
  EXPECT_EQ((*log)->last(), kFirstRevision);
}

TEST(LogEnginesTest, AnUnknownEngineIsRefusedWithTheNamesOfAll) {
  const auto log = open_log({.folder = "/nonexistent", .engine = "etc"});
  ASSERT_FALSE(log);
  EXPECT_EQ(log.error().reason, Reason::bad_request);
  EXPECT_EQ(log.error().message, "log engine \"etc\" does not exist: use one of memory, sqlite");
}

}  // namespace
}  // namespace sublet::store
