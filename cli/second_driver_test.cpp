// The commands with a driver that has no files, no processes and no host: they need nothing but the Driver.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/command_line.h"
#include "cli/exit_code.h"
#include "cluster/folder_testing.h"
#include "cluster/memory/memory_driver_testing.h"

namespace sublet::cli {
namespace {

using testing::HasSubstr;

class SecondDriver : public testing::Test {
 protected:
  SecondDriver() {
    ::setenv("KUBECONFIG", (home_.path + "/config").c_str(), 1);
    ::setenv("SUBLET_STATE_DIR", (home_.path + "/state").c_str(), 1);
  }
  int run(std::vector<std::string> words) {
    words.insert(words.begin(), "sublet");
    std::vector<char*> argv;
    for (auto& word : words) argv.push_back(word.data());
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int code = run_command_line(static_cast<int>(argv.size()), argv.data(), [&] { return driver_; });
    std::fflush(stdout);
    out_ = testing::internal::GetCapturedStdout();
    err_ = testing::internal::GetCapturedStderr();
    return code;
  }

  const testing_support::TestFolder home_;
  const std::shared_ptr<cluster::MemoryDriver> driver_ = std::make_shared<cluster::MemoryDriver>();
  std::string out_, err_;
};

TEST_F(SecondDriver, EveryCommandWorksWithoutAFile) {
  ASSERT_EQ(run({"create", "rag", "-n", "team"}), kOk) << err_;
  EXPECT_EQ(out_, "virtualcluster/rag created\n");
  ASSERT_EQ(run({"create", "rag", "-n", "team"}), kOk) << err_;
  EXPECT_EQ(out_, "virtualcluster/rag unchanged\n");
  ASSERT_EQ(run({"list", "-o", "wide"}), kOk) << err_;
  EXPECT_THAT(out_, HasSubstr("Running"));
  EXPECT_THAT(out_, HasSubstr("https://192.0.2.1:6443"));
  ASSERT_EQ(run({"list", "-o", "json"}), kOk) << err_;
  EXPECT_EQ(nlohmann::json::parse(out_)[0]["context"], "sublet_rag_team_memory");
  ASSERT_EQ(run({"connect", "rag", "--print"}), kOk) << err_;
  EXPECT_THAT(out_, HasSubstr("server: https://192.0.2.1:6443"));
  EXPECT_EQ(run({"connect", "rag", "--", "sh", "-c", "grep -q 192.0.2.1 \"$KUBECONFIG\" && exit 7"}), 7) << err_;
  EXPECT_EQ(run({"certs", "check"}), kOk) << err_;
  EXPECT_EQ(run({"certs", "rotate", "rag"}), kOk) << err_;
  ASSERT_EQ(run({"audit", "rag"}), kOk) << err_;
  EXPECT_EQ(out_, "abc\n");
  EXPECT_EQ(run({"boot", "start"}), kOk) << err_;
  EXPECT_EQ(out_, "virtualcluster/rag unchanged\n");
  ASSERT_EQ(run({"delete", "rag", "--yes"}), kOk) << err_;
  EXPECT_EQ(run({"connect", "rag", "--print"}), kNotFound);
  EXPECT_TRUE(std::filesystem::is_empty(home_.path)) << "a command wrote a file";
}

}  // namespace
}  // namespace sublet::cli
