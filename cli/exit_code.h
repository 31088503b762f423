// Exit codes of `sublet`, documented in docs/cli.md; scripts rely on them.
#pragma once

#include "sublet/base/status.h"

namespace sublet::cli {

enum ExitCode : int {
  kOk = 0,
  kFailure = 1,
  kUsage = 2,     // wrong flags, a mistake in a template
  kNotFound = 3,  // no such virtual cluster, context or file
  kTimeout = 4,
  kRefused = 5,  // by policy: the host or sublet itself does not allow it
};

inline int exit_code_of(const Status& status) {
  switch (status.reason) {
    case Reason::not_found:
      return kNotFound;
    case Reason::timeout:
    case Reason::server_timeout:
      return kTimeout;
    case Reason::forbidden:
    case Reason::unauthorized:
    case Reason::already_exists:
      return kRefused;
    case Reason::bad_request:
    case Reason::invalid:
      return kUsage;
    default:
      return kFailure;
  }
}

}  // namespace sublet::cli
