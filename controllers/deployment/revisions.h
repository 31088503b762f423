// Revisions: the annotations by which a Deployment's ReplicaSets record when their template was in use. `kubectl
// rollout history` and `undo` read them.
//
// Functions of documents; pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sublet/schema/document.h"

namespace sublet::controllers {

inline constexpr std::string_view kRevision = "deployment.kubernetes.io/revision";
inline constexpr std::string_view kRevisionHistory = "deployment.kubernetes.io/revision-history";
inline constexpr std::string_view kDesiredReplicas = "deployment.kubernetes.io/desired-replicas";
inline constexpr std::string_view kMaxReplicas = "deployment.kubernetes.io/max-replicas";
inline constexpr std::string_view kRollbackTo = "deprecated.deployment.rollback.to";
inline constexpr std::string_view kTemplateHash = "pod-template-hash";

/// Equal but for the hash among the labels.
bool same_template(const schema::Value& a, const schema::Value& b);

/// The annotation as a number; 0 when there is none, -1 when it is no number.
std::int64_t revision_of(const schema::Value& object);
/// Gives the set the Deployment's annotations and the revision, when that is higher than its own; what it had goes into
/// its history. `fresh`: it is about to be created, so the sizes go along. True: something has changed.
bool annotate_set(schema::Value set, const schema::Value& deployment, std::int64_t revision);
/// The sizes that a set remembers. True: something has changed.
bool annotate_sizes(schema::Value set, int desired, int max);
/// Annotations that a Deployment takes from the set to which it is rolled back.
void take_annotations(schema::Value deployment, const schema::Value& set);

}  // namespace sublet::controllers
