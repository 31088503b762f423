// Reasons: why a pod does not run, from its own object and its events, the most specific first. Pure.
#pragma once

#include <string>
#include <vector>

#include "sublet/schema/document.h"

namespace sublet::cli {

struct Reasons {
  bool well = false;  // it runs and is ready, or has ended well
  std::vector<std::string> sentences;
};

/// `events`: items of an EventList, of the pod. `gang`: the result of gang_of().
Reasons reasons_of(const schema::Value& pod, const schema::Value& events, const std::string& gang = {});
/// For a pod of a PodGroup: what it waits for; the host's scheduler emits no event while it waits for the others.
/// `group`: missing where there is none; `pods`: items of a PodList, of its namespace. "": it waits for none.
std::string gang_of(const schema::Value& pod, const schema::Value& group, const schema::Value& pods);
/// For a pod that does not exist: why its controller could not create one. Empty: unknown.
/// `pod_name`: events of objects with unrelated names are left out.
std::vector<std::string> failed_creations(const schema::Value& events, const std::string& pod_name);
/// True when `pod` can be the name of a pod of that controller ("web-0" of "web"), or names the controller itself.
bool may_control(std::string_view controller, std::string_view pod);

}  // namespace sublet::cli
