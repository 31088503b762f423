// What Tab offers in bash, asked of bash itself; zsh and fish are asked by tests/package/run, where they are installed.
#include "cli/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdio.h>
#include <sys/stat.h>

#include "cli/command_line.h"
#include "cluster/folder_testing.h"
#include "sublet/base/files.h"

namespace sublet::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

class BashCompletion : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(replace_file(folder_.path + "/completion", bash_completion(command_table())));
    ASSERT_TRUE(replace_file(folder_.path + "/sublet",
                             "#!/bin/sh\n[ \"$*\" = 'list -o name' ] && printf "
                             "'virtualcluster/rag\\nvirtualcluster/train\\nvirtualcluster/team/two\\n'\n"));
    ASSERT_EQ(::chmod((folder_.path + "/sublet").c_str(), 0700), 0);
  }

  // What is offered for the last of the words, in one line. The words are shell words.
  std::string offered(const std::string& words) {
    const std::string script = "cd '" + folder_.path +
                               "' && PATH=\"$PWD:$PATH\" && source ./completion && COMP_WORDS=(" + words +
                               ") && COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) && _sublet; echo \"${COMPREPLY[*]}\"";
    FILE* bash = ::popen(("exec bash -c " + quoted(script) + " 2>&1").c_str(), "re");
    std::string text;
    for (int c = 0; bash && (c = std::fgetc(bash)) != EOF;) text += static_cast<char>(c);
    EXPECT_TRUE(bash && ::pclose(bash) == 0);
    if (text.ends_with('\n')) text.pop_back();
    return text;
  }

 private:
  static std::string quoted(const std::string& text) {
    std::string out = "'";
    for (const char c : text) out += c == '\'' ? "'\\''" : std::string(1, c);
    return out + "'";
  }

  const testing_support::TestFolder folder_;
};

TEST_F(BashCompletion, OffersCommandsAndTheCommandsOfCommands) {
  EXPECT_EQ(offered("sublet cr"), "create");
  EXPECT_EQ(offered("sublet certs ''"), "check rotate");
  EXPECT_EQ(offered("sublet boot st"), "start");
  EXPECT_EQ(offered("sublet completion ''"), "bash zsh fish");
}

TEST_F(BashCompletion, OffersTheNamesOfVirtualClusters) {
  EXPECT_EQ(offered("sublet connect ''"), "rag train virtualcluster/team/two");
  EXPECT_EQ(offered("sublet certs rotate t"), "train");
  EXPECT_EQ(offered("sublet connect rag ''"), "") << "it takes one";
  EXPECT_EQ(offered("sublet delete rag t"), "train") << "it takes several";
  EXPECT_EQ(offered("sublet rm -n team r"), "rag") << "an alias, and a flag with its value before";
  EXPECT_EQ(offered("sublet why rag ''"), "");
}

TEST_F(BashCompletion, OffersFlagsAndTheirValues) {
  EXPECT_EQ(offered("sublet list --out"), "--output");
  EXPECT_EQ(offered("sublet list -o ''"), "table wide json yaml name");
  EXPECT_EQ(offered("sublet list --output = y"), "yaml") << "as bash splits --output=y";
  EXPECT_EQ(offered("sublet list --output ="), "table wide json yaml name");
  EXPECT_EQ(offered("sublet create new -f comp"), "completion") << "a file";
  EXPECT_EQ(offered("sublet create -n ''"), "");
}

TEST_F(BashCompletion, LeavesWordsBehindDashesToTheProgram) {
  EXPECT_EQ(offered("sublet connect rag -- ''"), "");
  EXPECT_EQ(offered("sublet list -- ''"), "");
}

TEST(Completion, EveryShellHasEveryCommandAndFlag) {
  const CommandRow table = command_table();
  const std::string bash = bash_completion(table), zsh = zsh_completion(table), fish = fish_completion(table);
  ASSERT_FALSE(table.commands.empty());
  for (const CommandRow& command : table.commands) {
    EXPECT_THAT(bash, HasSubstr("'" + command.name + "')")) << command.name;
    EXPECT_THAT(zsh, HasSubstr("_sublet_" + command.name + "()")) << command.name;
    EXPECT_THAT(fish, HasSubstr(" -a " + command.name + " -d ")) << command.name;
    for (const WordRow& flag : command.flags)
      for (const std::string& name : flag.names) {
        EXPECT_THAT(bash, HasSubstr(name)) << command.name;
        EXPECT_THAT(zsh, HasSubstr(name)) << command.name;
        EXPECT_THAT(fish, HasSubstr(name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1)));
      }
  }
  for (const std::string& script : {bash, zsh, fish}) EXPECT_THAT(script, Not(HasSubstr("@LIST@")));
}

TEST(CommandTable, HasWhatTheAppHas) {
  const CommandRow table = command_table();
  EXPECT_EQ(table.name, "sublet");
  const CommandRow& list = table.commands.at(1);
  EXPECT_EQ(list.name, "list");
  EXPECT_THAT(list.aliases, testing::ElementsAre("ls"));
  EXPECT_THAT(list.examples, testing::StartsWith("  sublet list\n"));
  const WordRow& output = list.flags.at(2);
  EXPECT_THAT(output.names, testing::ElementsAre("-o", "--output"));
  EXPECT_THAT(output.choices, testing::ElementsAre("table", "wide", "json", "yaml", "name"));
  const CommandRow& connect = table.commands.at(2);
  EXPECT_TRUE(connect.runs_program);
  ASSERT_EQ(connect.arguments.size(), 1u);
  EXPECT_EQ(connect.arguments[0].names.at(0), "NAME");
  EXPECT_TRUE(connect.arguments[0].required);
  EXPECT_FALSE(connect.arguments[0].repeats);
  EXPECT_TRUE(table.commands.at(4).arguments.at(0).repeats) << "delete";
}

}  // namespace
}  // namespace sublet::cli
