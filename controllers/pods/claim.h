// Claim: which objects are an owner's (pods of a ReplicaSet, ReplicaSets of a Deployment): what it controls and its
// selector selects. An orphan that the selector selects is adopted, what it controls without selecting is released.
//
// The labels decide who would like to have an object, the controller reference who has it. Before the first adoption
// the owner is looked up again: one that is terminating, or replaced by another of its name, adopts nothing.
// Threads: one worker per owner at a time, as a Line sees to it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "controllers/runtime/object_ref.h"
#include "sublet/base/status.h"
#include "sublet/controllers/lister.h"
#include "sublet/kube/selectors.h"

namespace sublet::controllers {

struct Claimant {
  ObjectRef owner;
  bool ending = false;   // the owner has a deletionTimestamp
  const Lister& owners;  // looks it up again
  kube::LabelSelector selector;
  std::string finalizer = "";  // given to what is adopted, taken from what is released (Jobs)
  /// Beyond the selector; null: nothing.
  std::function<bool(const store::Object&)> also = nullptr;
};

struct Claimed {
  std::vector<store::ObjectPtr> objects;  // as they were before an adoption
  std::optional<Status> error;            // of the adoptions and releases, the first
};

/// What the owner controls, and the orphans of its namespace. The lister needs By::owner and By::orphan.
std::vector<store::ObjectPtr> claim_candidates(const Lister& lister, const ObjectRef& owner);

/// `resource`: of the candidates.
Claimed claim(const kube::Client& client, const kube::Resource& resource, const Claimant& claimant,
              const std::vector<store::ObjectPtr>& candidates);

/// Takes the owner's reference (and its finalizer, when there is one) off an object that still has this uid. One that
/// is gone is as good.
Outcome release(const kube::Client& client, const kube::Resource& resource, const store::Object& object,
                std::string_view owner_uid, std::string_view finalizer = {});

}  // namespace sublet::controllers
