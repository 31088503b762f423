// Rollout: one look at one Deployment: finds its ReplicaSets, makes the one of the current template, scales old and new
// in the steps that the strategy allows, and writes what it saw.
//
// Made per reconcile, on its worker's thread.
#pragma once

#include <string>

#include "controllers/deployment/progress.h"
#include "controllers/runtime/object_ref.h"
#include "sublet/controllers/controller.h"

namespace sublet::controllers {

struct DeploymentListers {
  Lister deployments, sets, pods;
};

class Rollout {
 public:
  Rollout(Context& context, const DeploymentListers& listers, const store::Object& stored);
  Outcome run();

 private:
  Outcome claim_sets();
  Outcome note_pause();
  Outcome find_sets(bool create);
  Outcome keep_set(const SetPtr& found, std::int64_t revision);
  Outcome create_set(std::int64_t revision);
  Outcome created(const schema::Document& set, std::int64_t revision, int size);
  Outcome collided(const std::string& name, const Status& why);
  Outcome failed_to_create(const std::string& name, const Status& why);
  bool is_scaled() const;
  Outcome scale_all();
  Outcome roll();
  Outcome recreate();
  Outcome roll_back();
  Outcome give_up_rollback(std::string reason, std::string message);
  Outcome clear_rollback();
  Result<bool> scale(SetPtr& set, int size, bool notes_too = false);
  bool old_pods_run() const;
  Outcome clean_up();
  Outcome conclude(bool rolling);
  Outcome write_status();

  schema::Value deployment() const { return deployment_.root(); }
  schema::Value status() { return deployment_.root().object("status"); }

  Context& context_;
  const DeploymentListers& listers_;
  const ObjectRef owner_;
  const bool ending_;
  schema::Document deployment_;
  std::vector<SetPtr> claimed_;  // oldest first
  SetsOf sets_;
};

extern const KindFacts kDeploymentKind;
extern const kube::Resource kReplicaSetResource;

}  // namespace sublet::controllers
