#include "apiserver/watch/watch_hub.h"

#include <algorithm>
#include <utility>

namespace sublet::apiserver {
namespace {

constexpr std::size_t kSlice = 64;           // watches notified per turn of the loop: about a millisecond with TLS
constexpr std::size_t kStretchEvents = 512;  // events looked at per stretch

}  // namespace

WatchHub::WatchHub(net::Loop& loop, store::Store& store)
    : state_(std::make_shared<State>(loop, store)), listening_(store.listen([state = state_] { on_commit(state); })) {}

// Turns ---------------------------------------------------------------------------------------------------------------

/// Has a turn come, with what `fill` puts into it under the lock.
template <typename Fill>
void WatchHub::ask_turn(const std::shared_ptr<State>& state, const Fill& fill) {
  std::shared_ptr<Turn> turn;
  {
    const MutexLock lock(state->mutex);
    turn = state->next.lock();
    if (turn) return fill(*turn);
    turn = std::make_shared<Turn>();
    fill(*turn);
    state->next = turn;
  }
  state->loop.post([state, turn = std::move(turn)] { run_turn(state, *turn); });
}

void WatchHub::on_commit(const std::shared_ptr<State>& state) {
  {
    const MutexLock lock(state->mutex);
    if (state->groups.empty() || std::exchange(state->committed, true)) return;
  }
  ask_turn(state, [](Turn&) {});
}

/// News first: then a woken session's bookmark says as much as it may.
void WatchHub::run_turn(const std::shared_ptr<State>& state, Turn& posted) {
  Turn turn;
  bool news = false;
  {
    const MutexLock lock(state->mutex);
    turn = std::move(posted);
    state->next.reset();
    if (turn.stretch.parts.empty()) news = std::exchange(state->committed, false);
  }
  if (news && state->live > 0) read_stretch(*state, turn.stretch);
  notify_slice(*state, turn.stretch);
  for (const auto& session : turn.woken) session->run(state->frames);

  bool more = !turn.stretch.parts.empty(), idle = false;
  {
    const MutexLock lock(state->mutex);
    more = more || state->committed;
    idle = !more && state->next.expired();
  }
  if (idle) state->frames.clear();
  if (more) ask_turn(state, [&](Turn& next) { next.stretch = std::move(turn.stretch); });
}

// Events for live watches ---------------------------------------------------------------------------------------------

void WatchHub::read_stretch(State& state, Stretch& stretch) {
  const auto changes = state.store.changes("", state.read, kStretchEvents);
  if (!changes) return history_gone(state);
  stretch.from = state.read;
  stretch.up_to = state.read = changes->up_to;
  const MutexLock lock(state.mutex);
  if (!changes->at_end) state.committed = true;
  for (const auto& [prefix, sessions] : state.groups) {
    Part part;
    for (const store::EventPtr& event : changes->events)
      if (std::string_view(event->object->key).starts_with(prefix)) part.events.push_back(event);
    if (part.events.empty()) continue;
    part.sessions.reserve(sessions.size());
    for (const auto& [key, session] : sessions) part.sessions.push_back(session);
    stretch.parts.push_back(std::move(part));
  }
  if (stretch.parts.empty()) state.delivered = stretch.up_to;
}

/// The loop stood still for longer than the history lasts.
void WatchHub::history_gone(State& state) {
  Sessions all = all_sessions(state);
  for (const auto& session : all) session->fall_behind();
  for (const auto& session : all) session->run(state.frames);
}

void WatchHub::notify_slice(State& state, Stretch& stretch) {
  if (stretch.parts.empty()) return;
  for (std::size_t n = 0; n < kSlice && !stretch.parts.empty(); ++n) {
    Part& part = stretch.parts.back();
    part.sessions.back()->deliver(part.events, stretch.from, stretch.up_to, state.frames);
    part.sessions.pop_back();
    if (part.sessions.empty()) stretch.parts.pop_back();
  }
  if (stretch.parts.empty()) state.delivered = std::max(state.delivered, stretch.up_to);
}

void WatchHub::went_live(store::Revision cursor) {
  if (state_->live++ == 0) state_->read = state_->delivered = cursor;
}

void WatchHub::left_live() { --state_->live; }

// Who there is --------------------------------------------------------------------------------------------------------

void WatchHub::add(const std::shared_ptr<WatchSession>& session, const std::string& prefix) {
  {
    const MutexLock lock(state_->mutex);
    state_->groups[prefix].emplace(session.get(), session);
  }
  wake(session);
}

void WatchHub::wake(std::shared_ptr<WatchSession> session) {
  ask_turn(state_, [&](Turn& next) { next.woken.push_back(std::move(session)); });
}

void WatchHub::remove(const WatchSession* session, std::string_view prefix) {
  std::shared_ptr<WatchSession> last;  // destroyed outside the lock
  const MutexLock lock(state_->mutex);
  const auto group = state_->groups.find(prefix);
  if (group == state_->groups.end()) return;
  if (auto node = group->second.extract(session)) last = std::move(node.mapped());
  if (group->second.empty()) state_->groups.erase(group);
}

WatchHub::Sessions WatchHub::all_sessions(const State& state, std::string_view under) {
  Sessions all;
  const MutexLock lock(state.mutex);
  for (auto group = state.groups.lower_bound(under); group != state.groups.end(); ++group) {
    if (!group->first.starts_with(under)) break;
    for (const auto& [key, session] : group->second) all.push_back(session);
  }
  return all;
}

void WatchHub::finish_all() {
  listening_.reset();
  state_->loop.run_sync([this] {
    for (const auto& session : all_sessions(*state_)) session->finish();
  });
}

void WatchHub::finish_under(std::string prefix, store::Revision last) {
  state_->loop.post([state = state_, prefix = std::move(prefix), last] {
    for (const auto& session : all_sessions(*state, prefix)) session->finish_after(last);
  });
}

std::size_t WatchHub::size() const {
  const MutexLock lock(state_->mutex);
  std::size_t count = 0;
  for (const auto& [prefix, sessions] : state_->groups) count += sessions.size();
  return count;
}

}  // namespace sublet::apiserver
