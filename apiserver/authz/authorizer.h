// Authorizer: decides whether a user may make a request, by the roles and bindings in the store as of the last commit.
//
// It follows the store on the commit thread, where a change of a role or binding makes a new Policy before its write is
// answered: a right counts from the next request on. allows() runs for every request and allocates nothing. There is no
// node authorizer: a virtual cluster has no kubelets of its own, so the group system:nodes has the rights of RBAC only.
// Lifecycle: construct over an open store; stop() before the store goes. Threads: any.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "apiserver/authz/policy.h"
#include "sublet/base/mutex.h"
#include "sublet/store/store.h"

namespace sublet::apiserver {

struct Decision {
  bool allowed = false;
  std::string reason;  // "RBAC: allowed by ..."; when denied, what was wrong with the bindings
};

class Authorizer {
 public:
  /// `components`: sublet's own users with their rules (Policy::grant).
  Authorizer(store::Store& store, const std::vector<ComponentRights>& components);
  ~Authorizer();
  Authorizer(const Authorizer&) = delete;
  Authorizer& operator=(const Authorizer&) = delete;

  bool allows(const Attributes& attributes) const;
  /// The same with its reason.
  Decision decide(const Attributes& attributes) const;
  /// 403 with upstream's words unless allowed.
  Outcome check(const Attributes& attributes) const;

  std::shared_ptr<const Policy> policy() const;
  /// Called on the commit thread after each change of the policy. At most one, set before requests come.
  void on_change(std::function<void()> changed);
  void stop();

 private:
  void take(const std::vector<store::EventPtr>& events);
  void apply(const std::vector<store::EventPtr>& events);
  void load(store::Store& store);

  mutable Mutex mutex_;
  std::shared_ptr<const Policy> policy_ SUBLET_GUARDED_BY(mutex_);
  std::function<void()> changed_ SUBLET_GUARDED_BY(mutex_);
  bool loaded_ SUBLET_GUARDED_BY(mutex_) = false;
  std::vector<store::EventPtr> early_ SUBLET_GUARDED_BY(mutex_);  // arrived while the existing objects were being read
  std::vector<std::unique_ptr<store::Subscription>> following_;
};

}  // namespace sublet::apiserver
