// Checks: what must hold after every write of the syncer, and what must hold at rest. They know nothing of how the
// syncer works: only both servers' states, and what it wrote between two of them.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/simulation/side.h"
#include "tests/simulation/world.h"

namespace sublet::simulation {

class Checks {
 public:
  Checks(Side& tenant, Side& host, const Clock& clock) : tenant_(tenant), host_(host), clock_(clock) {}

  /// After each request of the syncer; `before`: the side's revision until then.
  void executed(Side& side, const net::Request& request, store::Revision before);
  /// Foreign objects are as they were made.
  void foreign_untouched(const std::vector<Foreign>& foreign);
  /// Host = f(tenant), and what the host says is known in the tenant.
  void at_rest();
  void fail(std::string what);

  const std::vector<std::string>& violations() const { return violations_; }
  /// What both sides look like at rest, without what differs from run to run (uids, times, addresses).
  std::string end() const;
  /// Whether the end hangs on the order: somebody has deleted a claim on the host that a placed pod keeps, and who else
  /// wants it waits until that pod ends.
  bool waits_for_others() const;
  /// Changes that the syncer made, and all.
  std::uint64_t host_changes = 0, tenant_changes = 0;

 private:
  void on_host(const store::Event& event);
  void on_tenant(const store::Event& event);
  void pod_at_rest(const schema::Document& tenant_pod);
  void copied_at_rest(const char* kind, const schema::Document& tenant_object);
  void claim_at_rest(const schema::Document& claim);
  void events_at_rest();
  void on_host_claim(const store::Event& event, const schema::Document& now);
  void claims_are_current(const schema::Document& new_host_pod);
  void on_tenant_claim(const schema::Document& now, const schema::Document& before);
  void references_resolve(const schema::Document& host_pod);
  void nothing_else_on_host();
  std::set<std::string> wanted_on_host() const;
  std::set<std::string> used(const char* kind) const;

  Side &tenant_, &host_;
  const Clock& clock_;
  std::vector<std::string> violations_;
  std::map<std::string, int> host_pods_of_;             // by the tenant pod's uid: how many were made
  std::map<std::string, store::Revision> claims_read_;  // the tenant's, by key: when the syncer asked for it last
};

}  // namespace sublet::simulation
