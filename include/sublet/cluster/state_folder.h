// The state folder: where sublet keeps, for one user of this machine, what must outlive a command.
#pragma once

#include <string>

namespace sublet::cluster {

/// $SUBLET_STATE_DIR, else $XDG_STATE_HOME/sublet, else ~/.local/state/sublet; absolute, symbolic links not resolved.
std::string chosen_state_folder();
/// The path without symbolic links, as daemons and sockets see it.
std::string resolved_folder(const std::string& folder);
/// The chosen state folder, resolved.
std::string default_state_folder();

}  // namespace sublet::cluster
