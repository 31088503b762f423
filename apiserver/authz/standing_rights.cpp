#include "apiserver/authz/standing_rights.h"

#include <algorithm>

namespace sublet::apiserver {
namespace {

constexpr std::chrono::milliseconds kTogether{250};  // changes of a policy come in crowds: a chart, a namespace's end

}  // namespace

StandingRights::Standing::Standing(const Attributes& right)
    : user(*right.user),
      verb(right.verb),
      group(right.group),
      resource(right.resource),
      subresource(right.subresource),
      namespace_name(right.namespace_name),
      name(right.name) {}

Attributes StandingRights::Standing::attributes() const {
  Attributes attributes;
  attributes.user = &user;
  attributes.verb = verb;
  attributes.group = group;
  attributes.resource = resource;
  attributes.subresource = subresource;
  attributes.namespace_name = namespace_name;
  attributes.name = name;
  return attributes;
}

StandingRights::StandingRights(net::Loop& loop, Authorizer& authorizer)
    : state_(std::make_shared<State>(loop, authorizer)) {
  authorizer.on_change([state = std::weak_ptr<State>(state_)] { policy_changed(state); });
}

StandingRights::~StandingRights() { state_->authorizer.on_change(nullptr); }

void StandingRights::add(const Attributes& right, std::weak_ptr<const void> owner, Revoked revoked) {
  if (is_in_group(*right.user, kMastersGroup)) return;
  auto standing = std::make_shared<Standing>(right);
  standing->owner = std::move(owner);
  standing->revoked = std::move(revoked);
  {
    const MutexLock lock(state_->mutex);
    auto& all = state_->standing;
    if (all.size() >= state_->sweep_at) {
      std::erase_if(all, [](const auto& one) { return one->owner.expired(); });
      state_->sweep_at = std::max<std::size_t>(64, all.size() * 2);
    }
    all.push_back(standing);
  }
  // The right may have gone between the request's authorization and now.
  if (!state_->authorizer.allows(standing->attributes())) policy_changed(state_);
}

std::size_t StandingRights::size() const {
  const MutexLock lock(state_->mutex);
  return state_->standing.size();
}

void StandingRights::policy_changed(const std::weak_ptr<State>& weak) {
  const auto state = weak.lock();
  if (!state) return;
  {
    const MutexLock lock(state->mutex);
    if (state->standing.empty() || std::exchange(state->due, true)) return;
  }
  state->loop.post([weak] {
    const auto posted = weak.lock();
    if (!posted) return;
    (void)posted->loop.after(kTogether, [weak] {
      if (const auto due = weak.lock()) look_again(*due);
    });
  });
}

void StandingRights::look_again(State& state) {
  std::vector<std::shared_ptr<const Standing>> all, lost;
  {
    const MutexLock lock(state.mutex);
    state.due = false;
    all = state.standing;
  }
  for (const auto& one : all)
    if (!one->owner.expired() && !state.authorizer.allows(one->attributes())) lost.push_back(one);
  {
    const MutexLock lock(state.mutex);
    std::erase_if(state.standing, [&](const auto& one) {
      return one->owner.expired() || std::find(lost.begin(), lost.end(), one) != lost.end();
    });
  }
  for (const auto& one : lost) {
    const Attributes attributes = one->attributes();
    one->revoked(forbidden_status(attributes, state.authorizer.decide(attributes).reason));
  }
}

}  // namespace sublet::apiserver
