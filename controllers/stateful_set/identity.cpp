#include "controllers/stateful_set/identity.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "controllers/pods/pod_control.h"

namespace sublet::controllers {
namespace {

using schema::Document;
using schema::Value;

bool names(const OwnerRef& reference, const ObjectRef& owner) {
  return reference.api_version == owner.api_version && reference.kind == owner.kind && reference.name == owner.name;
}

bool owned_by(const std::vector<OwnerRef>& owners, const ObjectRef& owner) {
  return std::any_of(owners.begin(), owners.end(),
                     [&](const OwnerRef& reference) { return reference.uid == owner.uid; });
}

bool needs_set(const ClaimOwners& wanted) {
  const auto& retention = wanted.retention;
  return retention.delete_when_deleted && !(retention.delete_when_scaled && wanted.scaled_down);
}

bool needs_pod(const ClaimOwners& wanted) { return wanted.retention.delete_when_scaled && wanted.scaled_down; }

OwnerRef controller_ref(const ObjectRef& owner) {
  return {owner.api_version, owner.kind, owner.name, owner.uid, true, true};
}

}  // namespace

std::optional<PodIdentity> identity_of(std::string_view name) {
  const auto dash = name.rfind('-');
  if (dash == std::string_view::npos || dash + 1 == name.size()) return std::nullopt;
  int ordinal = 0;
  const auto digits = name.substr(dash + 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), ordinal);
  if (error != std::errc() || end != digits.data() + digits.size() || digits.front() == '-') return std::nullopt;
  return PodIdentity{std::string(name.substr(0, dash)), ordinal};
}

std::string pod_name(std::string_view set, int ordinal) {
  return std::string(set).append("-").append(std::to_string(ordinal));
}

std::string claim_name(std::string_view claim, std::string_view set, int ordinal) {
  return std::string(claim).append("-").append(pod_name(set, ordinal));
}

int first_ordinal(const Value& set) { return static_cast<int>(set["spec"]["ordinals"]["start"].integer()); }

int replicas_of_set(const Value& set) { return static_cast<int>(set["spec"]["replicas"].integer(1)); }

bool in_range(const Value& set, int ordinal) {
  return ordinal >= first_ordinal(set) && ordinal < first_ordinal(set) + replicas_of_set(set);
}

void put_identity(const ObjectRef& owner, Value pod) {
  const auto identity = identity_of(pod["metadata"]["name"].text());
  const int ordinal = identity ? identity->ordinal : -1;
  auto metadata = pod.object("metadata");
  metadata.put("name", pod_name(owner.name, ordinal));
  metadata.put("namespace", owner.namespace_name);
  metadata.object("labels").put(kPodNameLabel, metadata["name"]);
  metadata["labels"].put(kPodIndexLabel, std::to_string(ordinal));
}

void put_storage(const Value& set, const ObjectRef& owner, Value pod) {
  const auto templates = set["spec"]["volumeClaimTemplates"];
  if (templates.empty()) return;
  const auto identity = identity_of(pod["metadata"]["name"].text());
  auto volumes = pod.object("spec").array("volumes");
  volumes.retain([&](const Value& volume) {
    for (auto claim : templates)
      if (claim["metadata"]["name"].text() == volume["name"].text()) return false;
    return true;
  });
  std::size_t at = 0;
  for (auto claim : templates) {
    auto volume = volumes.insert(at++);
    volume.make_object();
    const auto name = claim["metadata"]["name"].text();
    volume.put("name", name);
    volume.object("persistentVolumeClaim")
        .put("claimName", claim_name(name, owner.name, identity ? identity->ordinal : -1));
  }
}

Document new_stateful_pod(const Value& set, const Value& pod_template, const ObjectRef& owner, int ordinal,
                          const std::string& revision) {
  auto pod = pod_from_template(pod_template, owner);
  auto metadata = pod["metadata"];
  metadata.put("name", pod_name(owner.name, ordinal));
  put_identity(owner, pod.root());
  auto spec = pod.root().object("spec");
  spec.put("hostname", metadata["name"]);
  if (auto service = set["spec"]["serviceName"]; !service.text().empty()) spec.put("subdomain", service);
  put_storage(set, owner, pod.root());
  metadata["labels"].put(kRevisionLabel, revision);
  return pod;
}

std::vector<Document> claims_of(const Value& set, const ObjectRef& owner, int ordinal) {
  std::vector<Document> claims;
  for (auto claim_template : set["spec"]["volumeClaimTemplates"]) {
    auto claim = Document::copy_of(claim_template);
    auto metadata = claim.root().object("metadata");
    metadata.put("name", claim_name(claim_template["metadata"]["name"].text(), owner.name, ordinal));
    metadata.put("namespace", owner.namespace_name);
    for (auto label : set["spec"]["selector"]["matchLabels"]) metadata.object("labels").put(label.key(), label);
    claims.push_back(std::move(claim));
  }
  return claims;
}

bool identity_matches(const ObjectRef& owner, const Value& pod) {
  const auto name = pod["metadata"]["name"].text();
  const auto identity = identity_of(name);
  return identity && identity->set == owner.name && name == pod_name(owner.name, identity->ordinal) &&
         pod["metadata"]["labels"][kPodNameLabel].text() == name;
}

bool storage_matches(const Value& set, const ObjectRef& owner, const Value& pod) {
  const auto identity = identity_of(pod["metadata"]["name"].text());
  if (!identity) return false;
  for (auto claim : set["spec"]["volumeClaimTemplates"]) {
    const auto name = claim["metadata"]["name"].text();
    const auto wanted = claim_name(name, owner.name, identity->ordinal);
    bool found = false;
    for (auto volume : pod["spec"]["volumes"])
      found |= volume["name"].text() == name && volume["persistentVolumeClaim"]["claimName"].text() == wanted;
    if (!found) return false;
  }
  return true;
}

ClaimRetention retention_of(const Value& set) {
  const auto policy = set["spec"]["persistentVolumeClaimRetentionPolicy"];
  return {policy["whenScaled"].text() == "Delete", policy["whenDeleted"].text() == "Delete"};
}

bool has_unexpected_controller(const std::vector<OwnerRef>& owners, const ClaimOwners& wanted) {
  if (!wanted.retention.delete_when_scaled && !wanted.retention.delete_when_deleted) return false;
  for (const auto& reference : owners) {
    const auto* own = names(reference, wanted.set) ? &wanted.set : names(reference, wanted.pod) ? &wanted.pod : nullptr;
    if (own ? reference.uid != own->uid : reference.controller) return true;
  }
  return false;
}

bool has_stale_owner(const std::vector<OwnerRef>& owners, const ObjectRef& owner) {
  for (const auto& reference : owners)
    if (names(reference, owner)) return reference.uid != owner.uid;
  return false;
}

bool claim_owners_match(const std::vector<OwnerRef>& owners, const ClaimOwners& wanted) {
  if (has_stale_owner(owners, wanted.set) || has_stale_owner(owners, wanted.pod)) return true;  // not ours to touch
  const bool by_set = owned_by(owners, wanted.set), by_pod = owned_by(owners, wanted.pod);
  if (has_unexpected_controller(owners, wanted)) return !by_set && !by_pod;
  for (const auto& reference : owners)
    if ((reference.uid == wanted.set.uid || reference.uid == wanted.pod.uid) && !reference.controller) return false;
  return by_set == needs_set(wanted) && by_pod == needs_pod(wanted);
}

std::vector<OwnerRef> new_claim_owners(std::vector<OwnerRef> owners, const ClaimOwners& wanted) {
  const bool unexpected = has_unexpected_controller(owners, wanted);
  std::erase_if(
      owners, [&](const OwnerRef& reference) { return names(reference, wanted.set) || names(reference, wanted.pod); });
  if (unexpected) return owners;
  if (needs_set(wanted)) owners.push_back(controller_ref(wanted.set));
  if (needs_pod(wanted)) owners.push_back(controller_ref(wanted.pod));
  return owners;
}

}  // namespace sublet::controllers
