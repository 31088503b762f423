#include "apiserver/watch/watch_hub.h"

namespace sublet::apiserver {
namespace {

constexpr std::size_t kFrameCacheBytesMax = 4u << 20;

}  // namespace

std::size_t FrameCache::Hash::operator()(const Key& key) const {
  const auto mix = [](std::size_t a, std::size_t b) { return (a ^ (b >> 4)) * 0x9e3779b97f4a7c15ull; };
  return mix(mix(reinterpret_cast<std::size_t>(key.event), reinterpret_cast<std::size_t>(key.route)),
             std::size_t{key.form} << 4);
}

FrameCache::Frame FrameCache::find(const Key& key) const {
  const auto found = frames_.find(key);
  return found == frames_.end() ? nullptr : found->second.frame;
}

void FrameCache::keep(const Key& key, store::EventPtr event, Frame frame) {
  if (bytes_ + frame->size() > kFrameCacheBytesMax) clear();
  bytes_ += frame->size();
  frames_[key] = {std::move(event), std::move(frame)};
}

void FrameCache::clear() {
  frames_.clear();
  bytes_ = 0;
}

void WatchHub::add(const std::shared_ptr<WatchSession>& session) {
  const std::lock_guard lock(state_->mutex);
  state_->sessions.emplace(session.get(), session);
}

void WatchHub::remove(const WatchSession* session) {
  std::shared_ptr<WatchSession> last;  // destroyed outside the lock
  const std::lock_guard lock(state_->mutex);
  const auto found = state_->sessions.find(session);
  if (found == state_->sessions.end()) return;
  last = std::move(found->second);
  state_->sessions.erase(found);
}

void WatchHub::wake(std::shared_ptr<WatchSession> session) {
  std::shared_ptr<Round> round;
  {
    const std::lock_guard lock(state_->mutex);
    round = state_->next.lock();
    if (round) return round->push_back(std::move(session));
    round = std::make_shared<Round>();
    round->push_back(std::move(session));
    state_->next = round;
  }
  state_->loop.post([state = state_, round = std::move(round)] { run_round(*state, *round); });
}

void WatchHub::run_round(State& state, Round& next) {
  Round round;
  {
    const std::lock_guard lock(state.mutex);
    round.swap(next);
    state.next.reset();
  }
  for (const auto& session : round) session->run(state.frames);
  state.frames.clear();
}

void WatchHub::finish_all() {
  std::vector<std::shared_ptr<WatchSession>> all;
  {
    const std::lock_guard lock(state_->mutex);
    for (const auto& [key, session] : state_->sessions) all.push_back(session);
  }
  for (const auto& session : all) session->finish();
}

std::size_t WatchHub::size() const {
  const std::lock_guard lock(state_->mutex);
  return state_->sessions.size();
}

}  // namespace sublet::apiserver
