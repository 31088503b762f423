// sublet_pages FOLDER VERSION DATE: writes the man pages of sublet and subletd into the folder. tools/package/package
// runs it.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <string>

#include "cli/command_line.h"
#include "cli/man_page.h"
#include "subletd/command_line.h"

namespace {

sublet::cli::ManPage daemon_page(const sublet::cli::Edition& edition) {
  sublet::subletd::CommandLine command_line;
  CLI::App app("", "subletd");
  sublet::subletd::declare_roles(app, command_line, [](sublet::subletd::RoleProgram&) {});
  return sublet::cli::daemon_manual(sublet::cli::read_commands(app), edition);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fputs("usage: sublet_pages FOLDER VERSION DATE\n", stderr);
    return 2;
  }
  const std::string folder = argv[1];
  const sublet::cli::Edition edition{argv[2], argv[3]};
  auto pages = sublet::cli::command_line_manual(sublet::cli::command_table(), edition);
  pages.push_back(daemon_page(edition));
  for (const auto& page : pages) {
    std::ofstream file(folder + "/" + page.file, std::ios::binary);
    if (!file.write(page.text.data(), static_cast<std::streamsize>(page.text.size())).flush()) {
      std::fprintf(stderr, "sublet_pages: cannot write %s/%s\n", folder.c_str(), page.file.c_str());
      return 1;
    }
  }
  return 0;
}
