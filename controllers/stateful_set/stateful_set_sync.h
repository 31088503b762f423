// StatefulSetSync: one look at one StatefulSet: its revisions, a pod for every ordinal (one after the other, or all at
// once), what is too much from the end, and the next step of an update.
//
// Made per reconcile, on its worker's thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controllers/pods/claim.h"
#include "controllers/pods/pod.h"
#include "controllers/stateful_set/identity.h"
#include "sublet/controllers/controller.h"

namespace sublet::controllers {

extern const KindFacts kStatefulSetKind;

struct StatefulSetListers {
  Lister sets, pods, revisions, claims;
};

class StatefulSetSync {
 public:
  StatefulSetSync(Context& context, const StatefulSetListers& listers, const store::Object& stored);
  Outcome run();

 private:
  /// One ordinal that is wanted; without a pod until it is made.
  struct Slot {
    int ordinal;
    std::optional<Pod> pod;
  };
  enum class Next : std::uint8_t { go_on, stop };

  Outcome find_revisions();
  Outcome create_revision(std::int64_t number);
  Outcome claim_pods();
  void place_pods();
  Outcome update_pods();
  Result<Next> fill(std::vector<Slot*>& to_create);
  Result<Next> tend(Slot& slot, std::vector<Slot*>& to_create);
  Outcome keep_invariants(const Pod& pod);
  Outcome create_all(const std::vector<Slot*>& slots);
  Outcome create_pod(int ordinal);
  Result<Next> condemn();
  Outcome roll();
  Outcome create_claims(const std::string& pod, int ordinal);
  Outcome settle_claims(const std::string& pod, const std::string& pod_uid, int ordinal);
  bool claim_is_stale(int ordinal) const;
  Outcome remove(const Pod& pod);
  void record_event(const std::string& verb, const std::string& pod, const Outcome& outcome) const;
  Outcome write_status();
  Outcome truncate();

  bool unavailable(const std::optional<Pod>& pod) const;
  schema::Value set() const { return set_.root(); }
  std::string revision_for(int ordinal) const;
  schema::Document template_for(int ordinal) const;

  Context& context_;
  const StatefulSetListers& listers_;
  const ObjectRef owner_;
  const bool ending_;
  const WallTime now_;
  schema::Document set_;
  const bool monotonic_;
  const std::chrono::seconds min_ready_;
  std::optional<Claimant> claimant_;
  std::vector<schema::Document> revisions_;
  schema::Document current_, update_;  // revisions
  std::int64_t collisions_;
  std::vector<Pod> pods_;
  std::vector<Slot> slots_;
  std::vector<Pod> condemned_;     // the highest ordinal first
  std::string first_unavailable_;  // its name
  int removed_for_update_ = 0;
};

}  // namespace sublet::controllers
