// InterruptHint: while one exists, ^C (SIGINT, SIGTERM, SIGHUP) ends the command with a hint on how to continue.
//
// The state on disk must allow what the hint promises at every moment of its life. At most one at a time. Threads: one.
#pragma once

#include <string>

namespace sublet::cli {

class InterruptHint {
 public:
  explicit InterruptHint(const std::string& how_to_go_on);
  ~InterruptHint();
  InterruptHint(const InterruptHint&) = delete;
  InterruptHint& operator=(const InterruptHint&) = delete;
};

}  // namespace sublet::cli
