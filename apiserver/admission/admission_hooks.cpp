#include "apiserver/admission/admission_hooks.h"

#include <algorithm>
#include <utility>

#include "apiserver/codec/object_bytes.h"
#include "sublet/base/log.h"
#include "sublet/store/events_watcher.h"

namespace sublet::apiserver {
namespace {

constexpr std::string_view kMutatingWebhooks = "mutatingwebhookconfigurations.admissionregistration.k8s.io/",
                           kValidatingWebhooks = "validatingwebhookconfigurations.admissionregistration.k8s.io/",
                           kMutatingPolicies = "mutatingadmissionpolicies.admissionregistration.k8s.io/",
                           kMutatingBindings = "mutatingadmissionpolicybindings.admissionregistration.k8s.io/",
                           kValidatingPolicies = "validatingadmissionpolicies.admissionregistration.k8s.io/",
                           kValidatingBindings = "validatingadmissionpolicybindings.admissionregistration.k8s.io/";
struct PolicyKind {
  std::string_view policies, bindings;
};
constexpr PolicyKind kPolicyKinds[] = {{kMutatingPolicies, kMutatingBindings},
                                       {kValidatingPolicies, kValidatingBindings}};
constexpr std::string_view kHookPrefixes[] = {kMutatingWebhooks, kValidatingWebhooks, kMutatingPolicies,
                                              kMutatingBindings, kValidatingPolicies, kValidatingBindings};

// What decides about writes is not decided about by itself.
bool is_hook_configuration(const schema::ResourceFacts& kind) {
  return kind.group == "admissionregistration.k8s.io" &&
         std::ranges::any_of(kHookPrefixes, [&](std::string_view prefix) {
           return prefix.starts_with(kind.resource) && prefix[kind.resource.size()] == '.';
         });
}

}  // namespace

AdmissionHooks::AdmissionHooks(store::Store& store, net::Loop& loop, OutboundOptions outbound)
    : caller_(std::make_unique<WebhookCaller>(loop, std::move(outbound))) {
  for (const auto prefix : kHookPrefixes) {
    auto [snapshot, subscription] =
        store.snapshot_and_watch(prefix, store::watch_events([this](const auto& events) { take(events); }));
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

// The objects read at the start may be older than the events that the watch brought meanwhile.
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
  any_ = !entries_.empty();
  if (!is_unbound_policy(object->key)) set_ = nullptr;
}

// A policy changes nothing while there is no binding of its kind at all.
bool AdmissionHooks::is_unbound_policy(std::string_view key) const {
  for (const auto& [policies, bindings] : kPolicyKinds) {
    if (!key.starts_with(policies)) continue;
    const auto first = entries_.lower_bound(bindings);
    return first == entries_.end() || !first->first.starts_with(bindings);
  }
  return false;
}

const AdmissionHooks::Entry& AdmissionHooks::compiled(Entries::value_type& stored) {
  auto& [key, entry] = stored;
  if (std::exchange(entry.compiled, true)) return entry;
  const auto document = stored_document(*entry.object);
  if (!document) {
    log::error("admission.unreadable", {{"key", key}, {"error", document.error().message}});
    return entry;
  }
  const schema::Value root = document->root();
  if (key.starts_with(kMutatingWebhooks) || key.starts_with(kValidatingWebhooks)) {
    std::size_t index = 0;
    for (const schema::Value webhook : root["webhooks"])
      entry.webhooks.push_back(
          std::make_shared<const Webhook>(Webhook::read(root, webhook, index++, key.starts_with(kMutatingWebhooks))));
  } else if (key.starts_with(kMutatingPolicies) || key.starts_with(kValidatingPolicies)) {
    entry.policy = std::make_shared<const AdmissionPolicy>(AdmissionPolicy::read(root));
  } else {
    entry.binding = std::make_shared<const PolicyBinding>(PolicyBinding::read(root));
  }
  return entry;
}

// Those that have a binding, by name. The others are compiled when they get one.
std::vector<BoundPolicy> AdmissionHooks::bound_policies(Entries& entries, std::string_view policies,
                                                        std::string_view bindings) {
  std::map<std::string, std::vector<std::shared_ptr<const PolicyBinding>>> by_policy;
  for (auto entry = entries.lower_bound(bindings); entry != entries.end() && entry->first.starts_with(bindings);
       ++entry)
    if (const auto& binding = compiled(*entry).binding) by_policy[binding->policy].push_back(binding);
  std::vector<BoundPolicy> found;
  for (auto& [name, bound] : by_policy) {
    const auto entry = entries.find(std::string(policies) + name);
    if (entry == entries.end()) continue;
    if (const auto& policy = compiled(*entry).policy) found.push_back({policy, std::move(bound)});
  }
  return found;
}

std::vector<std::shared_ptr<const Webhook>> AdmissionHooks::webhooks(Entries& entries,
                                                                     std::string_view configurations) {
  std::vector<std::shared_ptr<const Webhook>> found;
  for (auto entry = entries.lower_bound(configurations);
       entry != entries.end() && entry->first.starts_with(configurations); ++entry) {
    const auto& own = compiled(*entry).webhooks;
    found.insert(found.end(), own.begin(), own.end());
  }
  return found;
}

std::shared_ptr<const HookSet> AdmissionHooks::make() const {
  auto set = std::make_shared<HookSet>();
  set->mutating = webhooks(entries_, kMutatingWebhooks);
  set->validating = webhooks(entries_, kValidatingWebhooks);
  const auto is_about_removals = [](const auto& webhook) { return webhook->matching.is_about("DELETE"); };
  set->removals_ask =
      std::ranges::any_of(set->mutating, is_about_removals) || std::ranges::any_of(set->validating, is_about_removals);
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
  return context.hooks && !is_hook_configuration(context.resource) ? context.hooks->current() : nullptr;
}

}  // namespace sublet::apiserver
