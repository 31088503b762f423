#include "sublet/controllers/controllers.h"

#include <algorithm>

#include "controllers/runtime/event_recorder.h"
#include "controllers/runtime/feed.h"
#include "controllers/runtime/line.h"
#include "controllers/runtime/refusals.h"
#include "sublet/controllers/controller.h"

namespace sublet::controllers {

using Made = std::unique_ptr<Controller>;
Made make_namespace_controller(Context&), make_defaults_controller(Context&), make_server_objects_controller(Context&),
    make_event_controller(Context&), make_garbage_collector(Context&), make_deployment_controller(Context&),
    make_replica_set_controller(Context&), make_replication_controller(Context&),
    make_stateful_set_controller(Context&), make_daemon_set_controller(Context&), make_endpoints_controller(Context&),
    make_endpoint_slice_controller(Context&), make_endpoint_slice_mirroring_controller(Context&),
    make_job_controller(Context&), make_ttl_after_finished_controller(Context&), make_cron_job_controller(Context&),
    make_disruption_controller(Context&), make_pod_gc_controller(Context&),
    make_cluster_role_aggregation_controller(Context&), make_certificate_cleaner_controller(Context&),
    make_resource_quota_controller(Context&), make_certificate_approving_controller(Context&),
    make_certificate_signing_controller(Context&), make_service_account_tokens_controller(Context&),
    make_bootstrap_signer_controller(Context&), make_token_cleaner_controller(Context&),
    make_service_cidr_controller(Context&), make_ip_address_controller(Context&), make_autoscaler_controller(Context&),
    make_claim_protection_controller(Context&), make_volume_protection_controller(Context&),
    make_attributes_class_protection_controller(Context&), make_group_protection_controller(Context&),
    make_volume_binder_controller(Context&), make_ephemeral_volume_controller(Context&),
    make_taint_eviction_controller(Context&), make_resource_claim_controller(Context&),
    make_flow_control_controller(Context&), make_volume_expander_controller(Context&),
    make_policy_status_controller(Context&), make_api_service_controller(Context&),
    make_metrics_api_controller(Context&);

namespace {

constexpr std::string_view kAccountPrefix = "system:serviceaccount:kube-system:";

/// Where a controller runs besides ManagedBy::builtin.
enum class Stays : std::uint8_t {
  no,               // upstream's controller manager has it
  beside_upstream,  // has it too, but it must be off there: a comment at the row has the reason
  always,           // upstream's API server does it itself
};

struct ControllerFacts {
  std::string_view name;  // in logs and metrics
  Made (*make)(Context&);
  std::string_view account = "";    // upstream's service account of that controller; "": the common client
  std::string_view component = "";  // the source of its events; "": the account
  Stays stays = Stays::no;
  std::string_view hosts_with = "";     // a resource: where its objects are carried to a host, the host's own does it
  bool counts_platform_quotas = false;  // where the platform has some, as the server itself: the account is the
                                        // tenant's, who may act as it
};
constexpr ControllerFacts kControllers[] = {
    {"namespace", make_namespace_controller},
    {"defaults", make_defaults_controller},
    {"server-objects", make_server_objects_controller, "", "", Stays::always},
    {"flow-control", make_flow_control_controller, "", "", Stays::always},
    {"api-service", make_api_service_controller, "", "", Stays::always},
    {"metrics-api", make_metrics_api_controller, "", "", Stays::always},
    {"event", make_event_controller, "", "", Stays::always},
    {"ip-address", make_ip_address_controller, "", "", Stays::always},
    {"garbage-collector", make_garbage_collector, "generic-garbage-collector", "garbage-collector-controller"},
    {"deployment", make_deployment_controller, "deployment-controller"},
    {"replicaset", make_replica_set_controller, "replicaset-controller"},
    {"statefulset", make_stateful_set_controller, "statefulset-controller"},
    {"daemonset", make_daemon_set_controller, "daemon-set-controller", "daemonset-controller"},
    {"replicationcontroller", make_replication_controller, "replication-controller"},
    {"endpoint", make_endpoints_controller, "endpoint-controller"},
    {"endpointslice", make_endpoint_slice_controller, "endpointslice-controller", "endpoint-slice-controller"},
    {"endpointslicemirroring", make_endpoint_slice_mirroring_controller, "endpointslicemirroring-controller",
     "endpoint-slice-mirroring-controller"},
    {"job", make_job_controller, "job-controller"},
    {"ttl-after-finished", make_ttl_after_finished_controller, "ttl-after-finished-controller"},
    {"cronjob", make_cron_job_controller, "cronjob-controller"},
    {"disruption", make_disruption_controller, "disruption-controller", "controllermanager"},
    // Upstream's removes pods of nodes that it does not see; a template may leave nodes out.
    {"podgc", make_pod_gc_controller, "pod-garbage-collector", "", Stays::beside_upstream},
    {"clusterrole-aggregation", make_cluster_role_aggregation_controller, "clusterrole-aggregation-controller"},
    {"csrcleaner", make_certificate_cleaner_controller, "certificate-controller"},
    {"csrapproving", make_certificate_approving_controller, "certificate-controller"},
    {"csrsigning", make_certificate_signing_controller, "certificate-controller"},
    // Upstream's signs tokens itself, in a form that this API server does not take.
    {"serviceaccount-token", make_service_account_tokens_controller, "", "", Stays::beside_upstream},
    {"bootstrapsigner", make_bootstrap_signer_controller, "bootstrap-signer"},
    {"tokencleaner", make_token_cleaner_controller, "token-cleaner"},
    {"service-cidr", make_service_cidr_controller, "service-cidrs-controller", "service-cidr-controller"},
    {"horizontalpodautoscaling", make_autoscaler_controller, "horizontal-pod-autoscaler"},
    {"persistentvolume-binder", make_volume_binder_controller, "persistent-volume-binder",
     "persistentvolume-controller", Stays::no, "persistentvolumeclaims"},
    {"persistentvolume-expander", make_volume_expander_controller, "expand-controller", "volume_expand", Stays::no,
     "persistentvolumeclaims"},
    {"persistentvolumeclaim-protection", make_claim_protection_controller, "pvc-protection-controller"},
    {"persistentvolume-protection", make_volume_protection_controller, "pv-protection-controller"},
    {"volumeattributesclass-protection", make_attributes_class_protection_controller,
     "volumeattributesclass-protection-controller"},
    // Upstream's runs behind a feature gate that is off.
    {"podgroup-protection", make_group_protection_controller, "", "", Stays::beside_upstream},
    {"ephemeral-volume", make_ephemeral_volume_controller, "ephemeral-volume-controller", "ephemeral_volume"},
    {"taint-eviction", make_taint_eviction_controller, "node-controller", "taint-eviction-controller"},
    {"resourceclaim", make_resource_claim_controller, "resource-claim-controller", "resource_claim"},
    {"validatingadmissionpolicy-status", make_policy_status_controller, "validatingadmissionpolicy-status-controller"},
    {.name = "resourcequota",
     .make = make_resource_quota_controller,
     .account = "resourcequota-controller",
     .counts_platform_quotas = true},
};

/// The kinds of controllers whose keys are "namespace/name" or "name" of an object of that kind.
struct ReconciledKind {
  std::string_view controller, kind, group, version, resource;
};
constexpr ReconciledKind kReconciledKinds[] = {
    {"namespace", "Namespace", "", "v1", "namespaces"},
    {"deployment", "Deployment", "apps", "v1", "deployments"},
    {"replicaset", "ReplicaSet", "apps", "v1", "replicasets"},
    {"statefulset", "StatefulSet", "apps", "v1", "statefulsets"},
    {"daemonset", "DaemonSet", "apps", "v1", "daemonsets"},
    {"replicationcontroller", "ReplicationController", "", "v1", "replicationcontrollers"},
    {"endpoint", "Service", "", "v1", "services"},
    {"endpointslice", "Service", "", "v1", "services"},
    {"endpointslicemirroring", "Endpoints", "", "v1", "endpoints"},
    {"job", "Job", "batch", "v1", "jobs"},
    {"ttl-after-finished", "Job", "batch", "v1", "jobs"},
    {"cronjob", "CronJob", "batch", "v1", "cronjobs"},
    {"disruption", "PodDisruptionBudget", "policy", "v1", "poddisruptionbudgets"},
    {"horizontalpodautoscaling", "HorizontalPodAutoscaler", "autoscaling", "v2", "horizontalpodautoscalers"},
    {"persistentvolume-expander", "PersistentVolumeClaim", "", "v1", "persistentvolumeclaims"},
    {"persistentvolumeclaim-protection", "PersistentVolumeClaim", "", "v1", "persistentvolumeclaims"},
    {"persistentvolume-protection", "PersistentVolume", "", "v1", "persistentvolumes"},
    {"ephemeral-volume", "Pod", "", "v1", "pods"},
    {"resourcequota", "ResourceQuota", "", "v1", "resourcequotas"},
};

KindFacts reconciled_kind(std::string_view controller) {
  for (const ReconciledKind& row : kReconciledKinds)
    if (row.controller == controller)
      return {std::string(row.group).append(row.group.empty() ? "" : "/").append(row.version),
              std::string(row.kind),
              {std::string(row.group), std::string(row.version), std::string(row.resource)}};
  return {};
}

bool runs(const ControllerFacts& facts, ManagedBy by) {
  switch (by) {
    case ManagedBy::builtin:
      return true;
    case ManagedBy::upstream:
      return facts.stays != Stays::no;
    case ManagedBy::none:
      return facts.stays == Stays::always;
  }
  return true;
}

bool is_the_hosts(const ControllerFacts& facts, const ControllersOptions& options) {
  return std::ranges::find(options.carried_to_host, facts.hosts_with) != options.carried_to_host.end();
}

// "": as the server itself.
std::string speaks_as(const ControllerFacts& facts, const ControllersOptions& options) {
  if (facts.counts_platform_quotas && !options.platform_quotas.empty()) return {};
  return std::string(kAccountPrefix).append(facts.account);
}

}  // namespace

Result<ManagedBy> managed_by(std::string_view word) {
  if (word == "builtin") return ManagedBy::builtin;
  if (word == "upstream") return ManagedBy::upstream;
  if (word == "none") return ManagedBy::none;
  return bad_request("controllers: \"" + std::string(word) + "\" must be one of builtin, upstream, none");
}

struct Controllers::Impl {
  struct Unit {
    std::unique_ptr<kube::Client> client;  // null: the common one
    std::unique_ptr<EventRecorder> recorder;
    std::shared_ptr<Line> line;
    std::unique_ptr<Context> context;
    Made controller;
    std::unique_ptr<Refusals> refusals;

    Outcome reconcile(const std::string& key) const {
      const auto warnings = EventRecorder::warnings_of_this_thread();
      const Outcome outcome = controller->reconcile(key);
      refusals->report(key, outcome, EventRecorder::warnings_of_this_thread() != warnings);
      return outcome;
    }
  };

  Impl(store::Store& store, const kube::Client& client, Executor& executor, ControllersOptions options_, Clock& clock)
      : options(std::move(options_)),
        feeds(store, [this] { feeds_moved(); }),
        events(std::make_shared<Events>(executor, clock)) {
    for (const auto& facts : kControllers) {
      if (!runs(facts, options.managed_by) || is_the_hosts(facts, options)) continue;
      Unit unit;
      if (!facts.account.empty() && options.client_as) unit.client = options.client_as(speaks_as(facts, options));
      const auto& own = unit.client ? *unit.client : client;
      unit.recorder = std::make_unique<EventRecorder>(
          *events, own, std::string(facts.component.empty() ? facts.account : facts.component));
      unit.line = std::make_shared<Line>(facts.name, executor, clock, feeds);
      unit.context = std::make_unique<Context>(own, *unit.recorder, options, clock, feeds, *unit.line);
      unit.controller = facts.make(*unit.context);
      unit.refusals =
          std::make_unique<Refusals>(std::string(facts.name), reconciled_kind(facts.name), store, *unit.recorder);
      units.push_back(std::move(unit));
    }
  }

  // All listers know the existing objects before any controller reconciles one.
  void start() {
    for (auto& unit : units) unit.controller->start();
    feeds.start();
    for (auto& unit : units) {
      unit.line->start(unit.controller->workers(), [&unit](const std::string& key) { return unit.reconcile(key); });
    }
  }

  void stop() {
    feeds.stop();
    for (auto& unit : units) unit.line->stop();
    events->stop();
  }

  void feeds_moved() {
    for (auto& unit : units) unit.line->feeds_moved();
  }

  const ControllersOptions options;
  Feeds feeds;
  const std::shared_ptr<Events> events;
  std::vector<Unit> units;
};

Controllers::Controllers(store::Store& store, const kube::Client& client, Executor& executor,
                         ControllersOptions options, Clock& clock)
    : impl_(std::make_unique<Impl>(store, client, executor, std::move(options), clock)) {}

Controllers::~Controllers() { stop(); }

void Controllers::start() { impl_->start(); }

void Controllers::stop() { impl_->stop(); }

bool Controllers::idle() const {
  for (const auto& unit : impl_->units)
    if (!unit.line->idle()) return false;
  return impl_->events->idle();
}

}  // namespace sublet::controllers
