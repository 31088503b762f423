// Which PersistentVolumeClaims a pod uses: those that it names, and those that are made for its ephemeral volumes.
// Pure. Source: k8s.io/component-helpers/storage/ephemeral.
#pragma once

#include <string>
#include <vector>

#include "controllers/runtime/object_ref.h"
#include "sublet/schema/document.h"

namespace sublet::controllers {

struct UsedClaim {
  std::string name;
  bool ephemeral = false;  // it is this pod's own
};
/// In the order of the volumes. Reads the stored text alone: cheap for pods without any.
std::vector<UsedClaim> claims_of_pod(const store::Object& pod);

/// The claim of an ephemeral volume.
std::string ephemeral_claim_name(std::string_view pod, std::string_view volume);
/// It was made for this pod: its controller is the pod.
bool is_claim_of(const store::Object& claim, const store::Object& pod);

}  // namespace sublet::controllers
