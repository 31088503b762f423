#include "sublet/controllers/controllers.h"

#include <thread>

#include "controllers/controller.h"
#include "sublet/base/log.h"
#include "sublet/base/metrics.h"
#include "sublet/kube/work_queue.h"

namespace sublet::controllers {
namespace {

std::string line_key(std::string_view controller, const std::string& key) {
  return std::string(controller) + "/" + key;
}

using MakeController = std::unique_ptr<Controller> (*)(const Hub&);
constexpr MakeController kControllers[] = {make_namespace_controller, make_defaults_controller,
                                           make_kubernetes_service_controller, make_event_controller};

}  // namespace

struct Controllers::Impl {
  Impl(const kube::Client& client, net::Loop& loop, ControllersOptions options_)
      : options(std::move(options_)),
        namespaces(std::make_unique<kube::Informer>(loop, client, kube::InformerOptions{.resource = kNamespaces})),
        hub{client,
            loop,
            options,
            Clock::system(),
            *namespaces,
            [this](std::string_view controller, const std::string& key) { queue.add(line_key(controller, key)); },
            [this](std::string_view controller, const std::string& key, std::chrono::milliseconds delay) {
              queue.add_after(line_key(controller, key), delay);
            }} {}

  // The shared informer goes first: its handlers are the controllers'.
  ~Impl() { namespaces.reset(); }

  void start() {
    for (auto make : kControllers) all.push_back(make(hub));
    for (auto& controller : all) controller->start();
    namespaces->start();
    worker = std::thread([this] { work(); });
  }

  void stop() {
    queue.shut_down();
    if (worker.joinable()) worker.join();
  }

  void work() {
    while (auto line = queue.get()) {
      auto slash = line->find('/');
      run(line->substr(0, slash), line->substr(slash + 1), *line);
      queue.done(*line);
    }
  }

  void run(const std::string& name, const std::string& key, const std::string& line) {
    static auto& failures = metrics::counter("sublet_controller_failures_total", "Reconciliations that failed.");
    for (auto& controller : all) {
      if (controller->name() != name) continue;
      auto outcome = controller->reconcile(key);
      if (outcome) {
        queue.forget(line);
        continue;
      }
      failures.add();
      log::debug("controller.failed", {{"controller", name}, {"key", key}, {"error", outcome.error().message}});
      queue.retry(line);
    }
  }

  const ControllersOptions options;
  kube::WorkQueue queue;
  std::unique_ptr<kube::Informer> namespaces;
  Hub hub;
  std::vector<std::unique_ptr<Controller>> all;  // destroyed first: their informers feed the queue
  std::thread worker;
};

Controllers::Controllers(const kube::Client& client, net::Loop& loop, ControllersOptions options)
    : impl_(std::make_unique<Impl>(client, loop, std::move(options))) {}

Controllers::~Controllers() { stop(); }

void Controllers::start() { impl_->start(); }

void Controllers::stop() { impl_->stop(); }

bool Controllers::idle() const { return impl_->namespaces->synced() && impl_->queue.idle(); }

std::unique_ptr<kube::Informer> informer_of_name(const Hub& hub, kube::Resource resource, std::string namespace_name,
                                                 const std::string& name) {
  kube::InformerOptions options;
  options.resource = std::move(resource);
  options.namespace_name = std::move(namespace_name);
  options.field_selector = "metadata.name=" + name;
  return std::make_unique<kube::Informer>(hub.loop, hub.client, std::move(options));
}

Outcome ensure_created(const kube::Client& client, const kube::Resource& resource, const std::string& namespace_name,
                       const schema::Value& object) {
  auto created = client.create(resource, namespace_name, object);
  if (created) return {};
  for (auto reason : {Reason::already_exists, Reason::not_found, Reason::forbidden})
    if (created.error().is(reason)) return {};
  return fail(created.error());
}

}  // namespace sublet::controllers
