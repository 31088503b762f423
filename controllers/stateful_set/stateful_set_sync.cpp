#include "controllers/stateful_set/stateful_set_sync.h"

#include <algorithm>

#include "controllers/pods/history.h"
#include "controllers/pods/scaled_value.h"
#include "controllers/pods/status.h"
#include "controllers/runtime/calls.h"
#include "controllers/runtime/event_recorder.h"
#include "controllers/runtime/kinds.h"

namespace sublet::controllers {

using schema::Document;
using schema::Value;

const KindFacts kStatefulSetKind{"apps/v1", "StatefulSet", {"apps", "v1", "statefulsets"}};

namespace {

constexpr std::size_t kBurstMax = 500;

bool runs_and_is_ready(const Pod& pod) { return pod.phase() == "Running" && pod.ready(); }
bool is_created(const Pod& pod) { return !pod.phase().empty(); }
int ordinal_of(const Pod& pod) {
  const auto identity = identity_of(pod.name());
  return identity ? identity->ordinal : -1;
}

}  // namespace

StatefulSetSync::StatefulSetSync(Context& context, const StatefulSetListers& listers, const store::Object& stored)
    : context_(context),
      listers_(listers),
      owner_(ref_of(kStatefulSetKind, stored)),
      ending_(is_ending(stored)),
      now_(context.clock().now()),
      set_(document_of(stored)),
      monotonic_(set_["spec"]["podManagementPolicy"].text() != "Parallel"),
      min_ready_(set_["spec"]["minReadySeconds"].integer()),
      collisions_(set_["status"]["collisionCount"].integer()) {}

Outcome StatefulSetSync::run() {
  auto selector = kube::LabelSelector::from_object(set()["spec"]["selector"]);
  if (!selector) return fail(selector.error());
  claimant_.emplace(Claimant{owner_, ending_, listers_.sets, *selector});
  if (auto found = find_revisions(); !found) return found;
  if (auto claimed = claim_pods(); !claimed) return claimed;
  place_pods();
  auto updated = ending_ ? Outcome() : update_pods();
  auto written = write_status();
  if (!updated) return updated;
  if (!written) return written;
  if (auto truncated = truncate(); !truncated) return truncated;
  if (const auto wait = next_availability(pods_, min_ready_, now_)) context_.enqueue_after(owner_.key(), *wait);
  return {};
}

// --- revisions ---

Outcome StatefulSetSync::find_revisions() {
  auto revisions = claimed_revisions(context_.client(), listers_.revisions, *claimant_);
  if (!revisions) return fail(revisions.error());
  revisions_ = std::move(*revisions);
  const auto data = revision_data(set()["spec"]["template"]);
  const Document* equal = nullptr;
  for (const auto& revision : revisions_)
    if (revision["data"].equals(data.root())) equal = &revision;
  const auto next = revisions_.empty() ? 1 : number_of(revisions_.back().root()) + 1;
  if (!equal) {
    if (auto created = create_revision(next); !created) return created;
  } else if (equal != &revisions_.back()) {
    auto renumbered = renumber(context_.client(), equal->root(), next);
    if (!renumbered) return fail(renumbered.error());
    update_ = std::move(*renumbered);
  } else {
    update_ = equal->clone();
  }
  current_ = update_.clone();
  for (const auto& revision : revisions_)
    if (name_of(revision.root()) == set()["status"]["currentRevision"].text()) current_ = revision.clone();
  return {};
}

/// A name that is taken by another revision asks for one more collision.
Outcome StatefulSetSync::create_revision(std::int64_t number) {
  const auto data = revision_data(set()["spec"]["template"]);
  const auto label = revision_hash(data.root(), collisions_);
  for (;; ++collisions_) {
    const auto hash = revision_hash(data.root(), collisions_);
    auto revision = new_revision(set(), owner_, revision_name(owner_.name, hash), number);
    revision["metadata"].object("labels").put("controller.kubernetes.io/hash", label);
    auto created = context_.client().create(kRevisionResource, owner_.namespace_name, revision.root());
    if (created) {
      update_ = std::move(*created);
      return {};
    }
    if (!created.error().is(Reason::already_exists)) return fail(created.error());
    auto there = context_.client().get(kRevisionResource, owner_.namespace_name, name_of(revision.root()));
    if (!there) return fail(there.error());
    if (!(*there)["data"].equals(data.root())) continue;
    update_ = std::move(*there);
    return {};
  }
}

/// New pods below the partition, or below what an update has not reached yet, are of the old revision.
std::string StatefulSetSync::revision_for(int ordinal) const {
  const auto strategy = set()["spec"]["updateStrategy"];
  const auto rolling = strategy["rollingUpdate"];
  const auto bound = rolling ? rolling["partition"].integer() : set()["status"]["currentReplicas"].integer();
  const bool old = (rolling || strategy["type"].text() == "RollingUpdate") && ordinal < first_ordinal(set()) + bound;
  return name_of(old ? current_.root() : update_.root());
}

Document StatefulSetSync::template_for(int ordinal) const {
  return template_of_revision(revision_for(ordinal) == name_of(current_.root()) ? current_.root() : update_.root());
}

Outcome StatefulSetSync::truncate() {
  const auto limit = set()["spec"]["revisionHistoryLimit"];
  if (!limit || limit.integer() < 0) return {};
  return truncate_history(
      context_.client(), revisions_,
      [&](const Value& revision) {
        const auto name = name_of(revision);
        const bool used =
            std::any_of(pods_.begin(), pods_.end(), [&](const Pod& pod) { return pod.label(kRevisionLabel) == name; });
        return used || name == name_of(current_.root()) || name == name_of(update_.root());
      },
      limit.integer());
}

// --- pods ---

Outcome StatefulSetSync::claim_pods() {
  auto claimant = *claimant_;
  claimant.also = [&](const store::Object& pod) {
    const auto identity = identity_of(name_of(pod));
    return identity && identity->set == owner_.name;
  };
  const auto claimed = claim(context_.client(), kPods, claimant, claim_candidates(listers_.pods, owner_));
  if (claimed.error) return fail(*claimed.error);
  pods_ = pods_of(claimed.objects);
  return {};
}

bool StatefulSetSync::unavailable(const std::optional<Pod>& pod) const {
  return !pod || !pod->available(min_ready_, now_) || pod->ending();
}

void StatefulSetSync::place_pods() {
  for (int i = 0; i < replicas_of_set(set()); ++i) slots_.push_back({first_ordinal(set()) + i, std::nullopt});
  for (const auto& pod : pods_) {
    const int ordinal = ordinal_of(pod);
    if (in_range(set(), ordinal))
      slots_[static_cast<std::size_t>(ordinal - first_ordinal(set()))].pod = pod;
    else if (ordinal >= 0)
      condemned_.push_back(pod);
  }
  std::sort(condemned_.begin(), condemned_.end(),
            [](const Pod& a, const Pod& b) { return ordinal_of(a) > ordinal_of(b); });
  for (const auto& slot : slots_)
    if (first_unavailable_.empty() && unavailable(slot.pod)) first_unavailable_ = pod_name(owner_.name, slot.ordinal);
  for (auto pod = condemned_.rbegin(); pod != condemned_.rend(); ++pod)
    if (first_unavailable_.empty() && unavailable(*pod)) first_unavailable_ = pod->name();
}

Outcome StatefulSetSync::update_pods() {
  std::vector<Slot*> to_create;
  auto filled = fill(to_create);
  if (!filled) return fail(filled.error());
  if (auto created = create_all(to_create); !created) return created;
  if (*filled == Next::stop) return {};
  for (const auto& pod : condemned_)
    if (auto settled = settle_claims(std::string(pod.name()), pod.uid(), ordinal_of(pod)); !settled) return settled;
  auto next = condemn();
  if (!next) return fail(next.error());
  if (*next == Next::stop || set()["spec"]["updateStrategy"]["type"].text() == "OnDelete") return {};
  return roll();
}

/// Looks after the ordinals from the first on; where one has to wait for the other, no further than that.
Result<StatefulSetSync::Next> StatefulSetSync::fill(std::vector<Slot*>& to_create) {
  for (auto& slot : slots_) {
    auto next = tend(slot, to_create);
    if (!next) return next;
    if (*next == Next::stop && monotonic_) return Next::stop;
  }
  return Next::go_on;
}

Result<StatefulSetSync::Next> StatefulSetSync::tend(Slot& slot, std::vector<Slot*>& to_create) {
  if (!slot.pod) {
    if (!claim_is_stale(slot.ordinal)) to_create.push_back(&slot);
    return Next::stop;
  }
  const auto& pod = *slot.pod;
  // However it ended: what is a pod of this set runs again.
  if (pod.terminal()) {
    if (!pod.ending())
      if (auto removed = remove(pod); !removed) return fail(removed.error());
    return Next::stop;
  }
  if (pod.phase() == "Pending") {
    if (auto created = create_claims(std::string(pod.name()), slot.ordinal); !created) return fail(created.error());
    if (auto settled = settle_claims(std::string(pod.name()), pod.uid(), slot.ordinal); !settled)
      return fail(settled.error());
  }
  if (monotonic_ && (pod.ending() || !runs_and_is_ready(pod) || !pod.available(min_ready_, now_))) return Next::stop;
  if (auto kept = keep_invariants(pod); !kept) return fail(kept.error());
  return Next::go_on;
}

Outcome StatefulSetSync::keep_invariants(const Pod& pod) {
  const int ordinal = ordinal_of(pod);
  auto whole = document_of(pod.stored());
  const bool identity = identity_matches(owner_, whole.root()), storage = storage_matches(set(), owner_, whole.root());
  if (auto settled = settle_claims(std::string(pod.name()), pod.uid(), ordinal); !settled) return settled;
  if (identity && storage) return {};
  if (!identity) put_identity(owner_, whole.root());
  if (!storage) {
    if (auto created = create_claims(std::string(pod.name()), ordinal); !created) return created;
    put_storage(set(), owner_, whole.root());
  }
  auto updated = context_.client().update(kPods, owner_.namespace_name, pod.name(), whole.root());
  auto outcome = updated ? Outcome() : fail(updated.error());
  record_event("Update", std::string(pod.name()), outcome);
  return outcome;
}

/// In growing batches: what refuses one is not asked for all.
Outcome StatefulSetSync::create_all(const std::vector<Slot*>& slots) {
  if (monotonic_) return slots.empty() ? Outcome() : create_pod(slots.front()->ordinal);
  std::size_t at = 0;
  for (std::size_t batch = 1; at < slots.size(); batch = std::min(2 * batch, kBurstMax)) {
    std::vector<net::Request> requests;
    const auto end = std::min(slots.size(), at + batch);
    for (auto i = at; i < end; ++i) {
      const int ordinal = slots[i]->ordinal;
      if (auto claims = create_claims(pod_name(owner_.name, ordinal), ordinal); !claims) return claims;
      requests.push_back(context_.client().create_request(
          kPods, owner_.namespace_name,
          new_stateful_pod(set(), template_for(ordinal).root(), owner_, ordinal, revision_for(ordinal)).root()));
    }
    Outcome outcome;
    const auto results = call_all(context_.client(), std::move(requests));
    for (auto i = at; i < end; ++i) {
      const auto& result = results[i - at];
      if (!result && is_namespace_ending(result.error())) return {};
      record_event("Create", pod_name(owner_.name, slots[i]->ordinal), result ? Outcome() : fail(result.error()));
      if (!result && outcome) outcome = fail(result.error());
    }
    if (!outcome) return outcome;
    at = end;
  }
  return {};
}

Outcome StatefulSetSync::create_pod(int ordinal) {
  const auto name = pod_name(owner_.name, ordinal);
  if (auto claims = create_claims(name, ordinal); !claims) {
    record_event("Create", name, claims);
    return claims;
  }
  const auto pod = new_stateful_pod(set(), template_for(ordinal).root(), owner_, ordinal, revision_for(ordinal));
  auto created = context_.client().create(kPods, owner_.namespace_name, pod.root());
  // A pod of that name that belongs to another owner: no event at each retry.
  if (!created && created.error().is(Reason::already_exists)) return fail(created.error());
  if (!created && is_namespace_ending(created.error())) return {};
  auto outcome = created ? Outcome() : fail(created.error());
  record_event("Create", name, outcome);
  if (!created) return outcome;
  return settle_claims(name, (*created)["metadata"]["uid"].string(), ordinal);
}

/// Takes what is too much from the end, one after the other unless all may go at once.
Result<StatefulSetSync::Next> StatefulSetSync::condemn() {
  for (const auto& pod : condemned_) {
    if (pod.ending()) {
      if (monotonic_) return Next::stop;
      continue;
    }
    const bool healthy = runs_and_is_ready(pod) && pod.available(min_ready_, now_);
    if (monotonic_ && !healthy && pod.name() != first_unavailable_) return Next::stop;
    if (auto removed = remove(pod); !removed) return fail(removed.error());
    if (monotonic_) return Next::stop;
  }
  return Next::go_on;
}

/// Pods of another revision go, from the last down to the partition, as long as not too many are missing.
Outcome StatefulSetSync::roll() {
  const auto rolling = set()["spec"]["updateStrategy"]["rollingUpdate"];
  const auto partition = static_cast<std::ptrdiff_t>(rolling["partition"].integer());
  const auto update = name_of(update_.root());
  const bool many = rolling.has("maxUnavailable");
  int left = many ? std::max(1, scaled_value(rolling["maxUnavailable"], replicas_of_set(set()), false)) : 1;
  if (many)
    left -= static_cast<int>(
        std::count_if(slots_.begin(), slots_.end(), [&](const Slot& slot) { return unavailable(slot.pod); }));
  for (auto i = std::ssize(slots_) - 1; i >= partition && left > 0; --i) {
    const auto& pod = slots_[static_cast<std::size_t>(i)].pod;
    if (pod && pod->label(kRevisionLabel) != update && !pod->ending()) {
      if (auto removed = remove(*pod); !removed) return removed;
      ++removed_for_update_;
      --left;
    } else if (!many && unavailable(pod)) {
      return {};
    }
  }
  return {};
}

// --- claims ---

Outcome StatefulSetSync::create_claims(const std::string& pod, int ordinal) {
  Outcome outcome;
  for (const auto& claim : claims_of(set(), owner_, ordinal)) {
    const auto name = name_of(claim.root());
    if (const auto there = listers_.claims.get(owner_.namespace_name, name)) {
      if (is_ending(*there)) outcome = fail(Reason::conflict, "pvc " + name + " is being deleted");
      continue;
    }
    auto created = context_.client().create(kVolumeClaims, owner_.namespace_name, claim.root());
    if (created) {
      context_.events().normal(owner_, "SuccessfulCreate",
                               "Create Claim " + name + " Pod " + pod + " in StatefulSet " + owner_.name + " success");
    } else {
      if (!created.error().is(Reason::already_exists))
        context_.events().warning(owner_, "FailedCreate",
                                  "Create Claim " + name + " for Pod " + pod + " in StatefulSet " + owner_.name +
                                      " failed error: " + created.error().message);
      outcome = fail(created.error().reason, "failed to create PVC " + name + ": " + created.error().message);
    }
  }
  return outcome;
}

/// Returns true while a claim belongs to an earlier pod of this name: it goes with that pod and is created again.
bool StatefulSetSync::claim_is_stale(int ordinal) const {
  if (!retention_of(set()).delete_when_scaled) return false;
  const ObjectRef pod{"v1", "Pod", owner_.namespace_name, pod_name(owner_.name, ordinal), "", ""};
  for (const auto& claim : claims_of(set(), owner_, ordinal)) {
    const auto there = listers_.claims.get(owner_.namespace_name, name_of(claim.root()));
    if (there && has_stale_owner(owners_of(*there), pod)) return true;
  }
  return false;
}

Outcome StatefulSetSync::settle_claims(const std::string& pod, const std::string& pod_uid, int ordinal) {
  const ClaimOwners wanted{
      owner_, {"v1", "Pod", owner_.namespace_name, pod, pod_uid, ""}, retention_of(set()), !in_range(set(), ordinal)};
  for (const auto& claim : claims_of(set(), owner_, ordinal)) {
    const auto name = name_of(claim.root());
    const auto there = listers_.claims.get(owner_.namespace_name, name);
    if (!there) continue;
    const auto owners = owners_of(*there);
    if (has_unexpected_controller(owners, wanted))
      context_.events().warning(owner_, "ConflictingController",
                                "PersistentVolumeClaim " + name +
                                    " has a conflicting OwnerReference that acts as a manging controller, the "
                                    "retention policy is ignored for this claim");
    if (claim_owners_match(owners, wanted)) continue;
    // A whole update, as upstream sends it: the controller's role has no patch.
    auto changed = document_of(*there);
    auto references = changed.root().object("metadata").array("ownerReferences");
    references.retain([](const Value&) { return false; });
    for (const auto& owner : new_claim_owners(owners, wanted)) {
      auto reference = references.push_object();
      reference.put("apiVersion", owner.api_version);
      reference.put("kind", owner.kind);
      reference.put("name", owner.name);
      reference.put("uid", owner.uid);
      if (owner.controller) reference.put("controller", true);
      if (owner.block_owner_deletion) reference.put("blockOwnerDeletion", true);
    }
    const auto updated = context_.client().update(kVolumeClaims, owner_.namespace_name, name, changed.root());
    if (!updated)
      return fail(updated.error().reason,
                  "could not update claim " + name + " for delete policy ownerRefs: " + updated.error().message);
  }
  return {};
}

// --- events and status ---

Outcome StatefulSetSync::remove(const Pod& pod) {
  auto removed = context_.client().remove(kPods, owner_.namespace_name, pod.name());
  auto outcome = removed || removed.error().is(Reason::not_found) ? Outcome() : fail(removed.error());
  record_event("Delete", std::string(pod.name()), outcome);
  return outcome;
}

void StatefulSetSync::record_event(const std::string& verb, const std::string& pod, const Outcome& outcome) const {
  const auto what = verb + " Pod " + pod + " in StatefulSet " + owner_.name;
  if (outcome)
    context_.events().normal(owner_, "Successful" + verb, what + " successful");
  else
    context_.events().warning(owner_, "Failed" + verb, what + " failed error: " + outcome.error().message);
}

Outcome StatefulSetSync::write_status() {
  const auto current = name_of(current_.root()), update = name_of(update_.root());
  std::int64_t created = 0, ready = 0, available = 0, of_current = 0, of_update = 0;
  for (const auto& pod : pods_) {
    created += is_created(pod) ? 1 : 0;
    ready += runs_and_is_ready(pod) ? 1 : 0;
    available += runs_and_is_ready(pod) && pod.available(min_ready_, now_) ? 1 : 0;
    if (!is_created(pod) || pod.ending()) continue;
    of_current += pod.label(kRevisionLabel) == current ? 1 : 0;
    of_update += pod.label(kRevisionLabel) == update ? 1 : 0;
  }
  // A removed pod may be one that is not counted: it was not created yet, or is of a third revision.
  of_current = std::max<std::int64_t>(0, of_current - removed_for_update_);
  const std::int64_t wanted = replicas_of_set(set());
  const bool done = set()["spec"]["updateStrategy"]["type"].text() == "RollingUpdate" && of_update == wanted &&
                    ready == wanted && created == wanted;
  auto status = Document::copy_of(set()["status"]);
  if (!status.root().is_object()) status.root().make_object();
  auto root = status.root();
  put_count(root, "observedGeneration", set()["metadata"]["generation"].integer());
  root.put("replicas", created);
  put_count(root, "readyReplicas", ready);
  root.put("availableReplicas", available);
  put_count(root, "currentReplicas", done ? of_update : of_current);
  put_count(root, "updatedReplicas", of_update);
  root.put("currentRevision", done ? update : current);
  root.put("updateRevision", update);
  root.put("collisionCount", collisions_);
  if (root.equals(set()["status"])) return {};
  auto changed = set_.clone();
  changed.root().put("status", root);
  auto updated = put_status(context_.client(), kStatefulSetKind.resource, changed.root());
  return updated ? Outcome() : fail(updated.error());
}

}  // namespace sublet::controllers
