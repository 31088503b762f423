// Progress: a Deployment's status and its conditions, computed from its ReplicaSets.
//
// Functions of documents and a time; pure.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "controllers/pods/status.h"
#include "sublet/base/clock.h"
#include "sublet/schema/document.h"

namespace sublet::controllers {

inline constexpr std::string_view kProgressing = "Progressing",  // condition
    kProgressDeadlineExceeded = "ProgressDeadlineExceeded";      // its reason

using SetPtr = std::shared_ptr<schema::Document>;

/// A Deployment's ReplicaSets: the one of the current template (null when there is none yet) and the others.
struct SetsOf {
  SetPtr fresh;
  std::vector<SetPtr> old;
  std::vector<SetPtr> all() const;  // the old ones first
};

bool has_progress_deadline(const schema::Value& deployment);
/// A Deployment's condition has a lastUpdateTime too; one of the same status and reason stays as it is, one of the same
/// status keeps its transition time.
bool put_deployment_condition(schema::Value status, const Condition& condition, WallTime now);

/// Writes the sets' counts and whether enough pods are available. Keeps the other conditions.
schema::Document deployment_status(const schema::Value& deployment, const SetsOf& sets, WallTime now);
/// The same with how the rollout goes on: progress, deadline, what keeps its sets from making pods.
schema::Document rollout_status(const schema::Value& deployment, const SetsOf& sets, WallTime now);
/// All pods are of the current template and available, no others are left.
bool is_complete(const schema::Value& deployment, const schema::Value& status);
/// Returns when to check whether the rollout has missed its deadline; nullopt: never.
std::optional<std::chrono::milliseconds> next_progress_check(const schema::Value& deployment,
                                                             const schema::Value& status, WallTime now);

}  // namespace sublet::controllers
