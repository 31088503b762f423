// BootPlace: the systemd unit that `sublet boot` writes, and its place. The unit runs `sublet boot start` when the
// machine starts: a system unit for root, a user unit otherwise. Pure, except default_boot_place().
#pragma once

#include <string>

#include "sublet/base/status.h"

namespace sublet::cli {

inline constexpr const char* kBootUnit = "sublet.service";

struct BootPlace {
  bool system = false;  // root: a unit of the machine
  std::string unit_path;
  std::string program;       // this `sublet`, absolute
  std::string state_folder;  // of the virtual clusters to start
  std::string user;          // their owner

  /// The unit's text. bad_request when a path has characters that a unit cannot contain.
  Result<std::string> unit_text() const;
  /// The same as a line of shell, for machines without systemd.
  std::string command() const;
};

/// Of this process: its program, its user, its state folder.
BootPlace default_boot_place();
/// Returns the state folder in the text of our unit; not_found for another text.
Result<std::string> state_folder_of_unit(const std::string& text);

}  // namespace sublet::cli
