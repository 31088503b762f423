#include "sublet/kube/volume_match.h"

#include <algorithm>
#include <set>

#include "sublet/kube/selectors.h"
#include "sublet/schema/engine.h"

namespace sublet::kube {
namespace {

using schema::Value;

constexpr std::string_view kClassBefore = "volume.beta.kubernetes.io/storage-class";

__int128 size_of(const Value& resources) {
  const auto storage = resources["storage"];
  if (storage.is_integer()) return static_cast<__int128>(storage.integer()) * 1'000'000'000;
  return schema::quantity_nanos(storage.text()).value_or(0);
}

std::set<std::string_view> modes_of(const Value& object) {
  std::set<std::string_view> modes;
  for (auto mode : object["spec"]["accessModes"]) modes.insert(mode.text());
  return modes;
}

bool has_modes_for(const Value& volume, const Value& claim) {
  const auto has = modes_of(volume), wants = modes_of(claim);
  return std::includes(has.begin(), has.end(), wants.begin(), wants.end());
}

bool same_attributes(const Value& volume, const Value& claim) {
  return volume["spec"]["volumeAttributesClassName"].text() == claim["spec"]["volumeAttributesClassName"].text();
}

bool is_labelled_for(const Value& volume, const Value& claim) {
  const auto wanted = claim["spec"]["selector"];
  if (!wanted) return true;
  const auto selector = LabelSelector::from_object(wanted);
  return selector && selector->matches(volume["metadata"]["labels"]);
}

/// What both need, be the volume made for the claim or not.
bool may_hold(const Value& volume, const Value& claim) {
  if (volume["spec"].has("claimRef") && !is_claimed_by(volume, claim)) return false;
  return has_modes_for(volume, claim) &&
         size_of(volume["spec"]["capacity"]) >= size_of(claim["spec"]["resources"]["requests"]) &&
         !modes_differ(volume, claim) && same_attributes(volume, claim) && !volume["metadata"].has("deletionTimestamp");
}

}  // namespace

std::string class_of(const Value& object) {
  if (const auto before = object["metadata"]["annotations"][kClassBefore]) return before.string();
  return object["spec"]["storageClassName"].string();
}

bool has_class(const Value& claim) {
  return claim["metadata"]["annotations"].has(kClassBefore) || claim["spec"].has("storageClassName");
}

bool is_claim_of_pod(const Value& claim, std::string_view pod_uid) {
  for (const Value owner : claim["metadata"]["ownerReferences"])
    if (owner["controller"].boolean() && owner["uid"].text() == pod_uid) return true;
  return false;
}

bool has_more_storage(const Value& resources, const Value& than) { return size_of(resources) > size_of(than); }

bool is_claimed_by(const Value& volume, const Value& claim) {
  const auto reference = volume["spec"]["claimRef"], metadata = claim["metadata"];
  if (!reference || reference["name"].text() != metadata["name"].text() ||
      reference["namespace"].text() != metadata["namespace"].text())
    return false;
  const auto uid = reference["uid"].text();
  return uid.empty() || uid == metadata["uid"].text();
}

bool modes_differ(const Value& volume, const Value& claim) {
  return volume["spec"]["volumeMode"].text("Filesystem") != claim["spec"]["volumeMode"].text("Filesystem");
}

std::string check_requested(const Value& volume, const Value& claim) {
  if (size_of(volume["spec"]["capacity"]) < size_of(claim["spec"]["resources"]["requests"]))
    return "requested PV is too small";
  if (class_of(volume) != class_of(claim)) return "storageClassName does not match";
  if (modes_differ(volume, claim)) return "incompatible volumeMode";
  if (!has_modes_for(volume, claim)) return "incompatible accessMode";
  if (!same_attributes(volume, claim)) return "volumeAttributesClassName does not match";
  return {};
}

Value best_volume(const std::vector<Value>& volumes, const Value& claim, bool only_claimed) {
  Value best;
  const auto rank = [&](const Value& volume) {
    return std::pair(modes_of(volume).size(), size_of(volume["spec"]["capacity"]));
  };
  for (const auto& volume : volumes) {
    if (!may_hold(volume, claim)) continue;
    if (is_claimed_by(volume, claim)) return volume;
    if (only_claimed || volume["status"]["phase"].text() != "Available" || class_of(volume) != class_of(claim) ||
        !is_labelled_for(volume, claim))
      continue;
    if (!best || rank(volume) < rank(best)) best = volume;
  }
  return best;
}

}  // namespace sublet::kube
