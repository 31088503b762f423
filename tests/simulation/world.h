// World: everybody but the syncer. The tenant's user, who follows a script; the host's scheduler and kubelet, which say
// events too; who binds its claims, and on both sides who keeps claims while they are used; and others on the host, who
// change and delete what is ours, and take its names. They speak to the servers directly, without faults.
#pragma once

#include <string>
#include <vector>

#include "tests/simulation/dice.h"
#include "tests/simulation/faults.h"
#include "tests/simulation/script.h"
#include "tests/simulation/side.h"
#include "tests/simulation/trace.h"

namespace sublet::simulation {

inline constexpr const char* kVirtualCluster = "rag";
inline constexpr const char* kVirtualClusterUid = "vc-uid";
inline constexpr const char* kHostNamespace = "team";

kube::Resource resource_of(const std::string& kind);
/// Kinds that cross, which the others on the host disturb and the checks look at.
inline constexpr const char* kCrossingKinds[] = {"pods", "configmaps", "secrets", "services", "persistentvolumeclaims"};
/// Returns true for a pod that has succeeded or failed.
bool has_ended(const schema::Value& pod);
/// Whether a host object carries this virtual cluster's mark.
bool is_ours(const schema::Value& host_object);
std::string host_name_of(const Actor& actor);

/// An object on the host that has the name of one of ours, and is not.
struct Foreign {
  std::string kind, name, uid, resource_version;
};

class World {
 public:
  World(Side& tenant, Side& host, const Script& script, Dice& dice, Tally& tally, Trace& trace);
  /// Namespaces, accounts, nodes.
  void prepare();

  // Each says whether there was something to do.
  bool user_acts();
  bool user_insists();   // on what the script wants in the end
  bool host_works();     // a scheduler's or a kubelet's next step, for any pod
  bool host_finishes();  // the same, until there is none
  void trouble();        // somebody on the host
  void leave();          // takes all that is foreign away

  const std::vector<Foreign>& foreign() const { return foreign_; }

 private:
  void put(const Actor& actor, int version);
  void create(const Actor& actor, int version);
  bool remove(const Actor& actor, bool now);
  bool insist(const Actor& actor, int version);
  bool waits_for_claim(const Actor& actor) const;
  bool claims_work(bool calm);
  bool bind_claim(const schema::Document& claim);
  schema::Document host_pod_of(const schema::Document& tenant_pod) const;
  bool has_its_claims(const schema::Document& host_pod) const;
  bool let_claim_go(Side& side, const schema::Document& claim);
  void say_event(const schema::Document& host_pod, const std::string& reason);
  bool next_of_pod(const schema::Document& host_pod, bool calm);
  void report(const schema::Document& host_pod, const std::string& phase, std::int64_t restarts);
  std::vector<schema::Document> ours(std::string_view prefix) const;
  void take_name();
  void edit();
  void remove_ours();

  Side &tenant_, &host_;
  const Script& script_;
  Dice& dice_;
  Tally& tally_;
  Trace& trace_;
  std::size_t next_act_ = 0;
  int edits_ = 0, events_ = 0;
  std::string last_event_;  // on the host
  std::vector<Foreign> foreign_;
  store::Revision finished_at_ = 0, insisted_at_ = 0;             // nothing was to be done at that revision
  std::pair<store::Revision, store::Revision> claims_done_at_{};  // the same of both
};

}  // namespace sublet::simulation
