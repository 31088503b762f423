// Upstream's controller manager as a program on this machine.
#pragma once

#include <string>

#include "sublet/base/status.h"

namespace sublet::subletd {

/// The first kube-controller-manager of PATH; not_found says what to do.
Result<std::string> find_controller_manager();

}  // namespace sublet::subletd
