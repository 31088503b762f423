// ManPage: the manual of sublet and subletd in roff, generated from the tables of their commands: sublet(1), a page for
// each of its commands, subletd(8). Pure.
#pragma once

#include <string>
#include <vector>

#include "cli/command_table.h"

namespace sublet::cli {

struct Edition {
  std::string version;  // "0.2.0"
  std::string date;     // "2026-11-25"
};

struct ManPage {
  std::string file;  // "sublet-create.1"
  std::string text;
};

std::vector<ManPage> command_line_manual(const CommandRow& sublet, const Edition& edition);
ManPage daemon_manual(const CommandRow& subletd, const Edition& edition);

}  // namespace sublet::cli
