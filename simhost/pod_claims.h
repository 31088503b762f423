// PodClaims: the volume claims and device claims of a pod, as a scheduler looks at them: whether they let the pod be
// placed at all, and which ones are bound only after a node is chosen. Pure, except for reading the informers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sublet/kube/informer.h"
#include "sublet/schema/document.h"

namespace sublet::simhost {

/// Copies of what a scheduler reads beside pods and nodes.
struct SchedulerInputs {
  const kube::Informer* volume_claims = nullptr;
  const kube::Informer* storage_classes = nullptr;
  const kube::Informer* device_claims = nullptr;
  const kube::Informer* queues = nullptr;  // of KAI
};

struct ClaimVerdict {
  std::string refusal{};               // why no node can take the pod; "": nothing holds it
  bool is_devices = false;             // the refusal counts for each node: devices are on nodes
  std::vector<std::string> to_bind{};  // volume claims of the class mode WaitForFirstConsumer without a node
  bool waits = false;                  // for such claims to be bound
};

/// Returns true if the pod names volume claims or device claims.
bool has_claims(const schema::Value& pod);
ClaimVerdict judge_claims(const schema::Value& pod, const SchedulerInputs& inputs);

/// The name of the claim behind a volume of the pod; nullopt for a volume without one.
std::optional<std::string> volume_claim_name(const schema::Value& pod, const schema::Value& volume);

}  // namespace sublet::simhost
