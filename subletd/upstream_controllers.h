// Upstream's controller manager as a program on this machine.
#pragma once

#include <string>
#include <vector>

#include "sublet/base/status.h"
#include "sublet/cluster/local_layout.h"

namespace sublet::subletd {

/// The first kube-controller-manager of PATH; not_found says what to do.
Result<std::string> find_controller_manager();
/// With what it is called for this virtual cluster; what the template gives comes last.
std::vector<std::string> controller_manager_command(const cluster::LocalLayout& layout,
                                                    const patches::SyncConfig& config, const std::string& program);

}  // namespace sublet::subletd
