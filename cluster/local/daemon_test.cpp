#include "cluster/local/daemon.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cluster/folder_testing.h"
#include "sublet/base/descriptor.h"

namespace sublet::cluster {
namespace {

// A pod's daemons wrote the pid that they have in their own container; here another process has that number.
TEST(Daemon, NobodyIsStoppedWhoDoesNotServeTheFolder) {
  const testing_support::TestFolder folder;
  const std::string lock_path = folder.path + "/daemon.lock";
  const Descriptor lock{::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)};
  ASSERT_EQ(::flock(lock.get(), LOCK_EX | LOCK_NB), 0);
  const pid_t stranger = ::fork();
  if (stranger == 0) {
    ::pause();
    ::_exit(0);
  }
  ASSERT_GT(stranger, 0);
  const std::string pid = std::to_string(stranger) + "\n";
  ASSERT_EQ(::write(lock.get(), pid.data(), pid.size()), static_cast<ssize_t>(pid.size()));
  const Outcome stopped = stop_daemon(lock_path, std::chrono::seconds(0));
  ASSERT_FALSE(stopped);
  EXPECT_TRUE(stopped.error().is(Reason::conflict)) << stopped.error().message;
  EXPECT_EQ(::kill(stranger, 0), 0);
  EXPECT_EQ(::waitpid(stranger, nullptr, WNOHANG), 0) << "it has ended";
  ::kill(stranger, SIGKILL);
  ::waitpid(stranger, nullptr, 0);
}

TEST(Daemon, WhatDoesNotRunNeedsNoStop) {
  const testing_support::TestFolder folder;
  EXPECT_TRUE(stop_daemon(folder.path + "/daemon.lock", std::chrono::seconds(0)));
}

}  // namespace
}  // namespace sublet::cluster
