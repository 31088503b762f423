#include "syncer/translate/reserved_keys.h"

#include <algorithm>
#include <iterator>

namespace sublet::syncer {
namespace {

struct KeyRow {
  std::string_view key;  // exact, or all that begins so when it ends in '/'
  bool shown = false;
};
constexpr KeyRow kHostKeys[] = {
    {"runai-gpu-group", true},
    {"runai-gpu-group/", true},  // a pod on several devices has a label per device: runai-gpu-group/<group>
    {"received-resource-type", true},
    {"pod-group-name"},
    {"runai/shared-gpu-configmap"},
    {"run.ai/reserve_for_gpu_index"},
    {"kai.scheduler/top-owner-metadata"},
    {"kai.scheduler/stale-podgroup-timestamp"},
    {"kai.scheduler/last-start-timestamp"},
    // What binds and provisions says of claims and volumes, and a kubelet mounts by, before the fields of the spec.
    {"pv.kubernetes.io/bind-completed"},
    {"pv.kubernetes.io/bound-by-controller"},
    {"pv.kubernetes.io/migrated-to"},
    {"volume.kubernetes.io/"},
    {"volume.beta.kubernetes.io/"},
};

const KeyRow* key_row_of(std::string_view key) {
  const auto found = std::ranges::find_if(
      kHostKeys, [&](const KeyRow& row) { return row.key.ends_with('/') ? key.starts_with(row.key) : key == row.key; });
  return found == std::end(kHostKeys) ? nullptr : &*found;
}

}  // namespace

bool written_by_host(std::string_view key) { return key_row_of(key) != nullptr; }

bool shown_to_tenants(std::string_view key) {
  const KeyRow* row = key_row_of(key);
  return row && row->shown;
}

bool of_sublet(std::string_view key) {
  constexpr std::string_view kDomain = "sublet.dev";
  const std::string_view prefix = key.substr(0, std::min(key.find('/'), key.size()));
  return prefix.ends_with(kDomain) &&
         (prefix.size() == kDomain.size() || prefix[prefix.size() - kDomain.size() - 1] == '.') &&
         prefix.size() < key.size();
}

}  // namespace sublet::syncer
