#include "controllers/storage/claim_use.h"

#include "sublet/controllers/lister.h"
#include "sublet/kube/json_scan.h"

namespace sublet::controllers {

std::string ephemeral_claim_name(std::string_view pod, std::string_view volume) {
  return std::string(pod).append("-").append(volume);
}

std::vector<UsedClaim> claims_of_pod(const store::Object& pod) {
  std::vector<UsedClaim> claims;
  kube::JsonScanner volumes(raw_of(pod, {"spec", "volumes"}));
  std::string_view key, volume;
  while (volumes.next(key, volume)) {
    if (const auto named = kube::json_member(volume, "persistentVolumeClaim")) {
      if (const auto name = kube::json_member(*named, "claimName"))
        claims.push_back({kube::json_unquote(*name), false});
    } else if (kube::json_member(volume, "ephemeral")) {
      const auto name = kube::json_member(volume, "name");
      claims.push_back({ephemeral_claim_name(name_of(pod), kube::json_unquote(name.value_or(""))), true});
    }
  }
  return claims;
}

bool is_claim_of(const store::Object& claim, const store::Object& pod) {
  return is_controlled_by(claim, pod.index.uid.str());
}

}  // namespace sublet::controllers
