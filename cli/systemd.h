// ServiceManager: the part of systemd that `sublet boot` needs. make_systemd() is the system manager for root, else the
// user's own. Threads: one at a time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sublet/base/status.h"

namespace sublet::cli {

class ServiceManager {
 public:
  virtual ~ServiceManager() = default;
  /// True when it runs on this machine.
  virtual bool runs() const = 0;
  /// Runs `systemctl ARGUMENTS`; an error has its output.
  virtual Outcome control(const std::vector<std::string>& arguments) = 0;
  /// Makes the user's services start with the machine instead of the first login. Does nothing for root.
  virtual Outcome linger() = 0;
};

std::unique_ptr<ServiceManager> make_systemd();

}  // namespace sublet::cli
