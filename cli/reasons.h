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

/// `events`: items of an EventList, of the pod. `gang`: what gang_of() says.
Reasons reasons_of(const schema::Value& pod, const schema::Value& events, const std::string& gang = {});
/// Of a pod that is to be scheduled with the others of its PodGroup; the host's scheduler says nothing while it waits
/// for them. `group`: missing where there is none; `pods`: items of a PodList, of its namespace. "": it waits for none.
std::string gang_of(const schema::Value& pod, const schema::Value& group, const schema::Value& pods);
/// Of a pod that is not there: what kept its controller from making one. Empty: nothing is known.
std::vector<std::string> failed_creations(const schema::Value& events);

}  // namespace sublet::cli
