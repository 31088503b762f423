// Garbage collection: what is owned goes with its last owner; an owner that is deleted in the foreground goes after
// what it owns, one that is deleted with `orphan` leaves it behind.
//
// The graph is the store itself: owners are looked up by their names and uids, dependents by the one index of all
// kinds, those of custom resources included. Two sorts of keys: an owner that is gone ("gone:<uid>": what it leaves
// behind), and an object ("object:<store key>": whether it must go, or what its own deletion waits for).

#include <algorithm>
#include <map>
#include <mutex>
#include <set>

#include "controllers/garbage/verdict.h"
#include "controllers/runtime/calls.h"
#include "controllers/runtime/event_recorder.h"
#include "controllers/runtime/object_ref.h"
#include "sublet/base/mutex.h"
#include "sublet/controllers/controller.h"
#include "sublet/controllers/controllers.h"
#include "sublet/kube/json_scan.h"

namespace sublet::controllers {
namespace {

using schema::Document;
using schema::ResourceFacts;
using schema::Value;

constexpr std::string_view kGone = "gone:", kObject = "object:";
constexpr std::string_view kForegroundFinalizer = "foregroundDeletion", kOrphanFinalizer = "orphan";
constexpr std::string_view kIgnored = "events/";  // they end by themselves
const kube::Resource kDefinitions{"apiextensions.k8s.io", "v1", "customresourcedefinitions"};

bool deletes_dependents(const store::Object& object) {
  return is_ending(object) && has_finalizer(object, kForegroundFinalizer);
}

/// The kind that is stored under this key; null when the server has it no more.
const ResourceFacts* facts_of_key(const schema::Registry& kinds, std::string_view key) {
  const auto prefix = key.substr(0, key.find('/'));
  const auto dot = prefix.find('.');
  const auto resource = prefix.substr(0, dot);
  const auto group = dot == std::string_view::npos ? std::string_view() : prefix.substr(dot + 1);
  const ResourceFacts* found = nullptr;
  for (const auto& facts : kinds.resources()) {
    if (facts.resource != resource || facts.storage_group != group || !facts.served) continue;
    if (facts.group == group && (!found || facts.version == facts.storage_version)) found = &facts;
  }
  return found;
}

std::string api_version_of(const ResourceFacts& facts) {
  return facts.group.empty() ? std::string(facts.version) : std::string(facts.group).append("/").append(facts.version);
}

kube::Resource resource_of(const ResourceFacts& facts) {
  return {std::string(facts.group), std::string(facts.version), std::string(facts.resource)};
}

std::string store_key(const ResourceFacts& facts, std::string_view namespace_name, std::string_view name) {
  std::string key = key_prefix({std::string(facts.storage_group), "", std::string(facts.resource)});
  if (facts.namespaced) key.append(namespace_name).append("/");
  return key.append(name);
}

/// Owner references as they are to be, in one patch that fails when the object has changed.
std::string owners_patch(const store::Object& object, const std::function<bool(Value owner)>& keep) {
  auto parsed = Document::parse_json(raw_of(object, {"metadata", "ownerReferences"}));
  auto patch = Document::object();
  auto metadata = patch.root().object("metadata");
  metadata.put("uid", object.index.uid.str());
  metadata.put("resourceVersion", std::to_string(object.revision));
  if (parsed) {
    auto owners = metadata.put("ownerReferences", parsed->root());
    owners.retain(keep);
    if (owners.empty()) owners.set_null();
  }
  return patch.to_json();
}

std::string without_finalizer(const store::Object& object, std::string_view unwanted) {
  auto parsed = Document::parse_json(raw_of(object, {"metadata", "finalizers"}));
  auto patch = Document::object();
  auto metadata = patch.root().object("metadata");
  metadata.put("resourceVersion", std::to_string(object.revision));
  if (parsed)
    metadata.put("finalizers", parsed->root()).retain([&](const Value& item) { return item.text() != unwanted; });
  return patch.to_json();
}

class GarbageCollector final : public Controller {
 public:
  explicit GarbageCollector(Context& context) : context_(context), all_(context.lister_of_all({By::owner})) {}

  int workers() const override { return 5; }

  void start() override {
    context_.on_any_change([this](const Change& change) { changed(change); });
    // What named an owner of a kind that was not there yet is looked at again.
    context_.on_change(kDefinitions, [this](const Change&) {
      MutexLock lock(mutex_);
      for (const auto& key : std::exchange(unresolved_, {})) context_.enqueue(std::string(kObject) + key);
    });
  }

  Outcome reconcile(const std::string& key) override {
    if (key.starts_with(kGone)) return settle(all_.owned_by(std::string_view(key).substr(kGone.size())));
    const auto object = context_.snapshot().get(std::string_view(key).substr(kObject.size()));
    if (!object) return {};
    if (!is_ending(*object)) return settle({object});
    if (has_finalizer(*object, kOrphanFinalizer)) return orphan_dependents(*object);
    if (has_finalizer(*object, kForegroundFinalizer)) return delete_dependents(*object);
    return {};
  }

 private:
  // On the commit thread.
  void changed(const Change& change) {
    const auto& object = change.object();
    if (std::string_view(object.key).starts_with(kIgnored)) return;
    tell_waiting_owners(change.before);
    tell_waiting_owners(change.after);
    if (!change.after) {
      if (!all_.owned_by(object.index.uid.str()).empty()) context_.enqueue(std::string(kGone) + object.index.uid.str());
      forget(object);
      return;
    }
    const bool owners_changed = !change.before || change.before->index.owner_uids != object.index.owner_uids;
    const bool begins_to_wait = begin_to_wait(object);
    if ((owners_changed && !object.index.owner_uids.empty()) || begins_to_wait)
      context_.enqueue(std::string(kObject) + object.key);
  }

  /// True for an object whose deletion waits for the collector.
  bool begin_to_wait(const store::Object& object) {
    if (!is_ending(object)) return false;
    const bool foreground = has_finalizer(object, kForegroundFinalizer);
    if (foreground) {
      MutexLock lock(mutex_);
      waiting_[object.index.uid] = object.key;
    }
    return foreground || has_finalizer(object, kOrphanFinalizer);
  }

  void tell_waiting_owners(const store::ObjectPtr& dependent) {
    if (!dependent || dependent->index.owner_uids.empty()) return;
    MutexLock lock(mutex_);
    if (waiting_.empty()) return;
    for (const auto& uid : dependent->index.owner_uids)
      if (const auto found = waiting_.find(uid); found != waiting_.end())
        context_.enqueue(std::string(kObject) + found->second);
  }

  void forget(const store::Object& object) {
    MutexLock lock(mutex_);
    waiting_.erase(object.index.uid);
    unresolved_.erase(object.key);
  }

  /// Does with each object what its owners' state asks for; those that changed meanwhile come again.
  Outcome settle(const std::vector<store::ObjectPtr>& objects) {
    const auto kinds = context_.options().kinds();
    std::vector<net::Request> requests;
    std::vector<store::ObjectPtr> asked;
    for (const auto& object : objects) {
      auto request = request_for(*kinds, *object);
      if (!request) continue;
      requests.push_back(std::move(*request));
      asked.push_back(object);
    }
    Outcome outcome;
    const auto results = call_all(context_.client(), std::move(requests));
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (results[i] || results[i].error().is(Reason::not_found)) continue;
      if (results[i].error().is(Reason::conflict))
        context_.enqueue(std::string(kObject) + asked[i]->key);
      else
        outcome = fail(results[i].error());
    }
    return outcome;
  }

  std::optional<net::Request> request_for(const schema::Registry& kinds, const store::Object& object) {
    const auto* facts = facts_of_key(kinds, object.key);
    // What is being deleted goes its way; what it owns is looked at when it is gone.
    if (!facts || is_ending(object)) return std::nullopt;
    const auto owners = owners_of(object);
    std::vector<OwnerState> states;
    for (const auto& owner : owners) states.push_back(state_of(kinds, *facts, object, owner));
    const auto dependents = all_.owned_by(object.index.uid.str());
    switch (judge(states, !dependents.empty())) {
      case Verdict::keep:
        return std::nullopt;
      case Verdict::drop_owners:
        return drop_owners(*facts, object, owners, states);
      case Verdict::remove_in_foreground:
        if (std::any_of(dependents.begin(), dependents.end(),
                        [](const auto& dependent) { return deletes_dependents(*dependent); }))
          return unblock_owners(*facts, object);
        return remove(*facts, object, "Foreground");
      case Verdict::remove:
        return remove(*facts, object,
                      has_finalizer(object, kOrphanFinalizer)       ? "Orphan"
                      : has_finalizer(object, kForegroundFinalizer) ? "Foreground"
                                                                    : "Background");
    }
    return std::nullopt;
  }

  OwnerState state_of(const schema::Registry& kinds, const ResourceFacts& facts, const store::Object& object,
                      const OwnerRef& reference) {
    const auto slash = reference.api_version.find('/');
    const auto group = slash == std::string::npos ? "" : reference.api_version.substr(0, slash);
    const auto version = slash == std::string::npos ? reference.api_version : reference.api_version.substr(slash + 1);
    const auto* owner_facts = kinds.find_resource_of_kind(group, version, reference.kind);
    if (!owner_facts || !owner_facts->served) {
      MutexLock lock(mutex_);
      unresolved_.insert(object.key);
      return OwnerState::unknown;
    }
    const auto& stored = kinds.storage_of(*owner_facts);
    if (owner_facts->namespaced && !facts.namespaced) {
      say_invalid_namespace(stored, facts, object, reference);
      return OwnerState::unknown;
    }
    const auto owner = context_.snapshot().get(store_key(stored, namespace_of(object), reference.name));
    if (!owner || owner->index.uid != reference.uid) {
      if (owner_facts->namespaced) say_invalid_namespace(stored, facts, object, reference);
      return OwnerState::absent;
    }
    return deletes_dependents(*owner) ? OwnerState::waits : OwnerState::solid;
  }

  /// An owner in another namespace is no owner. The reference is a mistake, so an event reports it.
  void say_invalid_namespace(const ResourceFacts& owner_kind, const ResourceFacts& facts, const store::Object& object,
                             const OwnerRef& reference) {
    const auto prefix = store_key(owner_kind, "", "");
    bool elsewhere = false;
    context_.snapshot().scan(prefix.substr(0, prefix.find('/') + 1), {}, [&](const store::ObjectPtr& candidate) {
      elsewhere = candidate->index.uid == reference.uid;
      return !elsewhere;
    });
    if (!elsewhere) return;
    const std::string namespace_name(namespace_of(object));
    const ObjectRef about{api_version_of(facts),        std::string(facts.kind), namespace_name,
                          std::string(name_of(object)), object.index.uid,        ""};
    context_.events().warning(about, "OwnerRefInvalidNamespace",
                              "ownerRef [" + reference.api_version + "/" + reference.kind + ", namespace: " +
                                  namespace_name + ", name: " + reference.name + ", uid: " + reference.uid +
                                  "] does not exist in namespace \"" + namespace_name + "\"");
  }

  net::Request patch(const ResourceFacts& facts, const store::Object& object, const std::string& text) const {
    return context_.client().patch_request(resource_of(facts), namespace_of(object), name_of(object),
                                           kube::PatchType::merge, text);
  }

  net::Request drop_owners(const ResourceFacts& facts, const store::Object& object, const std::vector<OwnerRef>& owners,
                           const std::vector<OwnerState>& states) const {
    std::set<std::string> solid;
    for (std::size_t i = 0; i < owners.size(); ++i)
      if (states[i] == OwnerState::solid) solid.insert(owners[i].uid);
    return patch(facts, object,
                 owners_patch(object, [&](const Value& owner) { return solid.contains(owner["uid"].string()); }));
  }

  /// Part of a circle: it stops holding up its owners; the change brings it here again, to be removed.
  net::Request unblock_owners(const ResourceFacts& facts, const store::Object& object) {
    const auto owners = owners_of(object);
    if (std::none_of(owners.begin(), owners.end(), [](const OwnerRef& owner) { return owner.block_owner_deletion; }))
      return remove(facts, object, "Foreground");
    context_.enqueue(std::string(kObject) + object.key);  // after this one
    return patch(facts, object, owners_patch(object, [](Value owner) {
                   if (owner["blockOwnerDeletion"].boolean()) owner.put("blockOwnerDeletion", false);
                   return true;
                 }));
  }

  net::Request remove(const ResourceFacts& facts, const store::Object& object, std::string policy) const {
    kube::DeleteOptions options;
    options.uid = object.index.uid;
    options.resource_version = std::to_string(object.revision);
    options.propagation_policy = std::move(policy);
    return context_.client().remove_request(resource_of(facts), namespace_of(object), name_of(object), options);
  }

  Outcome orphan_dependents(const store::Object& owner) {
    const auto kinds = context_.options().kinds();
    std::vector<net::Request> requests;
    for (const auto& dependent : all_.owned_by(owner.index.uid.str()))
      if (const auto* facts = facts_of_key(*kinds, dependent->key))
        requests.push_back(patch(*facts, *dependent, owners_patch(*dependent, [&](const Value& reference) {
          return owner.index.uid != reference["uid"].text();
        })));
    for (const auto& result : call_all(context_.client(), std::move(requests)))
      if (!result && !result.error().is(Reason::not_found)) return fail(result.error());
    return finish(*kinds, owner, kOrphanFinalizer);
  }

  Outcome delete_dependents(const store::Object& owner) {
    if (auto settled = settle(all_.owned_by(owner.index.uid.str())); !settled) return settled;
    for (const auto& dependent : all_.owned_by(owner.index.uid.str()))
      for (const auto& reference : owners_of(*dependent))
        if (reference.uid == owner.index.uid && reference.block_owner_deletion)
          return {};  // its deletion brings the key back
    return finish(*context_.options().kinds(), owner, kForegroundFinalizer);
  }

  Outcome finish(const schema::Registry& kinds, const store::Object& owner, std::string_view finalizer) {
    const auto* facts = facts_of_key(kinds, owner.key);
    const auto fresh = context_.snapshot().get(owner.key);
    if (!facts || !fresh || fresh->index.uid != owner.index.uid) return {};
    return settled(context_.client().patch(resource_of(*facts), namespace_of(owner), name_of(owner),
                                           kube::PatchType::merge, without_finalizer(*fresh, finalizer)));
  }

  Context& context_;
  const Lister all_;
  Mutex mutex_;
  std::map<std::string, std::string> waiting_ SUBLET_GUARDED_BY(mutex_);  // uid and key of owners that go last
  std::set<std::string> unresolved_ SUBLET_GUARDED_BY(mutex_);            // keys of objects with owners of no kind
};

}  // namespace

std::unique_ptr<Controller> make_garbage_collector(Context& context) {
  return std::make_unique<GarbageCollector>(context);
}

}  // namespace sublet::controllers
