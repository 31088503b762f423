#include "cli/command_kubeconfig.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "cluster/folder_testing.h"
#include "sublet/base/files.h"

namespace sublet::cli {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

kube::ClusterAccess some_access() {
  kube::ClusterAccess access;
  access.server = "https://127.0.0.1:1";
  access.context_name = access.cluster_name = access.user_name = "x";
  return access;
}

class CommandKubeconfigTest : public testing::Test {
 protected:
  std::string own_folder(const std::string& place) const { return place + "/sublet-" + std::to_string(::geteuid()); }
  const testing_support::TestFolder home_;
};

TEST_F(CommandKubeconfigTest, IsPrivateAndGoesWithTheCommand) {
  std::string path;
  {
    CommandKubeconfig file;
    ASSERT_TRUE(file.write(some_access(), {home_.path}));
    path = file.path();
    struct stat info {};
    ASSERT_EQ(::stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600u);
    EXPECT_THAT(read_file(path).value(), HasSubstr("https://127.0.0.1:1"));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(CommandKubeconfigTest, GoesToTheNextPlaceWhenOneTakesNothing) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP();
  CommandKubeconfig file;
  // A path below a file: no folder can be made there.
  ASSERT_TRUE(file.write(some_access(), {"/dev/full", home_.path + "/none", home_.path}));
  EXPECT_THAT(file.path(), StartsWith(own_folder(home_.path)));
  const auto refused = CommandKubeconfig().write(some_access(), {"/dev/full"});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("/dev/full"));
}

TEST_F(CommandKubeconfigTest, AFolderOfAnotherIsNotUsed) {
  ASSERT_TRUE(make_private_folder(own_folder(home_.path)));
  ASSERT_EQ(::chmod(own_folder(home_.path).c_str(), 0777), 0);
  const auto refused = CommandKubeconfig().write(some_access(), {home_.path});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("is not a folder of yours alone"));
}

TEST_F(CommandKubeconfigTest, RemovesWhatAKilledCommandLeft) {
  ASSERT_TRUE(make_private_folder(own_folder(home_.path)));
  const std::string left = own_folder(home_.path) + "/connect-1.kubeconfig";
  testing_support::write_file(left, "old");
  CommandKubeconfig running;
  ASSERT_TRUE(running.write(some_access(), {home_.path}));
  EXPECT_FALSE(std::filesystem::exists(left));
  EXPECT_TRUE(std::filesystem::exists(running.path()));
}

TEST_F(CommandKubeconfigTest, TheDefaultPlacesAreInMemoryFirst) {
  ::setenv("XDG_RUNTIME_DIR", "/run/user/7", 1);
  const auto places = CommandKubeconfig::default_places();
  ::unsetenv("XDG_RUNTIME_DIR");
  ASSERT_GE(places.size(), 3u);
  EXPECT_EQ(places[0], "/run/user/7");
  EXPECT_EQ(places[1], "/dev/shm");
}

}  // namespace
}  // namespace sublet::cli
