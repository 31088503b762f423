// BootPlace: what `sublet boot` writes and where: a systemd unit that runs `sublet boot start` when the machine starts,
// of the machine for root and of the user's own manager for everybody else. Pure, but for default_boot_place().
#pragma once

#include <string>

#include "sublet/base/status.h"

namespace sublet::cli {

inline constexpr const char* kBootUnit = "sublet.service";

struct BootPlace {
  bool system = false;  // root: a unit of the machine
  std::string unit_path;
  std::string program;       // this `sublet`, absolute
  std::string state_folder;  // whose virtual clusters come back
  std::string user;          // whose they are

  /// The unit's file. bad_request when a path has characters that a unit cannot carry.
  Result<std::string> unit_text() const;
  /// The same for whatever else starts a machine: a line of shell.
  std::string command() const;
};

/// Of this process: its program, its user, its state folder.
BootPlace default_boot_place();
/// The state folder that a unit of ours is about; not_found when the text is no unit of ours.
Result<std::string> state_folder_of_unit(const std::string& text);

}  // namespace sublet::cli
