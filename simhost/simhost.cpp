// The composition: informers feed the scheduler and the kubelet, on one loop.
#include "sublet/simhost/simhost.h"

#include "simhost/descriptions.h"
#include "simhost/event_recorder.h"
#include "simhost/kai.h"
#include "simhost/kai_queues.h"
#include "simhost/kubelet.h"
#include "simhost/node_keeper.h"
#include "simhost/provisioner.h"
#include "simhost/scheduler.h"
#include "sublet/base/status_json.h"
#include "sublet/kube/informer.h"
#include "sublet/kube/pipeline.h"

namespace sublet::simhost {
namespace {

constexpr std::chrono::seconds kSyncTimeout{30};
constexpr std::size_t kInFlight = 128;

void not_running(net::ResponseSink& to) {
  const Status status = fail(Reason::service_unavailable, "the simulated kubelet is not running").value();
  to.respond(status.http_code(), {{"Content-Type", "application/json"}}, status_json(status));
}

const kube::Resource kStorageClasses{"storage.k8s.io", "v1", "storageclasses"};
const kube::Resource kDeviceClaims{"resource.k8s.io", "v1", "resourceclaims"};

kube::Resource core(std::string resource) { return {"", "v1", std::move(resource)}; }

}  // namespace

struct SimHost::Impl {
  Impl(net::Loop& l, const kube::Client& c, SimHostOptions o, Clock& k, Random& r)
      : loop(l), client(c), options(std::move(o)), clock(k), random(r) {}

  void build();
  void connect();
  void tear_down();

  net::Loop& loop;
  const kube::Client client;
  const SimHostOptions options;
  Clock& clock;
  Random& random;

  // Set by start(), taken down on the loop.
  std::unique_ptr<kube::Informer> nodes, pods, config_maps, secrets, claims, volumes, storage_classes, device_claims,
      queues;
  std::unique_ptr<kube::Pipeline> pipeline;
  std::unique_ptr<EventRecorder> events;
  std::shared_ptr<NodeKeeper> keeper;
  std::shared_ptr<Scheduler> scheduler;
  std::shared_ptr<Kubelet> kubelet;
  std::unique_ptr<Provisioner> provisioner;
};

void SimHost::Impl::build() {
  const auto copy_of = [this](kube::Resource resource) {
    return std::make_unique<kube::Informer>(loop, client, kube::InformerOptions{.resource = std::move(resource)});
  };
  nodes = copy_of(core("nodes"));
  pods = copy_of(core("pods"));
  config_maps = copy_of(core("configmaps"));
  secrets = copy_of(core("secrets"));
  claims = copy_of(core("persistentvolumeclaims"));
  volumes = copy_of(core("persistentvolumes"));
  storage_classes = copy_of(kStorageClasses);
  device_claims = copy_of(kDeviceClaims);
  queues = copy_of(kQueueResource);
  pipeline = std::make_unique<kube::Pipeline>(loop, client, kInFlight);
  events = std::make_unique<EventRecorder>(client, *pipeline, clock);
  provisioner = std::make_unique<Provisioner>(client, *pipeline);
  keeper = std::make_shared<NodeKeeper>(loop, client, *pipeline, options, clock);
  scheduler = std::make_shared<Scheduler>(
      loop, client, *pipeline, *events,
      SchedulerInputs{claims.get(), storage_classes.get(), device_claims.get(), queues.get()}, clock, random);
  kubelet =
      std::make_shared<Kubelet>(loop, client, *pipeline, *events,
                                PodEnvironment{config_maps.get(), secrets.get(), claims.get()}, options, clock, random);
}

void SimHost::Impl::connect() {
  nodes->add_handler([this](const kube::CachedPtr& before, const kube::CachedPtr& after) {
    if (!after) {
      kubelet->node_removed(before->name);
      return scheduler->node_removed(before->name);
    }
    const schema::Document node = after->document();
    kubelet->node_changed(node.root());
    scheduler->node_changed(node.root());
  });
  pods->add_handler([this](const kube::CachedPtr& before, const kube::CachedPtr& after) {
    if (!after) {
      kubelet->pod_removed(before->uid);
      return scheduler->pod_removed(before->uid);
    }
    const schema::Document pod = after->document();
    scheduler->pod_changed(pod.root());
    kubelet->pod_changed(after, pod.root());
  });
  const auto wake = [this](Dependency::Kind kind) {
    return [this, kind](const kube::CachedPtr&, const kube::CachedPtr& after) {
      if (after) kubelet->dependency_changed(kind, *after);
    };
  };
  config_maps->add_handler(wake(Dependency::Kind::config_map));
  secrets->add_handler(wake(Dependency::Kind::secret));
  claims->add_handler([this](const kube::CachedPtr&, const kube::CachedPtr& after) {
    if (after) provisioner->claim_changed(after->document().root());
    if (after) kubelet->dependency_changed(Dependency::Kind::volume_claim, *after);
    scheduler->input_changed();
  });
  for (kube::Informer* input : {storage_classes.get(), device_claims.get(), queues.get()})
    input->add_handler([this](const kube::CachedPtr&, const kube::CachedPtr&) { scheduler->input_changed(); });
  volumes->add_handler([this](const kube::CachedPtr&, const kube::CachedPtr& after) {
    if (after) provisioner->volume_changed(after->document().root());
  });
}

void SimHost::Impl::tear_down() {
  nodes.reset();
  pods.reset();
  volumes.reset();
  for (const auto* input : {&claims, &storage_classes, &device_claims, &queues})
    if (*input) (*input)->stop();  // the scheduler reads them until it is gone
  pipeline.reset();                // before the objects that its callbacks use
  kubelet.reset();
  config_maps.reset();
  secrets.reset();
  scheduler.reset();
  for (auto* input : {&claims, &storage_classes, &device_claims, &queues}) input->reset();
  provisioner.reset();
  keeper.reset();
  events.reset();
}

SimHost::SimHost(net::Loop& loop, const kube::Client& client, SimHostOptions options, Clock& clock, Random& random)
    : impl_(std::make_shared<Impl>(loop, client, std::move(options), clock, random)) {}

SimHost::~SimHost() {
  impl_->loop.run_sync([this] { impl_->tear_down(); });
}

Outcome SimHost::start() {
  Impl& impl = *impl_;
  if (impl.keeper) return internal_error("the simulated host is started already");
  impl.loop.run_sync([&] { impl.build(); });
  if (auto written = impl.keeper->write(); !written) return written;
  if (auto written = impl.provisioner->write_class(); !written) return written;
  if (auto written = write_queue_type(impl.client); !written) return written;
  impl.connect();
  // Nodes and what pods depend on first: no pod is judged before all of it is known.
  const auto inputs = {impl.nodes.get(),  impl.config_maps.get(),   impl.secrets.get(), impl.storage_classes.get(),
                       impl.claims.get(), impl.device_claims.get(), impl.queues.get()};
  for (kube::Informer* copy : inputs) copy->start();
  for (kube::Informer* copy : inputs)
    if (!copy->wait_synced(kSyncTimeout))
      return fail(Reason::timeout,
                  "the host's API server did not list " + copy->options().resource.resource + " in time");
  impl.volumes->start();
  impl.pods->start();
  if (!impl.pods->wait_synced(kSyncTimeout))
    return fail(Reason::timeout, "the host's API server did not list its pods in time");
  impl.loop.run_sync([&] {
    impl.scheduler->begin();
    impl.keeper->begin_renewal();
  });
  return {};
}

apiserver::PodLogs SimHost::pod_logs() const {
  return
      [weak = std::weak_ptr(impl_)](const apiserver::PodLogRequest& request, std::shared_ptr<net::ResponseSink> sink) {
        const auto impl = weak.lock();
        if (!impl) return not_running(*sink);
        impl->loop.post([weak, request, sink = std::move(sink)] {
          const auto alive = weak.lock();
          if (!alive || !alive->kubelet) return not_running(*sink);
          alive->kubelet->answer_log(request.namespace_name, request.pod_name, request.query, sink);
        });
      };
}

kube::PodConnections SimHost::pod_connections() const {
  return
      [weak = std::weak_ptr(impl_)](const kube::PodConnectRequest& request, std::shared_ptr<net::ResponseSink> sink) {
        const auto impl = weak.lock();
        if (!impl) return not_running(*sink);
        const auto* proxy = kube::as_proxy(request);
        if (proxy)
          return impl->loop.post([weak, asked = *proxy, sink = std::move(sink)] {
            const auto alive = weak.lock();
            if (!alive || !alive->kubelet) return not_running(*sink);
            alive->kubelet->proxy(asked, sink);
          });
        impl->loop.post([weak, request, sink = std::move(sink)] {
          const auto alive = weak.lock();
          if (!alive || !alive->kubelet) return not_running(*sink);
          alive->kubelet->connect(request, sink);
        });
      };
}

kube::MetricsSource SimHost::metrics() const {
  return [weak = std::weak_ptr(impl_)](const kube::MetricsQuestion& question, std::shared_ptr<net::ResponseSink> sink) {
    const auto impl = weak.lock();
    if (!impl) return not_running(*sink);
    impl->loop.post([weak, question, sink = std::move(sink)] {
      const auto alive = weak.lock();
      if (!alive || !alive->kubelet) return not_running(*sink);
      alive->kubelet->answer_metrics(question, sink);
    });
  };
}

apiserver::BorderAdmission SimHost::admission() {
  return [](std::string_view kind, const schema::Value& object, const schema::Value& old) {
    apiserver::AdmissionVerdict verdict;
    if (kind != "Pod" || old) return verdict;
    for (std::string& why : kai_violations(object))
      verdict.denials.push_back({"Forbidden", "KAI: " + std::move(why), "metadata.annotations"});
    return verdict;
  };
}

apiserver::HostOpenApi SimHost::descriptions() {
  return [](const std::string& path, const std::function<void(Result<std::string>)>& done) {
    done(described_openapi(path));
  };
}

}  // namespace sublet::simhost
