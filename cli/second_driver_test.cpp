// The commands with a driver that has no files, no processes and no host: they need nothing but the Driver.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/captured_run_testing.h"
#include "cli/exit_code.h"
#include "cluster/memory/memory_driver_testing.h"

namespace sublet::cli {
namespace {

using testing::HasSubstr;

class SecondDriver : public CommandLineTest {
 protected:
  int run(std::vector<std::string> words) {
    return run_words(std::move(words), [&] { return driver_; });
  }

  const std::shared_ptr<cluster::MemoryDriver> driver_ = std::make_shared<cluster::MemoryDriver>();
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
