// Variables: names of environment variables by which a container would choose what is the platform's to choose: which
// devices it gets, how much of a shared one, and which code runs in processes that the host starts for it (a container
// runtime's hooks inherit them). Pure data; any thread.
#pragma once

#include <string_view>

#include "sublet/patches/allowed.h"

namespace sublet::syncer {

bool steers(std::string_view variable);
/// Whether some variable that begins so steers and is not allowed.
bool could_steer(std::string_view prefix, const patches::Patterns& allowed);

}  // namespace sublet::syncer
