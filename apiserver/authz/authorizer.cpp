#include "apiserver/authz/authorizer.h"

#include <utility>

#include "sublet/base/go_quoted.h"
#include "sublet/store/events_watcher.h"

namespace sublet::apiserver {

Authorizer::Authorizer(store::Store& store, const std::vector<ComponentRights>& components) {
  auto policy = std::make_shared<Policy>();
  for (const auto& [user, rules] : components)
    if (const auto document = schema::Document::parse_json(rules))
      policy->grant(user, std::make_shared<const RoleRules>(document->root()));
  {
    const MutexLock lock(mutex_);
    policy_ = std::move(policy);
  }
  load(store);
}

Authorizer::~Authorizer() { stop(); }

void Authorizer::stop() { following_.clear(); }

// What is there, then what came meanwhile; from then on the commit thread alone applies.
void Authorizer::load(store::Store& store) {
  std::vector<store::EventPtr> events;
  for (const auto prefix : Policy::kPrefixes) {
    auto [snapshot, subscription] =
        store.snapshot_and_watch(prefix, store::watch_events([this](const auto& told) { take(told); }));
    following_.push_back(std::move(subscription));
    snapshot.scan(prefix, {}, [&events](const store::ObjectPtr& object) {
      events.push_back(std::make_shared<const store::Event>(
          store::Event{store::Event::Type::created, object, nullptr, object->revision}));
      return true;
    });
  }
  while (true) {
    apply(events);
    const MutexLock lock(mutex_);
    loaded_ = early_.empty();
    if (loaded_) return;
    events = std::exchange(early_, {});
  }
}

void Authorizer::take(const std::vector<store::EventPtr>& events) {
  {
    const MutexLock lock(mutex_);
    if (!loaded_) {
      early_.insert(early_.end(), events.begin(), events.end());
      return;
    }
  }
  apply(events);
}

void Authorizer::apply(const std::vector<store::EventPtr>& events) {
  if (events.empty()) return;
  auto next = std::make_shared<Policy>(*policy());
  for (const auto& event : events) {
    const bool deleted = event->type == store::Event::Type::deleted;
    next->apply(event->previous, deleted ? nullptr : event->object);
  }
  std::shared_ptr<const Policy> last = std::move(next);  // the old one ends outside the lock
  std::function<void()> changed;
  {
    const MutexLock lock(mutex_);
    policy_.swap(last);
    changed = changed_;
  }
  if (changed) changed();
}

std::shared_ptr<const Policy> Authorizer::policy() const {
  const MutexLock lock(mutex_);
  return policy_;
}

void Authorizer::on_change(std::function<void()> changed) {
  const MutexLock lock(mutex_);
  changed_ = std::move(changed);
}

bool Authorizer::allows(const Attributes& attributes) const {
  return is_in_group(*attributes.user, kMastersGroup) || policy()->allows(attributes);
}

Decision Authorizer::decide(const Attributes& attributes) const {
  const User& user = *attributes.user;
  if (is_in_group(user, kMastersGroup)) return {true, {}};
  const auto current = policy();
  const Question question(attributes);
  Decision decision;
  std::vector<std::string> errors;
  current->visit(user, attributes.namespace_name, [&](const Binding& binding, const RoleRules* rules) {
    if (!rules) {
      errors.push_back(role_not_found(binding.role_kind, binding.role_name).message);
    } else if (rules->allow(question)) {
      decision = {true, "RBAC: allowed by " + describe(binding, user)};
    }
    return !decision.allowed;
  });
  if (decision.allowed) return decision;
  if (const auto* components = current->component_rules(user.name); components && components->allow(question))
    return {true, "allowed to the user " + go_quoted(user.name) + " of this virtual cluster's own"};
  if (!errors.empty()) decision.reason = "RBAC: " + joined_errors(std::move(errors));
  return decision;
}

Outcome Authorizer::check(const Attributes& attributes) const {
  if (allows(attributes)) return {};
  return fail(forbidden_status(attributes, decide(attributes).reason));
}

}  // namespace sublet::apiserver
