#include "apiserver/verbs/pod_log_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sublet::apiserver {
namespace {

using testing::HasSubstr;

Result<std::string> read(std::string_view query) { return pod_log_query(Query(query), "p"); }

TEST(PodLogOptions, PassOnWhatIsSetInOneForm) {
  EXPECT_EQ(read("").value(), "");
  EXPECT_EQ(read("follow=True&timestamps=1&previous=").value(), "follow=true&previous=true&timestamps=true");
  EXPECT_EQ(read("follow=False&timestamps=0").value(), "");
  EXPECT_EQ(read("tailLines=0&limitBytes=1&sinceSeconds=1").value(), "tailLines=0&limitBytes=1&sinceSeconds=1");
  EXPECT_EQ(read("sinceTime=2026-01-01T00:00:00Z").value(), "sinceTime=2026-01-01T00%3A00%3A00Z");
  EXPECT_EQ(read("sinceTime=null&pretty=true&x=y&insecureSkipTLSVerifyBackend=true").value(), "");
}

TEST(PodLogOptions, AreRefusedAsUpstreamDoes) {
  struct Case {
    std::string_view query, field, message;
  };
  const Case cases[] = {
      {"tailLines=-1", "tailLines", "Invalid value: -1: must be greater than or equal to 0"},
      {"limitBytes=0", "limitBytes", "Invalid value: 0: must be greater than 0"},
      {"sinceSeconds=0", "sinceSeconds", "Invalid value: 0: must be greater than 0"},
      {"sinceSeconds=0&sinceTime=2026-01-01T00:00:00Z", "[]",
       "Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified"},
      {"stream=All", "stream", "Forbidden: may not be specified"},
  };
  for (const Case& row : cases) {
    const auto refused = read(row.query);
    ASSERT_FALSE(refused) << row.query;
    EXPECT_EQ(refused.error().http_code(), 422) << row.query;
    EXPECT_THAT(refused.error().message, HasSubstr("PodLogOptions \"p\" is invalid: ")) << row.query;
    ASSERT_EQ(refused.error().causes.size(), 1u) << row.query;
    EXPECT_EQ(refused.error().causes[0].field, row.field) << row.query;
    EXPECT_EQ(refused.error().causes[0].message, row.message) << row.query;
  }
  EXPECT_EQ(read("tailLines=abc").error().http_code(), 400);
  EXPECT_EQ(read("sinceTime=yesterday").error().http_code(), 400);
}

}  // namespace
}  // namespace sublet::apiserver
