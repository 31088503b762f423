// Two API servers in one process with a Syncer between them, and Faults in front of each: what the syncer's tests run
// on. The test itself plays the host's scheduler and kubelet.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sublet/apiserver/server.h"
#include "sublet/base/mutex.h"
#include "sublet/kube/client.h"
#include "sublet/net/loop.h"
#include "sublet/store/memory_log.h"
#include "sublet/syncer/syncer.h"
#include "syncer/border/border.h"

namespace sublet::syncer {

const kube::Resource kConfigMaps{"", "v1", "configmaps"};
const kube::Resource kServices{"", "v1", "services"};
const kube::Resource kNodes{"", "v1", "nodes"};
const kube::Resource kNamespaces{"", "v1", "namespaces"};
const kube::Resource kClaims{"", "v1", "persistentvolumeclaims"};
const kube::Resource kCsiNodes{"storage.k8s.io", "v1", "csinodes"};
const kube::Resource kRuntimeClasses{"node.k8s.io", "v1", "runtimeclasses"};

/// The time of day is the test's. What waits (back-off, informers) waits in real time, unless the test owns that too.
class TestClock final : public Clock {
 public:
  WallTime now() const override { return wall_.now() + set_by_.load(); }
  SteadyTime steady_now() const override { return owned_ ? wall_.steady_now() : Clock::system().steady_now(); }
  void advance(WallTime::duration by) { wall_.advance(by); }
  /// Somebody sets the time of day: what waits by the steady clock does not know.
  void set_forward(WallTime::duration by) { set_by_ = set_by_.load() + by; }
  /// From now on nothing waits but for advance().
  void own_all_time() { owned_ = true; }

 private:
  ManualClock wall_{WallTime(std::chrono::seconds(1'800'000'000))};
  std::atomic<WallTime::duration> set_by_{};
  std::atomic<bool> owned_ = false;
};

/// The syncer's way to one server: sees every request, and can answer in the server's place. Thread-safe.
class Faults {
 public:
  /// Answers a request instead of the server.
  using Answer = std::function<void(net::ResponseSink& sink)>;
  /// Changes a request on its way, as a mutating webhook would change what it carries.
  using Change = std::function<void(net::Request& request)>;
  struct Seen {
    std::string method, target;
    std::chrono::steady_clock::time_point at;
    bool write() const { return method != "GET"; }
  };

  net::Handler in_front_of(net::Handler server);

  /// The next `times` requests of that method whose target contains `part` get this answer.
  void inject(std::string method, std::string part, int times, Answer answer);
  /// Requests of that method whose target contains `part` get no answer until clear().
  void hang(std::string method, std::string part);
  /// Takes back what was not asked for yet.
  void clear();
  /// How many injected answers were not asked for yet.
  int left() const;
  void change(Change change);
  /// Away: connections break, running watches too, and new requests are refused, until back.
  void away(bool is_away);
  /// Ends the running watches whose target contains `part`, with this last line when it is not empty.
  void end_watches(std::string_view part, const std::string& last_line = {});

  std::vector<Seen> seen(std::string_view part = {}) const;
  /// Requests that write, with that part in their target.
  std::size_t writes(std::string_view part = {}) const;

  static Answer status(int code, std::string reason, net::Headers headers = {});
  static std::string status_json(int code, std::string_view reason);

 private:
  struct Rule {
    std::string method, part;
    int times;
    Answer answer;
  };
  struct Watch {
    std::string target;
    std::weak_ptr<net::ResponseSink> sink;
  };
  Answer answer_for(const net::Request& request) SUBLET_REQUIRES(mutex_);
  bool hangs_for(const net::Request& request) const SUBLET_REQUIRES(mutex_);

  mutable Mutex mutex_;
  std::vector<Rule> rules_ SUBLET_GUARDED_BY(mutex_);
  std::vector<Seen> seen_ SUBLET_GUARDED_BY(mutex_);
  std::vector<Watch> watches_ SUBLET_GUARDED_BY(mutex_);
  std::vector<std::pair<std::string, std::string>> hangs_ SUBLET_GUARDED_BY(mutex_);  // method, part
  std::vector<std::shared_ptr<net::ResponseSink>> held_ SUBLET_GUARDED_BY(mutex_);
  Change change_ SUBLET_GUARDED_BY(mutex_);
  bool away_ SUBLET_GUARDED_BY(mutex_) = false;
};

/// One API server over a store in memory.
class Cluster {
 public:
  Cluster(const char* name, Clock& clock, std::function<void()> on_change, apiserver::ServerOptions options = {});
  ~Cluster();

  /// Present state; a missing root when there is none.
  schema::Document get(const kube::Resource& resource, const std::string& namespace_name, const std::string& name);
  /// Creates the object of this JSON (which names its namespace, if any), and gives it as it was stored.
  schema::Document create(const kube::Resource& resource, std::string_view json);
  schema::Document patch(const kube::Resource& resource, const std::string& namespace_name, const std::string& name,
                         std::string_view merge_patch, std::string_view subresource = {});
  void remove(const kube::Resource& resource, const std::string& namespace_name, const std::string& name,
              std::optional<int> grace_seconds = {});
  /// As a scheduler does, to node-1.
  void bind(const std::string& namespace_name, const std::string& pod);
  /// From now on PodGroups and Workloads too.
  void serve_kinds_of_a_gate();
  store::Revision revision() const { return store_->snapshot().revision(); }
  kube::Client& client() { return *client_; }
  /// What the syncer speaks to: `faults` stand before the server.
  kube::Client client_through(Faults& faults);

 private:
  net::LoopThread loop_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<apiserver::Server> server_;
  std::unique_ptr<kube::Client> client_;  // the test's own, past the faults
  std::unique_ptr<store::Subscription> subscription_;
  net::PeerIdentity syncer_;
};

class TwoServers : public testing::Test {
 protected:
  static constexpr const char* kTenantNamespace = "default";
  static constexpr const char* kHostNamespace = "team";

  /// With a template, the tenant's server and the syncer are as it wants them.
  explicit TwoServers(const std::string& template_yaml = {}, bool host_serves_groups = true);
  ~TwoServers() override;

  /// What start_syncer() takes; none unless the test gives one.
  std::shared_ptr<const patches::ResolvedTemplate> resolved_template;
  SyncerOptions syncer_options();
  std::function<void()> kinds_changed;
  std::string health_path;
  int host_changes_at_once = SyncerOptions().host_changes_at_once;
  int host_changes_per_second = SyncerOptions().host_changes_per_second;
  void start_syncer();
  void stop_syncer();
  /// Waits until the condition holds, looking whenever either server's state changes; a failure after a minute.
  void eventually(const std::function<bool()>& condition, std::string_view what);
  /// Waits for the end of all that was begun: the syncer's copies are what the servers hold, and nothing is in line, in
  /// work or to be tried again. It only waits: a resync, which production never makes, would hide what was overlooked.
  void settle();

  /// A tenant pod of one container "main"; `more` goes into its spec, `metadata` beside its name.
  schema::Document create_pod(const std::string& name, const std::string& more = "", const std::string& metadata = "");
  std::string host_name_of(const std::string& tenant_name) const;
  schema::Document tenant_pod(const std::string& name) { return tenant.get(kPods, kTenantNamespace, name); }
  schema::Document host_pod(const std::string& name) { return host.get(kPods, kHostNamespace, host_name_of(name)); }
  /// Waits for the host pod of a tenant pod.
  schema::Document await_host_pod(const std::string& name);
  /// Plays the host's scheduler.
  void bind_on_host(const std::string& name);
  /// Plays the host: binds the pod and reports it as running, with these further statuses of containers.
  void run_on_host(const std::string& name, const std::string& more_statuses = "");
  void await_phase(const std::string& name, std::string_view phase);
  /// The message of a tenant event of that reason on that object, once there is one.
  std::string await_event(const std::string& object_name, std::string_view reason);

  /// Something may have changed for eventually(). Any thread.
  void ring();

  Mutex mutex_;
  CondVar changed_;
  std::uint64_t changes_ SUBLET_GUARDED_BY(mutex_) = 0;

  TestClock clock;
  Faults faults, tenant_faults;
  Cluster tenant, host;
  net::LoopThread syncer_loop;
  std::unique_ptr<Executor> workers = make_worker_pool(4);
  std::unique_ptr<Syncer> syncer;
};

}  // namespace sublet::syncer
