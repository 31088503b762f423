#include "apiserver/watch/frame_cache.h"

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

void FrameCache::keep(const Key& key, store::EventPtr event, std::shared_ptr<const schema::Registry> kinds,
                      Frame frame) {
  if (bytes_ + frame->size() > kFrameCacheBytesMax) clear();
  bytes_ += frame->size();
  frames_[key] = {std::move(event), std::move(kinds), std::move(frame)};
}

void FrameCache::clear() {
  frames_.clear();
  bytes_ = 0;
}

}  // namespace sublet::apiserver
