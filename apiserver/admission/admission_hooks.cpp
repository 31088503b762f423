#include "apiserver/admission/admission_hooks.h"

#include "apiserver/codec/object_bytes.h"
#include "sublet/base/log.h"

namespace sublet::apiserver {
namespace {

constexpr std::string_view kMutating = "mutatingwebhookconfigurations.admissionregistration.k8s.io/",
                           kValidating = "validatingwebhookconfigurations.admissionregistration.k8s.io/",
                           kMutatingPolicies = "mutatingadmissionpolicies.admissionregistration.k8s.io/",
                           kMutatingBindings = "mutatingadmissionpolicybindings.admissionregistration.k8s.io/",
                           kValidatingPolicies = "validatingadmissionpolicies.admissionregistration.k8s.io/",
                           kValidatingBindings = "validatingadmissionpolicybindings.admissionregistration.k8s.io/";
constexpr std::string_view kPrefixes[] = {kMutating,         kValidating,         kMutatingPolicies,
                                          kMutatingBindings, kValidatingPolicies, kValidatingBindings};

}  // namespace

class AdmissionHooks::Follower final : public store::Watcher {
 public:
  explicit Follower(AdmissionHooks& hooks) : hooks_(hooks) {}
  void on_events(const std::vector<store::EventPtr>& events) override { hooks_.take(events); }
  void on_progress(store::Revision) override {}

 private:
  AdmissionHooks& hooks_;
};

AdmissionHooks::AdmissionHooks(store::Store& store, net::Loop& loop, OutboundOptions outbound)
    : caller_(std::make_unique<WebhookCaller>(loop, std::move(outbound))) {
  for (const auto prefix : kPrefixes) {
    auto [snapshot, subscription] = store.snapshot_and_watch(prefix, std::make_shared<Follower>(*this));
    following_.push_back(std::move(subscription));
    snapshot.scan(prefix, {}, [this](const store::ObjectPtr& object) {
      const MutexLock lock(mutex_);
      note(object, false);
      return true;
    });
  }
  const MutexLock lock(mutex_);
  loaded_ = true;
  gone_.clear();
}

AdmissionHooks::~AdmissionHooks() { stop(); }

void AdmissionHooks::stop() { following_.clear(); }

void AdmissionHooks::take(const std::vector<store::EventPtr>& events) {
  const MutexLock lock(mutex_);
  for (const auto& event : events) note(event->object, event->type == store::Event::Type::deleted);
}

// What is read at the start may be older than what the watch has told meanwhile.
void AdmissionHooks::note(const store::ObjectPtr& object, bool deleted) {
  const auto found = entries_.find(object->key);
  if (found != entries_.end() && found->second.object->revision > object->revision) return;
  if (const auto gone = gone_.find(object->key); gone != gone_.end() && gone->second > object->revision) return;
  if (deleted) {
    if (!loaded_) gone_[object->key] = object->revision;
    if (found != entries_.end()) entries_.erase(found);
  } else {
    entries_[object->key] = Entry{object};
  }
  set_ = nullptr;
  any_ = !entries_.empty();
}

void AdmissionHooks::compile(const std::string& key, Entry& entry) {
  entry.compiled = true;
  const auto document = stored_document(*entry.object);
  if (!document) return log::error("admission.unreadable", {{"key", key}, {"error", document.error().message}});
  const schema::Value root = document->root();
  if (key.starts_with(kMutating) || key.starts_with(kValidating)) {
    std::size_t index = 0;
    for (const schema::Value webhook : root["webhooks"])
      entry.webhooks.push_back(
          std::make_shared<const Webhook>(Webhook::read(root, webhook, index++, key.starts_with(kMutating))));
  } else if (key.starts_with(kMutatingPolicies) || key.starts_with(kValidatingPolicies)) {
    entry.policy = std::make_shared<const AdmissionPolicy>(AdmissionPolicy::read(root));
  } else {
    entry.binding = std::make_shared<const PolicyBinding>(PolicyBinding::read(root));
  }
}

// Those that have a binding, by name.
std::vector<BoundPolicy> AdmissionHooks::bound_policies(const Entries& entries, std::string_view policies,
                                                        std::string_view bindings) {
  std::vector<BoundPolicy> found;
  for (auto entry = entries.lower_bound(std::string(policies));
       entry != entries.end() && entry->first.starts_with(policies); ++entry) {
    if (!entry->second.policy) continue;
    BoundPolicy bound{entry->second.policy, {}};
    for (auto other = entries.lower_bound(std::string(bindings));
         other != entries.end() && other->first.starts_with(bindings); ++other)
      if (other->second.binding && other->second.binding->policy == bound.policy->name)
        bound.bindings.push_back(other->second.binding);
    if (!bound.bindings.empty()) found.push_back(std::move(bound));
  }
  return found;
}

std::shared_ptr<const HookSet> AdmissionHooks::make() const {
  auto set = std::make_shared<HookSet>();
  for (auto& [key, entry] : entries_)
    if (!entry.compiled) compile(key, entry);
  for (const auto& [key, entry] : entries_) {
    auto& into = key.starts_with(kMutating) ? set->mutating : set->validating;
    into.insert(into.end(), entry.webhooks.begin(), entry.webhooks.end());
    for (const auto& webhook : entry.webhooks)
      set->removals_ask = set->removals_ask || webhook->matching.is_about("DELETE");
  }
  set->mutating_policies = bound_policies(entries_, kMutatingPolicies, kMutatingBindings);
  set->validating_policies = bound_policies(entries_, kValidatingPolicies, kValidatingBindings);
  return set;
}

std::shared_ptr<const HookSet> AdmissionHooks::current() const {
  if (!any_) return nullptr;
  const MutexLock lock(mutex_);
  if (!set_) set_ = make();
  return set_;
}

std::shared_ptr<const HookSet> current_hooks(const WriteContext& context) {
  return context.hooks ? context.hooks->current() : nullptr;
}

}  // namespace sublet::apiserver
