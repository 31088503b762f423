#include <algorithm>

#include "controllers/runtime/feed.h"
#include "controllers/runtime/line.h"
#include "sublet/controllers/controller.h"
#include "sublet/store/events_watcher.h"

namespace sublet::controllers {
Lister Context::lister(const kube::Resource& resource, std::initializer_list<By> indexes) {
  Feed* feed = indexes.size() > 0 ? &feeds_.get(resource) : nullptr;
  for (auto by : indexes) feed->add_index(by);
  return {feeds_.store(), key_prefix(resource), feed};
}

void Context::on_change(const kube::Resource& resource, ChangeHandler handler) {
  feeds_.get(resource).add_handler(std::move(handler));
}

Lister Context::lister_of_all(std::initializer_list<By> indexes) {
  Feed& feed = feeds_.of_all();
  for (auto by : indexes) feed.add_index(by);
  return {feeds_.store(), "", &feed};
}

void Context::on_any_change(ChangeHandler handler) { feeds_.of_all().add_handler(std::move(handler)); }

void Context::enqueue(const std::string& key) const { line_.add(key); }

void Context::enqueue_after(const std::string& key, std::chrono::milliseconds delay) const {
  line_.add_after(key, delay);
}

store::Snapshot Context::snapshot() const { return feeds_.store().snapshot(); }

std::unique_ptr<store::Subscription> Context::enqueue_on_removal(const kube::Resource& resource,
                                                                 std::string_view namespace_name,
                                                                 store::Revision revision,
                                                                 const std::string& key) const {
  auto watcher = store::watch_events([this, key](const auto& events) {
    if (std::ranges::any_of(events, [](const auto& event) { return event->type == store::Event::Type::deleted; }))
      enqueue(key);
  });
  auto prefix = key_prefix(resource).append(namespace_name).append("/");
  auto watch = feeds_.store().watch(prefix, revision, std::move(watcher));
  if (watch) return std::move(*watch);
  enqueue(key);  // too old for a watch: reconcile again
  return nullptr;
}

}  // namespace sublet::controllers
