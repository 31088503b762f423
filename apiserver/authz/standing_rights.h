// StandingRights: the rights on which streams rest that go on (watches, followed logs), looked at again when roles or
// bindings change. Upstream asks once, at the beginning; here a stream ends within a second of its right.
//
// Lifecycle: add() once per stream; it is forgotten with its owner, or when it was revoked. Changes that come together
// are looked at together. Threads: add() and policy_changed() from any; `revoked` is called on the loop.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "apiserver/authz/authorizer.h"
#include "sublet/base/mutex.h"
#include "sublet/net/loop.h"

namespace sublet::apiserver {

class StandingRights {
 public:
  using Revoked = std::function<void(const Status& forbidden)>;

  StandingRights(net::Loop& loop, Authorizer& authorizer);
  ~StandingRights();
  /// Members of system:masters cannot lose what they have: nothing is kept for them.
  void add(const Attributes& right, std::weak_ptr<const void> owner, Revoked revoked);
  std::size_t size() const;

 private:
  struct Standing {
    explicit Standing(const Attributes& right);
    Attributes attributes() const;
    User user;
    std::string verb, group, resource, subresource, namespace_name, name;
    std::weak_ptr<const void> owner;
    Revoked revoked;
  };
  struct State {
    State(net::Loop& loop_, Authorizer& authorizer_) : loop(loop_), authorizer(authorizer_) {}
    net::Loop& loop;
    Authorizer& authorizer;
    mutable Mutex mutex;
    std::vector<std::shared_ptr<const Standing>> standing SUBLET_GUARDED_BY(mutex);
    std::size_t sweep_at SUBLET_GUARDED_BY(mutex) = 64;
    bool due SUBLET_GUARDED_BY(mutex) = false;
  };
  static void policy_changed(const std::weak_ptr<State>& state);
  static void look_again(State& state);

  std::shared_ptr<State> state_;
};

}  // namespace sublet::apiserver
