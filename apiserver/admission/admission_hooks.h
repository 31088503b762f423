// AdmissionHooks: the compiled webhooks and policies of one server, as of the last commit.
//
// It follows the store on the commit thread, where it only records what changed; the next use compiles it, once, and of
// the policies only those that are bound. While nothing is configured, a look-up costs one load.
// Lifecycle: construct over an open store; stop() before the store closes. Threads: any.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "apiserver/admission/webhook.h"
#include "apiserver/admission/webhook_caller.h"
#include "sublet/base/mutex.h"
#include "sublet/store/store.h"

namespace sublet::apiserver {

/// All of them, in the order in which they are asked: by name of configuration, then as they stand in it.
struct HookSet {
  std::vector<std::shared_ptr<const Webhook>> mutating, validating;
  std::vector<BoundPolicy> mutating_policies, validating_policies;
  bool removals_ask = false;  // some webhook is about removals
};

class AdmissionHooks {
 public:
  AdmissionHooks(store::Store& store, net::Loop& loop, OutboundOptions outbound);
  ~AdmissionHooks();
  AdmissionHooks(const AdmissionHooks&) = delete;
  AdmissionHooks& operator=(const AdmissionHooks&) = delete;

  /// Null: nothing is configured.
  std::shared_ptr<const HookSet> current() const;
  WebhookCaller& caller() const { return *caller_; }
  void stop();

 private:
  /// What one stored object is, compiled when it is first asked for.
  struct Entry {
    store::ObjectPtr object;
    std::vector<std::shared_ptr<const Webhook>> webhooks = {};
    std::shared_ptr<const AdmissionPolicy> policy = nullptr;
    std::shared_ptr<const PolicyBinding> binding = nullptr;
    bool compiled = false;
  };
  void take(const std::vector<store::EventPtr>& events);
  void note(const store::ObjectPtr& object, bool deleted) SUBLET_REQUIRES(mutex_);
  bool is_unbound_policy(std::string_view key) const SUBLET_REQUIRES(mutex_);
  using Entries = std::map<std::string, Entry, std::less<>>;
  static const Entry& compiled(Entries::value_type& stored);
  static std::vector<std::shared_ptr<const Webhook>> webhooks(Entries& entries, std::string_view configurations);
  static std::vector<BoundPolicy> bound_policies(Entries& entries, std::string_view policies,
                                                 std::string_view bindings);
  std::shared_ptr<const HookSet> make() const SUBLET_REQUIRES(mutex_);

  const std::unique_ptr<WebhookCaller> caller_;
  std::atomic<bool> any_{false};
  mutable Mutex mutex_;
  mutable Entries entries_ SUBLET_GUARDED_BY(mutex_);                      // by key: so by kind, then by name
  mutable std::shared_ptr<const HookSet> set_ SUBLET_GUARDED_BY(mutex_);   // null: must be rebuilt
  std::map<std::string, store::Revision> gone_ SUBLET_GUARDED_BY(mutex_);  // while what was there is still being read
  bool loaded_ SUBLET_GUARDED_BY(mutex_) = false;
  std::vector<std::unique_ptr<store::Subscription>> following_;
};

/// Null: nothing is configured, or the object is a configuration of admission itself, which hooks do not see (each
/// write of one makes the set be rebuilt). Also null in tests of a strategy.
std::shared_ptr<const HookSet> current_hooks(const WriteContext& context);

}  // namespace sublet::apiserver
