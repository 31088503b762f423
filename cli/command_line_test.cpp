// The words behind `sublet`: which command they become, with which options, and what is said of those that make no
// sense.
#include "cli/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/captured_run_testing.h"
#include "cli/exit_code.h"
#include "cli/fake_driver_testing.h"

namespace sublet::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class CommandLine : public CommandLineTest {
 protected:
  int run(std::vector<std::string> words) {
    asked_ = false;
    const auto driver = std::make_shared<FakeDriver>();
    driver->records.clusters = {cluster_of("rag", "team-a"), cluster_of("train", "team-b")};
    driver->statuses = {{"Running", "v1.35.0"}, {"Stopped", "-"}};
    const int code = run_words(std::move(words), [&] {
      asked_ = true;
      return driver;
    });
    calls_ = driver->calls;
    plan_ = driver->plan;
    host_ = driver->host_choice;
    remove_ = driver->remove_options;
    patience_ = driver->patience;
    return code;
  }

  bool asked_ = false;
  std::vector<std::string> calls_;
  std::optional<cluster::Plan> plan_;
  cluster::HostChoice host_;
  cluster::RemoveOptions remove_;
  std::chrono::seconds patience_{};
};

TEST_F(CommandLine, CertsHasTwoCommands) {
  EXPECT_EQ(run({"certs", "check"}), kOk) << err_;
  EXPECT_EQ(run({"certs", "rotate"}), kUsage) << "of which?";
  EXPECT_EQ(run({"certs"}), kUsage);
  EXPECT_EQ(run({"certs", "rotate", "rag", "-n", "team-a"}), kOk) << err_;
  EXPECT_THAT(calls_, ElementsAre("rotate rag"));
}

TEST_F(CommandLine, CreatesFlagsReachThePlan) {
  ASSERT_EQ(run({"create", "new", "-n", "team-n", "--context", "prod", "--timeout", "2m", "--quota-objects", "500",
                 "--quota-bytes", "1Mi"}),
            kOk)
      << err_;
  EXPECT_THAT(calls_, ElementsAre("create new on prod"));
  EXPECT_EQ(plan_->cluster.host_namespace, "team-n");
  EXPECT_EQ(plan_->cluster.quota, (cluster::Quota{500, 1 << 20}));
  EXPECT_EQ(patience_, std::chrono::minutes(2));
  ASSERT_EQ(run({"create", "new", "--nodes", "3", "--gpu-nodes", "0"}), kOk);
  EXPECT_EQ(host_.shape.nodes, 3);
  EXPECT_EQ(host_.shape.gpu_nodes, 0);
  EXPECT_FALSE(host_.shape.gpus_per_node);
  EXPECT_EQ(patience_, std::chrono::seconds(60));
}

TEST_F(CommandLine, DeletesFlagsReachTheDriver) {
  ASSERT_EQ(run({"rm", "-y", "--force", "--keep-host", "--timeout", "5s", "rag", "train"}), kOk) << err_;
  EXPECT_THAT(calls_, ElementsAre("remove rag", "remove train"));
  EXPECT_TRUE(remove_.force);
  EXPECT_TRUE(remove_.keep_host);
  EXPECT_EQ(remove_.patience, std::chrono::seconds(5));
}

TEST_F(CommandLine, BootStartsWhatThereIs) {
  EXPECT_EQ(run({"boot", "start", "--timeout", "1s"}), kOk);
  EXPECT_THAT(calls_, ElementsAre("start rag", "start train"));
  EXPECT_EQ(run({"boot"}), kUsage);
  EXPECT_EQ(run({"boot", "later"}), kUsage);
  EXPECT_FALSE(asked_);
}

TEST_F(CommandLine, WhatStandsBehindTheDashesIsTheCommands) {
  EXPECT_EQ(run({"connect", "rag", "--", "sh", "-c", "test -f \"$KUBECONFIG\" && exit 42", "--print"}), 42);
  EXPECT_TRUE(asked_);
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"list", "--", "true"},
           {"connect", "rag", "--"},
           {"connect", "rag", "--print", "--", "true"},
           {"connect", "rag", "-o", "json", "--", "true"},
       }) {
    EXPECT_EQ(run(words), kUsage) << words[0];
    EXPECT_THAT(err_, HasSubstr("--"));
    EXPECT_FALSE(asked_) << words[0];
  }
}

TEST_F(CommandLine, MistakesAreToldBeforeAnythingIsAsked) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {},
           {"crate", "rag"},
           {"create"},
           {"create", "rag", "--timeout", "0"},
           {"create", "rag", "--timeout", "2d"},
           {"create", "rag", "--nodes", "-3"},
           {"create", "rag", "--nodes", "3", "--context", "prod"},
           {"create", "rag", "--quota-objects", "-1"},
           {"list", "-o", "xml"},
           {"delete"},
           {"connect", "rag", "-o", "json", "--print"},
       }) {
    EXPECT_EQ(run(words), kUsage) << testing::PrintToString(words);
    EXPECT_NE(out_ + err_, "");
    EXPECT_FALSE(asked_) << testing::PrintToString(words);
  }
  run({"crate", "rag"});
  EXPECT_THAT(err_, HasSubstr("did you mean \"create\"?"));
}

TEST_F(CommandLine, EveryHelpHasExamplesOfItsOwn) {
  for (const char* command : {"create", "list", "connect", "disconnect", "delete", "boot", "completion", "version"}) {
    EXPECT_EQ(run({command, "--help"}), kOk);
    EXPECT_THAT(out_.substr(out_.find("Examples:")), HasSubstr(std::string("sublet ") + command)) << command;
  }
  EXPECT_EQ(run({"--help"}), kOk);
  EXPECT_THAT(out_, HasSubstr("Examples:"));
  EXPECT_EQ(run({"--version"}), kOk);
  EXPECT_THAT(out_, HasSubstr("serving Kubernetes v"));
  EXPECT_FALSE(asked_);
}

TEST_F(CommandLine, CompletionPrintsAScriptForEachShell) {
  EXPECT_EQ(run({"completion", "bash"}), kOk);
  EXPECT_THAT(out_, HasSubstr("complete -F _sublet sublet\n"));
  EXPECT_EQ(run({"completion", "zsh"}), kOk);
  EXPECT_THAT(out_, StartsWith("#compdef sublet\n"));
  EXPECT_EQ(run({"completion", "fish"}), kOk);
  EXPECT_THAT(out_, HasSubstr("complete -c sublet -f\n"));
  EXPECT_EQ(run({"completion", "tcsh"}), kUsage);
  EXPECT_EQ(run({"completion"}), kUsage);
  EXPECT_FALSE(asked_) << "no state is needed";
}

TEST_F(CommandLine, VersionInJson) {
  EXPECT_EQ(run({"version", "-o", "json"}), kOk);
  EXPECT_THAT(out_, HasSubstr("\"kubernetes\": \"v"));
  EXPECT_THAT(out_, Not(HasSubstr("\"0.0.0\""))) << "the build gives it the version";
}

}  // namespace
}  // namespace sublet::cli
