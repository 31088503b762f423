// The local driver's commands at once, and what they refuse before they change anything. No process is started.
#include "sublet/cluster/local_driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "cluster/folder_testing.h"
#include "cluster/host/host_testing.h"
#include "cluster/local/address.h"
#include "cluster/local/cluster_lock.h"
#include "cluster/local/records.h"
#include "sublet/base/files.h"

namespace sublet::cluster {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

class LocalDriverTest : public testing::Test {
 protected:
  LocalDriverTest() {
    cluster_.name = "rag";
    cluster_.uid = "u-1";
    cluster_.host_namespace = "team";
    cluster_.host_context = "prod";
    cluster_.host_kubeconfig = folder_.path + "/no-kubeconfig";
    cluster_.listen = "127.0.0.1:1";
    driver_ = make_local_driver(state(), [](const kube::ClusterAccess&) -> Result<std::shared_ptr<net::Transport>> {
      return fail(Reason::service_unavailable, "the host is away");
    });
    layout_ = layout_of(state(), "team", "rag");
  }
  std::string state() const { return folder_.path + "/state"; }
  void store(const VirtualCluster& cluster) {
    ASSERT_TRUE(make_private_folder(layout_.folder()));
    ASSERT_TRUE(layout_.save(cluster));
  }
  Result<Created> create(const std::string& pod_address, const std::string& pod_listen = "") {
    auto plan =
        make_plan({.name = "rag", .host_namespace = "team", .pod_address = pod_address, .pod_listen = pod_listen});
    EXPECT_TRUE(plan) << plan.error().message;
    return driver_->create(*plan, {}, seconds(5), progress_);
  }
  std::string status() { return driver_->status({&cluster_, 1}, std::chrono::milliseconds(100)).front().status; }

  const testing_support::TestFolder folder_;
  VirtualCluster cluster_;
  LocalLayout layout_;
  std::unique_ptr<Driver> driver_;
  Progress progress_;
};

TEST_F(LocalDriverTest, ADeletionThatFailsIsShownAndIsNotStartedAgain) {
  store(cluster_);
  EXPECT_EQ(status(), "Stopped");
  ASSERT_FALSE(driver_->remove(cluster_, {.patience = seconds(5)}, progress_)) << "its host cannot be reached";
  cluster_ = layout_.load().value();
  EXPECT_TRUE(cluster_.deleting);
  EXPECT_EQ(status(), "Deleting");
  const auto started = driver_->start(cluster_, {}, seconds(5), progress_);
  ASSERT_FALSE(started);
  EXPECT_THAT(started.error().message, HasSubstr("finish it: sublet delete rag -n team"));
  const auto created = create("");
  ASSERT_FALSE(created);
  EXPECT_TRUE(created.error().is(Reason::conflict)) << created.error().message;
  EXPECT_TRUE(driver_->remove(cluster_, {.force = true, .patience = seconds(5)}, progress_));
  EXPECT_FALSE(std::filesystem::exists(layout_.folder()));
}

TEST_F(LocalDriverTest, ADeletionWaitsForTheCommandThatWorksOnIt) {
  store(cluster_);
  {
    const auto other = ClusterLock::take(layout_, seconds(5));
    ASSERT_TRUE(other);
    const auto removed = driver_->remove(cluster_, {.force = true, .patience = seconds(1)}, progress_);
    ASSERT_FALSE(removed);
    EXPECT_TRUE(removed.error().is(Reason::timeout)) << removed.error().message;
    EXPECT_TRUE(std::filesystem::exists(layout_.record_path())) << "deleted under the other command's hands";
  }
  EXPECT_TRUE(driver_->remove(cluster_, {.force = true, .patience = seconds(5)}, progress_));
}

TEST_F(LocalDriverTest, DeletionsAtOnceAllSucceed) {
  store(cluster_);
  std::vector<std::string> failures(4);
  {
    std::vector<std::jthread> commands;
    for (std::string& failure : failures)
      commands.emplace_back([&] {
        Progress progress;
        const auto removed = driver_->remove(cluster_, {.force = true, .patience = seconds(20)}, progress);
        failure = removed ? "" : removed.error().message;
      });
  }
  EXPECT_THAT(failures, testing::Each(""));
  EXPECT_FALSE(std::filesystem::exists(layout_.folder()));
}

TEST_F(LocalDriverTest, ADeletionDoesNotTakeTheNextOneOfThatName) {
  store(cluster_);
  VirtualCluster next = cluster_;
  next.uid = "u-2";
  store(next);
  const auto removed = driver_->remove(cluster_, {.force = true, .patience = seconds(5)}, progress_);
  ASSERT_FALSE(removed);
  EXPECT_THAT(removed.error().message, HasSubstr("created again"));
  EXPECT_EQ(layout_.load()->uid, "u-2");
}

TEST_F(LocalDriverTest, AnAddressOfAnotherMachineIsRefusedBeforeAnythingChanges) {
  EXPECT_TRUE(is_local_address("127.0.0.1"));
  EXPECT_FALSE(is_local_address("203.0.113.9"));
  EXPECT_FALSE(is_local_address("example.com"));
  const auto made = create("203.0.113.9");
  ASSERT_FALSE(made);
  EXPECT_TRUE(made.error().is(Reason::bad_request)) << made.error().message;
  EXPECT_THAT(made.error().message, HasSubstr("--pod-address 203.0.113.9 is not an address of this machine"));
  EXPECT_FALSE(std::filesystem::exists(layout_.folder()));
  store(cluster_);
  const auto changed = create("203.0.113.9", "203.0.113.10");
  ASSERT_FALSE(changed);
  EXPECT_THAT(changed.error().message, HasSubstr("--pod-listen 203.0.113.10 is not an address of this machine"));
  EXPECT_FALSE(layout_.load()->pod_access.given()) << "the address was stored";
}

TEST_F(LocalDriverTest, AKeyThatOthersCanReadIsClosedWithAWarning) {
  store(cluster_);
  const std::string key = layout_.api_folder() + "/ca.key";
  testing_support::write_file(key, "KEY");
  ASSERT_EQ(::chmod(key.c_str(), 0644), 0);
  RecordedProgress progress;
  EXPECT_FALSE(driver_->start(cluster_, {}, seconds(5), progress)) << "its host is away";
  EXPECT_THAT(progress.warnings, testing::Contains(HasSubstr("ca.key was readable by others (mode 0644)")));
  struct stat info {};
  ASSERT_EQ(::stat(key.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(LocalDriverTest, AStateFolderThatIsNoneIsNamed) {
  testing_support::write_file(folder_.path + "/file", "");
  const auto listed = make_local_driver(folder_.path + "/file", nullptr)->list();
  ASSERT_FALSE(listed);
  EXPECT_TRUE(listed.error().is(Reason::bad_request));
  EXPECT_THAT(listed.error().message, HasSubstr("/file is not a folder; set SUBLET_STATE_DIR"));
}

TEST_F(LocalDriverTest, AStateFolderThatOthersCanReplaceIsRefused) {
  const std::string open = folder_.path + "/open", real = folder_.path + "/real";
  ASSERT_TRUE(make_private_folder(real));
  ASSERT_TRUE(make_private_folder(open));
  std::filesystem::create_symlink(real, open + "/link");
  EXPECT_TRUE(make_local_driver(open + "/link", nullptr)->list()) << "a link of one's own in a folder of one's own";
  ASSERT_EQ(::chmod(open.c_str(), 0777), 0);
  for (const char* state : {"/link", "/link/below"}) {
    const auto listed = make_local_driver(open + state, nullptr)->list();
    ASSERT_FALSE(listed) << state;
    EXPECT_TRUE(listed.error().is(Reason::forbidden));
    EXPECT_THAT(listed.error().message, HasSubstr("is in a folder that every user may change (mode 0777)"));
  }
  ASSERT_EQ(::chmod(open.c_str(), 01777), 0);
  EXPECT_TRUE(make_local_driver(open + "/link", nullptr)->list()) << "the sticky bit protects it, as in /tmp";
  if (::geteuid() != 0) return;  // only root can make a link of another user
  ASSERT_EQ(::lchown((open + "/link").c_str(), 12345, 12345), 0);
  const auto listed = make_local_driver(open + "/link", nullptr)->list();
  ASSERT_FALSE(listed);
  EXPECT_THAT(listed.error().message, HasSubstr("is a symbolic link of user 12345"));
}

TEST_F(LocalDriverTest, AnotherUsersStateFolderIsNamed) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to make one";
  ASSERT_TRUE(make_private_folder(state()));
  ASSERT_EQ(::chown(state().c_str(), 12345, 12345), 0);
  const auto listed = driver_->list();
  ASSERT_FALSE(listed);
  EXPECT_TRUE(listed.error().is(Reason::forbidden));
  EXPECT_THAT(listed.error().message, HasSubstr("belongs to user 12345"));
}

}  // namespace
}  // namespace sublet::cluster
