#include "controllers/runtime/feed.h"
#include "controllers/runtime/line.h"
#include "sublet/controllers/controller.h"

namespace sublet::controllers {
namespace {

class RemovalWatcher final : public store::Watcher {
 public:
  explicit RemovalWatcher(std::function<void()> gone) : gone_(std::move(gone)) {}
  void on_events(const std::vector<store::EventPtr>& events) override {
    for (const auto& event : events)
      if (event->type == store::Event::Type::deleted) return gone_();
  }
  void on_progress(store::Revision) override {}

 private:
  const std::function<void()> gone_;
};

}  // namespace

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
  auto watcher = std::make_shared<RemovalWatcher>([this, key] { enqueue(key); });
  auto prefix = key_prefix(resource).append(namespace_name).append("/");
  auto watch = feeds_.store().watch(prefix, revision, std::move(watcher));
  if (watch) return std::move(*watch);
  enqueue(key);  // too long ago to be told: look again
  return nullptr;
}

}  // namespace sublet::controllers
