// Reasons: why a pod does not run, in the tenant's words: what its own object and its events say, most telling first.
// Pure.
#pragma once

#include <string>
#include <vector>

#include "sublet/schema/document.h"

namespace sublet::cli {

struct Reasons {
  bool well = false;  // it runs and is ready, or has ended well
  std::vector<std::string> sentences;
};

/// `events`: items of an EventList, of the pod.
Reasons reasons_of(const schema::Value& pod, const schema::Value& events);
/// Of a pod that is not there: what kept its controller from making one. Empty: nothing is known.
std::vector<std::string> failed_creations(const schema::Value& events);

}  // namespace sublet::cli
