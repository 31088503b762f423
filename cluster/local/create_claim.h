// CreateClaim: one `sublet create` of a virtual cluster at a time; a second one waits and then finds what the first
// made.
//
// Holds a kernel lock in the virtual cluster's folder, which it makes. When it ends and there is no record, the folder
// goes again, so that a create that did not come that far leaves nothing. Threads: one.
#pragma once

#include <chrono>
#include <string>

#include "sublet/base/status.h"

namespace sublet::cluster {

class CreateClaim {
 public:
  /// timeout when another holds it for so long.
  static Result<CreateClaim> take(const std::string& folder, std::chrono::seconds patience);
  CreateClaim(CreateClaim&& other) noexcept;
  CreateClaim& operator=(CreateClaim&&) = delete;
  ~CreateClaim();

 private:
  CreateClaim(std::string folder, int lock) : folder_(std::move(folder)), lock_(lock) {}
  std::string folder_;
  int lock_ = -1;
};

}  // namespace sublet::cluster
