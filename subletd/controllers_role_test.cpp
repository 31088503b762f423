#include <gtest/gtest.h>

#include <algorithm>

#include "subletd/upstream_controllers.h"

namespace sublet::subletd {
namespace {

TEST(UpstreamControllers, TheTemplatesArgumentsComeAfterOurs) {
  patches::SyncConfig config;
  const auto ours = controller_manager_command({}, config, "kcm");
  config.controller_arguments = {"--concurrent-deployment-syncs=10", "--v=2"};  // controllerManager.extraArgs
  auto expected = ours;
  expected.insert(expected.end(), config.controller_arguments.begin(), config.controller_arguments.end());
  EXPECT_EQ(controller_manager_command({}, config, "kcm"), expected);
}

}  // namespace
}  // namespace sublet::subletd
