// ServiceManager: what starts services on this machine, as far as `sublet boot` needs it. make_systemd() is the real
// one: of the machine for root, else the user's own. Threads: one at a time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sublet/base/status.h"

namespace sublet::cli {

class ServiceManager {
 public:
  virtual ~ServiceManager() = default;
  /// Whether it runs here at all.
  virtual bool runs() const = 0;
  /// `systemctl ARGUMENTS`; an error has what that said.
  virtual Outcome control(const std::vector<std::string>& arguments) = 0;
  /// Has the user's services start with the machine, not with their first login. Nothing to do for root.
  virtual Outcome linger() = 0;
};

std::unique_ptr<ServiceManager> make_systemd();

}  // namespace sublet::cli
