#include "cli/man_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/command_line.h"

namespace sublet::cli {
namespace {

using testing::HasSubstr;

const Edition kTestEdition{"1.2.3", "2026-01-02"};

std::string text_of(const std::vector<ManPage>& pages, const std::string& file) {
  for (const ManPage& page : pages)
    if (page.file == file) return page.text;
  return "";
}

TEST(ManPage, EachCommandHasAPageWithItsFlags) {
  const CommandRow table = command_table();
  const auto pages = command_line_manual(table, kTestEdition);
  EXPECT_EQ(pages.size(), table.commands.size() + 1);
  for (const CommandRow& command : table.commands) {
    EXPECT_THAT(text_of(pages, "sublet.1"), HasSubstr("sublet\\-" + command.name + " (1)"));
    const std::string text = text_of(pages, "sublet-" + command.name + ".1");
    EXPECT_THAT(text, HasSubstr("\"sublet 1.2.3\"")) << command.name;
    EXPECT_THAT(text, HasSubstr(".SH EXAMPLES\n.EX\n  ")) << command.name;
    EXPECT_THAT(text, HasSubstr("\\fB\\-\\-help\\fR")) << command.name;
  }
  EXPECT_THAT(text_of(pages, "sublet-list.1"), HasSubstr("\\fItable|wide|json|yaml|name\\fR"));
  EXPECT_THAT(text_of(pages, "sublet-connect.1"), HasSubstr("[\\fB\\-\\-\\fR \\fICOMMAND\\fR...]"));
  EXPECT_THAT(text_of(pages, "sublet-certs.1"), HasSubstr(".SS sublet certs rotate\n"));
}

TEST(ManPage, EscapesWhatRoffWouldInterpret) {
  CommandRow command;
  command.name = "odd";
  command.summary = "A \\ and a - dash";
  command.examples = ".hidden\n'too";
  CommandRow program;
  program.name = "sublet";
  program.commands = {command};
  const std::string text = text_of(command_line_manual(program, kTestEdition), "sublet-odd.1");
  EXPECT_THAT(text, HasSubstr("A \\e and a \\- dash"));
  EXPECT_THAT(text, HasSubstr("\n\\&.hidden\n\\&'too\n"));
}

TEST(ManPage, TheDaemonHasASectionForEachRole) {
  CommandRow role;
  role.name = "run";
  role.summary = "one virtual cluster";
  role.flags = {{{"--dir"}, "TEXT", {}, "its folder", "", true, false},
                {{"--port"}, "INT", {}, "a port", "6443", false, false}};
  CommandRow program;
  program.name = "subletd";
  program.commands = {role};
  const ManPage page = daemon_manual(program, kTestEdition);
  EXPECT_EQ(page.file, "subletd.8");
  EXPECT_THAT(page.text, HasSubstr(".SS subletd run\none virtual cluster.\n"));
  EXPECT_THAT(page.text, HasSubstr("\\fB\\-\\-dir\\fR \\fItext\\fR\nits folder (required)\n"));
  EXPECT_THAT(page.text, HasSubstr("a port (default: 6443)\n"));
}

}  // namespace
}  // namespace sublet::cli
