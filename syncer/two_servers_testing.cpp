#include "syncer/two_servers_testing.h"

#include <algorithm>

#include "sublet/net/tls_context.h"
#include "sublet/syncer/carried_kinds.h"
#include "sublet/syncer/custom_kinds.h"
#include "sublet/syncer/mirrored_kinds.h"
#include "sublet/syncer/tenant_rights.h"
#include "tests/support/parse_json.h"

namespace sublet::syncer {

using schema::Document;
using schema::Value;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr seconds kPatience{60};
constexpr seconds kRetriesMax{61};      // what failed is tried again within it; tokens last longer
constexpr milliseconds kLookAgain{20};  // for conditions that no store tells of

constexpr const char* kSyncerUser = "syncer";

net::PeerIdentity member(std::string name) {
  net::PeerIdentity identity;
  identity.kind = net::PeerIdentity::Kind::in_process;
  identity.common_name = std::move(name);
  return identity;
}

// No member of system:masters, as on its socket.
net::PeerIdentity the_syncer() {
  auto identity = member(kSyncerUser);
  identity.organizations = {"system:authenticated"};
  return identity;
}

// A server of 1.36 with GenericWorkload, which tests of other kinds do not notice.
std::shared_ptr<const schema::Registry> with_groups() {
  static const auto kinds = schema::Registry::with({}, {"scheduling.k8s.io/v1alpha2"}).value();
  return kinds;
}

apiserver::ServerOptions host_options(bool serves_groups) {
  apiserver::ServerOptions options;
  if (serves_groups) options.kinds = with_groups();
  return options;
}

// As subletd has it: what comes from the host is the syncer's alone.
apiserver::ServerOptions tenant_options(const TranslateContext& context) {
  apiserver::ServerOptions options;
  options.unix_socket_user = kSyncerUser;
  options.kinds = with_groups();
  options.service_addresses_of_host = true;
  options.component_rights.push_back({kSyncerUser, tenant_rights(context)});
  for (const MirroredKind& kind : mirrored_kinds(context))
    options.mirrored_from_host.push_back(
        {kind.resource.group, kind.resource.resource, std::string(kLabelFromHost), kind.next_step});
  for (const auto& [resource, kind, judged] : carried_kinds(context))
    options.carried_to_host.push_back({resource.group, resource.resource, kind, judged});
  return options;
}

bool is_watch(const net::Request& request) { return request.query().find("watch=") != std::string_view::npos; }

TranslateContext template_context(const std::string& yaml) {
  TranslateContext context;
  if (yaml.empty()) return context;
  const auto loaded = patches::Template::load(yaml, "t.yaml");
  EXPECT_TRUE(loaded) << loaded.error().message;
  if (loaded) context.resolved_template = loaded->resolve({}, "rag", "team").value();
  return context;
}

}  // namespace

net::Handler Faults::in_front_of(net::Handler server) {
  return [this, server = std::move(server)](net::Request request, std::shared_ptr<net::ResponseSink> sink) {
    Answer answer;
    Change change;
    bool is_held = false;
    {
      const MutexLock lock(mutex_);
      answer = answer_for(request);
      is_held = hangs_for(request);
      if (is_held) held_.push_back(sink);  // a sink that is dropped answers 500
      if (!answer && !is_held && is_watch(request)) watches_.push_back({request.target, sink});
      change = change_;
    }
    if (is_held) return;
    if (answer) return answer(*sink);
    if (change) change(request);
    server(std::move(request), std::move(sink));
  };
}

Faults::Answer Faults::answer_for(const net::Request& request) {
  seen_.push_back({request.method, request.target, std::chrono::steady_clock::now()});
  if (away_) return [](net::ResponseSink& sink) { sink.abort(); };
  for (Rule& rule : rules_) {
    if (rule.times == 0 || rule.method != request.method || request.target.find(rule.part) == std::string::npos)
      continue;
    --rule.times;
    return rule.answer;
  }
  return {};
}

void Faults::inject(std::string method, std::string part, int times, Answer answer) {
  const MutexLock lock(mutex_);
  rules_.push_back({std::move(method), std::move(part), times, std::move(answer)});
}

void Faults::hang(std::string method, std::string part) {
  const MutexLock lock(mutex_);
  hangs_.emplace_back(std::move(method), std::move(part));
}

bool Faults::hangs_for(const net::Request& request) const {
  return std::ranges::any_of(hangs_, [&](const auto& hang) {
    return hang.first == request.method && request.target.find(hang.second) != std::string::npos;
  });
}

void Faults::clear() {
  std::vector<std::shared_ptr<net::ResponseSink>> released;
  const MutexLock lock(mutex_);
  rules_.clear();
  hangs_.clear();
  released.swap(held_);
}

int Faults::left() const {
  const MutexLock lock(mutex_);
  int count = 0;
  for (const Rule& rule : rules_) count += rule.times;
  return count;
}

void Faults::change(Change change) {
  const MutexLock lock(mutex_);
  change_ = std::move(change);
}

void Faults::away(bool is_away) {
  {
    const MutexLock lock(mutex_);
    away_ = is_away;
  }
  if (!is_away) return;
  std::vector<Watch> broken;
  {
    const MutexLock lock(mutex_);
    broken.swap(watches_);
  }
  for (const Watch& watch : broken)
    if (const auto sink = watch.sink.lock()) sink->abort();
}

void Faults::end_watches(std::string_view part, const std::string& last_line) {
  std::vector<Watch> ended;
  {
    const MutexLock lock(mutex_);
    const auto kept = std::partition(watches_.begin(), watches_.end(),
                                     [&](const Watch& watch) { return watch.target.find(part) == std::string::npos; });
    ended.assign(kept, watches_.end());
    watches_.erase(kept, watches_.end());
  }
  for (const Watch& watch : ended) {
    const auto sink = watch.sink.lock();
    if (!sink) continue;
    if (!last_line.empty()) sink->write(std::make_shared<const std::string>(last_line));
    sink->end();
  }
}

std::vector<Faults::Seen> Faults::seen(std::string_view part) const {
  const MutexLock lock(mutex_);
  std::vector<Seen> matching;
  std::copy_if(seen_.begin(), seen_.end(), std::back_inserter(matching),
               [&](const Seen& one) { return one.target.find(part) != std::string::npos; });
  return matching;
}

std::size_t Faults::writes(std::string_view part) const {
  const auto all = seen(part);
  return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [](const Seen& one) { return one.write(); }));
}

std::string Faults::status_json(int code, std::string_view reason) {
  return R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"injected","reason":")" +
         std::string(reason) + R"(","code":)" + std::to_string(code) + "}";
}

Faults::Answer Faults::status(int code, std::string reason, net::Headers headers) {
  headers.set("Content-Type", "application/json");
  return [code, reason = std::move(reason), headers = std::move(headers)](net::ResponseSink& sink) {
    sink.respond(code, headers, status_json(code, reason));
  };
}

Cluster::Cluster(const char* name, Clock& clock, std::function<void()> on_change, apiserver::ServerOptions options)
    : loop_(name), syncer_(member(kSyncerUser)) {
  store_ = store::Store::open(store::make_memory_log()).value();
  options.service_account_key_pem = net::make_key().value();
  options.bootstrap_rights = false;  // who asks is of system:masters, or has the house's rights
  if (!options.component_rights.empty()) syncer_ = the_syncer();
  server_ = std::make_unique<apiserver::Server>(*store_, loop_.loop(), std::move(options), clock);
  EXPECT_TRUE(server_->start());
  client_ = std::make_unique<kube::Client>(net::make_in_process_transport(server_->handler(), member("test")));
  subscription_ = store_->listen(std::move(on_change));
}

void Cluster::serve_kinds_of_a_gate() { server_->install_kinds(with_groups()); }

Cluster::~Cluster() {
  subscription_.reset();
  client_.reset();
  server_->stop();
  store_->close();
}

kube::Client Cluster::client_through(Faults& faults) {
  return kube::Client(net::make_in_process_transport(faults.in_front_of(server_->handler()), syncer_));
}

Document Cluster::get(const kube::Resource& resource, const std::string& namespace_name, const std::string& name) {
  auto object = client_->get(resource, namespace_name, name);
  if (object) return std::move(*object);
  EXPECT_TRUE(object.error().is(Reason::not_found)) << object.error().message;
  return {};
}

Document Cluster::create(const kube::Resource& resource, std::string_view json) {
  const Document object = testing_support::parse_json(json);
  auto created = client_->create(resource, object["metadata"]["namespace"].text(), object.root());
  EXPECT_TRUE(created) << created.error().message;
  return created ? std::move(*created) : Document();
}

Document Cluster::patch(const kube::Resource& resource, const std::string& namespace_name, const std::string& name,
                        std::string_view merge_patch, std::string_view subresource) {
  auto patched = client_->patch(resource, namespace_name, name, kube::PatchType::merge, merge_patch, subresource);
  EXPECT_TRUE(patched) << patched.error().message;
  return patched ? std::move(*patched) : Document();
}

void Cluster::remove(const kube::Resource& resource, const std::string& namespace_name, const std::string& name,
                     std::optional<int> grace_seconds) {
  const auto removed = client_->remove(resource, namespace_name, name, {.grace_period_seconds = grace_seconds});
  EXPECT_TRUE(removed) << removed.error().message;
}

void Cluster::bind(const std::string& namespace_name, const std::string& pod) {
  const Document binding =
      testing_support::parse_json(R"({"metadata":{"name":")" + pod + R"("},"target":{"kind":"Node","name":"node-1"}})");
  const auto bound = client_->create(kPods, namespace_name, binding.root(), pod, "binding");
  EXPECT_TRUE(bound) << bound.error().message;
}

TwoServers::TwoServers(const std::string& template_yaml, bool host_serves_groups)
    : resolved_template(template_context(template_yaml).resolved_template),
      tenant(
          "tenant", clock, [this] { ring(); }, tenant_options(template_context(template_yaml))),
      host(
          "host", clock, [this] { ring(); }, host_options(host_serves_groups)),
      syncer_loop("syncer") {
  host.create(kNamespaces, R"({"metadata":{"name":"team"}})");
  host.create(kServiceAccounts, R"({"metadata":{"name":"workload","namespace":"team"}})");
  host.create(kNodes, R"({"metadata":{"name":"node-1"}})");
}

TwoServers::~TwoServers() { stop_syncer(); }

void TwoServers::ring() {
  const MutexLock lock(mutex_);
  ++changes_;
  changed_.notify_all();
}

SyncerOptions TwoServers::syncer_options() {
  SyncerOptions options;
  options.context.virtual_cluster = "rag";
  options.context.virtual_cluster_uid = "vc-uid";
  options.context.host_namespace = kHostNamespace;
  options.context.host_service_account = "workload";
  options.context.api_server_host = "10.1.2.3";
  options.context.api_server_port = "443";
  options.context.resolved_template = resolved_template;
  EXPECT_TRUE(learn_served_kinds(host.client(), options.context));
  options.kinds_changed = kinds_changed;
  options.health_path = health_path;
  options.clock = &clock;
  options.host_changes_at_once = host_changes_at_once;
  options.host_changes_per_second = host_changes_per_second;
  return options;
}

void TwoServers::start_syncer() {
  syncer = std::make_unique<Syncer>(syncer_loop.loop(), *workers, tenant.client_through(tenant_faults),
                                    host.client_through(faults), syncer_options());
  const auto started = syncer->start();
  ASSERT_TRUE(started) << started.error().message;
}

void TwoServers::stop_syncer() { syncer.reset(); }

void TwoServers::eventually(const std::function<bool()>& condition, std::string_view what) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  for (;;) {
    std::uint64_t looked_at;
    {
      const MutexLock lock(mutex_);
      looked_at = changes_;
    }
    if (condition()) return;
    if (std::chrono::steady_clock::now() > deadline) {
      ADD_FAILURE() << "waited in vain until " << what;
      return;
    }
    MutexLock lock(mutex_);
    changed_.wait_for(lock, kLookAgain, [&]() SUBLET_REQUIRES(mutex_) { return changes_ != looked_at; });
  }
}

void TwoServers::settle() {
  eventually(
      [&] {
        const auto tenant_before = tenant.revision(), host_before = host.revision();
        const auto caught_up = syncer->caught_up();
        if (!caught_up || !*caught_up || !syncer->idle(kRetriesMax)) return false;
        return tenant.revision() == tenant_before && host.revision() == host_before;
      },
      "the syncer has seen all and done all");
}

Document TwoServers::create_pod(const std::string& name, const std::string& more, const std::string& metadata) {
  return tenant.create(kPods, R"({"metadata":{"name":")" + name + R"(","namespace":"default")" + metadata +
                                  R"(},"spec":{"automountServiceAccountToken":false,"containers":[)" +
                                  R"({"name":"main","image":"busybox"}])" + more + "}}");
}

std::string TwoServers::host_name_of(const std::string& tenant_name) const {
  return host_name(tenant_name, kTenantNamespace, "rag");
}

Document TwoServers::await_host_pod(const std::string& name) {
  Document pod;
  eventually(
      [&] {
        pod = host_pod(name);
        return pod.root().is_object();
      },
      "the host has pod " + name);
  return pod;
}

void TwoServers::bind_on_host(const std::string& name) {
  await_host_pod(name);
  host.bind(kHostNamespace, host_name_of(name));
}

void TwoServers::run_on_host(const std::string& name, const std::string& more_statuses) {
  bind_on_host(name);
  host.patch(
      kPods, kHostNamespace, host_name_of(name),
      R"({"status":{"phase":"Running","startTime":"2027-01-15T08:00:00Z","podIP":"10.0.0.7","containerStatuses":[)"
      R"({"name":"main","image":"busybox","imageID":"i","ready":true,"restartCount":0,)"
      R"("state":{"running":{"startedAt":"2027-01-15T08:00:00Z"}}})" +
          more_statuses + "]}}",
      "status");
}

void TwoServers::await_phase(const std::string& name, std::string_view phase) {
  eventually([&] { return tenant_pod(name)["status"]["phase"].text() == phase; },
             name + " is " + std::string(phase) + " in the tenant");
}

std::string TwoServers::await_event(const std::string& object_name, std::string_view reason) {
  std::string message;
  eventually(
      [&] {
        const auto list =
            tenant.client().list(kEvents, kTenantNamespace, {.field_selector = "involvedObject.name=" + object_name});
        if (!list) return false;
        for (const Value event : list->root()["items"])
          if (event["reason"].text() == reason) message = event["message"].string();
        return !message.empty();
      },
      object_name + " has an event " + std::string(reason));
  return message;
}

}  // namespace sublet::syncer
