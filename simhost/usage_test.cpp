#include "simhost/usage.h"

#include <gtest/gtest.h>

namespace sublet::simhost {
namespace {

std::string used_by(const std::string& container) {
  auto list = schema::Document::object();
  container_usage(schema::Document::parse_json(container).value().root()).put(list.root());
  return list["cpu"].string() + " " + list["memory"].string();
}

TEST(Usage, IsWhatTheSpecSays) {
  EXPECT_EQ(used_by("{}"), "1000000n 4096Ki");
  EXPECT_EQ(used_by(R"({"resources":{"requests":{"cpu":"250m","memory":"64Mi"},"limits":{"cpu":"4"}}})"),
            "125000000n 32768Ki");
  EXPECT_EQ(used_by(R"({"resources":{"limits":{"cpu":2}}})"), "1000000000n 4096Ki");
  EXPECT_EQ(used_by(R"({"resources":{"requests":{"cpu":"1","memory":"1Gi"}},)"
                    R"("env":[{"name":"SIMHOST_CPU","value":"30m"},{"name":"SIMHOST_MEMORY","value":"5Mi"}]})"),
            "30000000n 5120Ki");
  EXPECT_EQ(used_by(R"({"env":[{"name":"SIMHOST_CPU","value":"much"},{"name":"SIMHOST_MEMORY"}]})"), "1000000n 4096Ki");
}

}  // namespace
}  // namespace sublet::simhost
