#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "subletd/role.h"

namespace sublet::subletd {
namespace {

/// Notes what is declared.
class NotedFlags final : public Flags {
 public:
  std::set<std::string> names, required_names;
  void text(const std::string& name, std::string&, const std::string& help, bool required) override {
    note(name, help);
    if (required) required_names.insert(name);
  }
  void number(const std::string& name, int&, const std::string& help) override { note(name, help); }
  void toggle(const std::string& name, bool&, const std::string& help) override { note(name, help); }
  void list(const std::string& name, std::vector<std::string>&, const std::string& help) override { note(name, help); }

 private:
  void note(const std::string& name, const std::string& help) {
    EXPECT_TRUE(name.starts_with("--")) << name;
    EXPECT_NE(help, "") << name;
    EXPECT_TRUE(names.insert(name).second) << name << " is declared twice";
  }
};

TEST(Roles, EachHasANameFlagsAndHelpOfItsOwn) {
  std::set<std::string_view> names;
  for (const Role& role : roles()) {
    EXPECT_TRUE(names.insert(role.name).second) << role.name;
    EXPECT_FALSE(role.summary.empty());
    NotedFlags flags;
    role.make()->declare(flags);
    EXPECT_FALSE(flags.names.empty()) << role.name;
  }
  EXPECT_THAT(names, testing::IsSupersetOf({"apiserver", "syncer", "run", "simhost"}));
}

TEST(Roles, WhatSupervisesWantsAFolderThatIsOne) {
  for (const Role& role : roles()) {
    if (role.name != "run") continue;
    const auto program = role.make();
    NotedFlags flags;
    program->declare(flags);
    EXPECT_THAT(flags.required_names, testing::ElementsAre("--dir"));
    const auto outcome = program->run();
    ASSERT_FALSE(outcome);
    EXPECT_THAT(outcome.error().message, testing::HasSubstr("virtual-cluster.json"));
  }
}

}  // namespace
}  // namespace sublet::subletd
