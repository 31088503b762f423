// Every controller, in random order: a small story for each is told twice, once step by step with all at rest in
// between, and once with the stories mixed, the controllers' tasks run in any order, held back, told again what they
// know (they end and begin anew, objects are touched for nothing) and woken long after what woke them has changed. Both
// times the end is the same. A controller that no story concerns fails the test: a new one needs a story here.
#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "controllers/controlled_server_testing.h"
#include "sublet/base/metrics.h"
#include "sublet/controllers/lister.h"
#include "sublet/net/tls_context.h"

namespace sublet::controllers {
namespace {

using namespace std::chrono_literals;
using schema::Document;
using schema::Value;

/// An EC request of O=people, CN=ann.
constexpr const char* kCertificateRequest =
    "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIYU1JR0JBZ0VBTUI4eER6QU5CZ05WQkFvTUJuQmxiM0JzWlRFTU1Bb0dBMVVF"
    "QXd3RFlXNXVNRmt3RXdZSApLb1pJemowQ0FRWUlLb1pJemowREFRY0RRZ0FFU3g1V2JwR0RJMzFTckovbWRWdFYrUjlwNnFBNXRnM2RFUWlYCnZF"
    "Q2k1QXhpdTU3c1VNbWFYNW5ReTEzM3dicDJPTkoxeitoNG5tWUc0QnFoK3V6VVFxQUFNQW9HQ0NxR1NNNDkKQkFNQ0EwZ0FNRVVDSVFEL0RqT3c3"
    "UnJxVEcwSlk0U0xWQndQbExPbFlTaFc3T2F1M0kzZ00xYmwyUUlnYXZDVQppbGF6L3p0dFVjakdWUXFTRTlRMnhabVQ0K3BNTlVWL0l3STh4ckE9"
    "Ci0tLS0tRU5EIENFUlRJRklDQVRFIFJFUVVFU1QtLS0tLQo=";

/// One server with its controllers, and somebody in place of kubelets.
class World final : public ControlledServer {
 public:
  World() : ControlledServer(with_key()) {
    options_.authority = authority();
    options_.cluster.ca_certificate_pem = options_.authority.certificate_pem;
    options_.check_api_service = [this](const std::string&, std::function<void(apiserver::ApiAvailability)> done) {
      const auto look = std::make_shared<Look>(std::move(done));
      looks_.push_back(look);
      return look;
    };
    options_.check_metrics = [this](std::function<void(std::optional<bool>)> done) {
      measuring_ = std::make_shared<std::function<void(std::optional<bool>)>>(std::move(done));
      return measuring_;
    };
    restart_controllers();
  }
  void TestBody() override {}

  // What people do. A path is "group/version/resource[/namespace]"; "core" for the group "".
  void make(const std::string& path, const std::string& json) {
    const auto [resource, where] = parsed(path);
    auto made = client_.create(resource, where, parse(json).root());
    EXPECT_TRUE(made) << path << ": " << made.error().message;
  }
  void change(const std::string& path, const std::string& name, const std::string& patch,
              const std::string& subresource = "") {
    const auto [resource, where] = parsed(path);
    auto changed = client_.patch(resource, where, name, kube::PatchType::merge, patch, subresource);
    EXPECT_TRUE(changed) << path << " " << name << ": " << changed.error().message;
  }
  void erase(const std::string& path, const std::string& name, const std::string& policy = "") {
    const auto [resource, where] = parsed(path);
    kube::DeleteOptions options;
    options.propagation_policy = policy;
    (void)client_.remove(resource, where, name, options);  // that it is not there (now) is as good
  }

  // How time and order go.
  void let_pass(std::chrono::milliseconds time) { advance(time); }
  void run_some(int tasks) {
    executor_.run_some(tasks);
    answer_looks();
  }
  void run_all() {
    settle();
    answer_looks();
    settle();
  }
  void begin_anew() {
    controllers_->stop();
    controllers_ = std::make_unique<Controllers>(*store_, client_, executor_, options_, clock_);
    controllers_->start();
  }
  void choose_by(std::function<std::size_t(std::size_t)> choose) { executor_.choose = std::move(choose); }
  /// A write that changes nothing that anybody goes by.
  void touch(std::size_t which, int count) {
    const auto objects = stored();
    const auto& object = *objects[which % objects.size()];
    const auto document = document_of(object);
    const auto facts = facts_of(object);
    if (facts && facts->resource != "events")
      (void)client_.patch({std::string(facts->group), std::string(facts->version), std::string(facts->resource)},
                          namespace_of(object), name_of(object), kube::PatchType::merge,
                          R"({"metadata":{"annotations":{"touched":")" + std::to_string(count) + R"("}}})");
  }

  /// What a kubelet does next for pods that `picks` picks.
  template <class Picks>
  void tend_pods(Picks picks) {
    auto pods = client_.list(kPods, "");
    if (!pods) return;
    for (const Value pod : (*pods)["items"])
      if (picks()) tend(pod);
  }
  void come_to_rest() {
    choose_by(nullptr);
    settle();
    for (int quiet = 0, round = 0; quiet < 10 && round < 300; ++round) {
      const auto before = store_->stats().revision;
      tend_pods([] { return true; });
      run_all();
      const bool moved = store_->stats().revision != before;
      quiet = moved ? 0 : quiet + 1;
      advance(moved ? 20s : 600s);
    }
  }

  /// Everything there is, a line each, without what is the moment's or chance.
  std::multiset<std::string> lines() const {
    std::map<std::string, std::string> generated;
    for (const auto& object : stored()) {
      const auto metadata = document_of(*object);
      const auto stem = metadata["metadata"]["generateName"].string();
      if (!stem.empty()) generated[std::string(name_of(*object))] = stem + "*";
    }
    std::multiset<std::string> lines;
    for (const auto& object : stored()) {
      if (object->key.starts_with("events/") || object->key.starts_with("controllerrevisions.apps/")) continue;
      auto document = document_of(*object);
      // A template that was skipped leaves no set behind.
      if (object->key.starts_with("replicasets.apps/") && document["spec"]["replicas"].integer() == 0) continue;
      if (object->key.starts_with("secrets/")) document.root().erase("data");
      if (object->key.starts_with("pods/")) document = pod_in_short(document.root());
      clean(document.root());
      auto text = without_uids(object->key + " " + document.to_json());  // before names: db-0 may be a part of one
      for (const auto& [name, stem] : generated)
        for (auto at = text.find(name); at != std::string::npos; at = text.find(name, at + stem.size()))
          text.replace(at, name.size(), stem);
      lines.insert(std::move(text));
    }
    return lines;
  }

 private:
  using Look = std::function<void(apiserver::ApiAvailability)>;
  /// Whoever has asked whether an API server can be had, and still wants to know.
  void answer_looks() {
    if (const auto asked = std::exchange(measuring_, nullptr)) (*asked)(true);
    for (const auto& look : std::exchange(looks_, {}))
      if (const auto done = look.lock()) (*done)({false, "ServiceNotFound", "none of the stories has one"});
  }

  static const net::KeyPair& authority() {
    static const auto made = [] {
      ManualClock clock;
      net::CertificateRequest request;
      request.common_name = "virtual-ca";
      request.is_ca = true;
      request.lifetime = std::chrono::hours(24 * 365);
      return *net::make_certificate(request, nullptr, clock.now());
    }();
    return made;
  }
  static apiserver::ServerOptions with_key() {
    apiserver::ServerOptions options;
    options.kinds = schema::Registry::with({}, {"scheduling.k8s.io/v1alpha2"}).value();
    options.service_account_key_pem = *net::make_key();
    return options;
  }
  static std::pair<kube::Resource, std::string> parsed(const std::string& path) {
    std::vector<std::string> words(1);
    for (const char c : path)
      if (c == '/')
        words.emplace_back();
      else
        words.back() += c;
    return {{words[0] == "core" ? "" : words[0], words[1], words[2]}, words.size() > 3 ? words[3] : ""};
  }
  std::vector<store::ObjectPtr> stored() const {
    std::vector<store::ObjectPtr> found;
    store_->snapshot().scan("", {}, [&](const store::ObjectPtr& object) {
      found.push_back(object);
      return true;
    });
    return found;
  }
  static const schema::ResourceFacts* facts_of(const store::Object& object) {
    for (const auto& facts : schema::Registry::builtin()->resources())
      if (facts.served && facts.version == facts.storage_version && facts.group == facts.storage_group &&
          object.key.starts_with(key_prefix({std::string(facts.group), "", std::string(facts.resource)})))
        return &facts;
    return nullptr;
  }
  void tend(const Value& pod) {
    const auto name = pod["metadata"]["name"].text(), where = pod["metadata"]["namespace"].text();
    if (pod["metadata"].has("deletionTimestamp")) {
      kube::DeleteOptions now;
      now.grace_period_seconds = 0;
      (void)client_.remove(kPods, where, name, now);
      return;
    }
    if (pod["status"]["phase"].text() != "Pending") return;
    const bool works = pod["metadata"]["labels"].has("batch.kubernetes.io/job-name");
    (void)client_.patch(
        kPods, where, name, kube::PatchType::merge,
        works
            ? R"({"status":{"phase":"Succeeded","containerStatuses":[{"name":"c","image":"i","imageID":"","ready":false,
                "restartCount":0,"state":{"terminated":{"exitCode":0}}}]}})"
            : R"({"status":{"phase":"Running","podIP":"10.1.1.1","podIPs":[{"ip":"10.1.1.1"}],
                "conditions":[{"type":"Ready","status":"True"}]}})",
        "status");
  }
  static Document pod_in_short(const Value& pod) {
    auto made = Document::object();
    made.root().put("labels", pod["metadata"]["labels"]);
    made.root().put("owners", pod["metadata"]["ownerReferences"]);
    made.root().put("ends", pod["metadata"].has("deletionTimestamp"));
    made.root().put("phase", pod["status"]["phase"]);
    return made;
  }
  static void clean(Value value) {
    constexpr std::string_view kMoments[] = {"uid",     "resourceVersion", "managedFields",
                                             "touched", "generation",      "observedGeneration"};
    std::vector<std::string> gone;
    for (const Value child : value) {
      const auto key = child.key();
      if (std::ranges::find(kMoments, key) != std::end(kMoments) || key.ends_with("Time") ||
          key.ends_with("Timestamp") || key == "deployment.kubernetes.io/revision" ||
          key.ends_with("last-change-trigger-time"))
        gone.emplace_back(key);
      else
        clean(child);
    }
    if (!value.is_object()) return;
    for (const auto& key : gone) value.erase(key);
    if (value.has("annotations") && value["annotations"].empty()) value.erase("annotations");
  }
  static std::string without_uids(std::string text) {
    constexpr std::string_view kForm = "hhhhhhhh-hhhh-hhhh-hhhh-hhhhhhhhhhhh";
    const auto is_uid = [&](std::size_t at) {
      for (std::size_t i = 0; i < kForm.size(); ++i)
        if (kForm[i] == 'h' ? std::isxdigit(static_cast<unsigned char>(text[at + i])) == 0 : text[at + i] != '-')
          return false;
      return true;
    };
    for (std::size_t at = 0; at + kForm.size() <= text.size(); ++at)
      if (is_uid(at)) text.replace(at, kForm.size(), "UID");
    return text;
  }

  std::vector<std::weak_ptr<Look>> looks_;
  std::shared_ptr<std::function<void(std::optional<bool>)>> measuring_;
};

using Step = std::function<void(World&)>;
using Story = std::vector<Step>;

Step make(std::string path, std::string json) {
  return [=](World& world) { world.make(path, json); };
}
Step change(std::string path, std::string name, std::string patch, std::string subresource = "") {
  return [=](World& world) { world.change(path, name, patch, subresource); };
}
Step erase(std::string path, std::string name, std::string policy = "") {
  return [=](World& world) { world.erase(path, name, policy); };
}

std::string pod_template(const std::string& app, const std::string& image, const std::string& more = "") {
  return R"({"metadata":{"labels":{"app":")" + app + R"("}},"spec":{"containers":[{"name":"c","image":")" + image +
         R"("}])" + more + "}}";
}
std::string workload(const std::string& name, const std::string& spec) {
  return R"({"metadata":{"name":")" + name + R"("},"spec":{"selector":{"matchLabels":{"app":")" + name +
         R"("}},"template":)" + pod_template(name, "a") + spec + "}}";
}
std::string scale_to(int replicas) { return R"({"spec":{"replicas":)" + std::to_string(replicas) + "}}"; }
std::string with_image(const std::string& image) {
  return R"({"spec":{"template":{"spec":{"containers":[{"name":"c","image":")" + image + R"("}]}}}})";
}

std::vector<Story> workload_stories() {
  const std::string deployments = "apps/v1/deployments/default", sets = "apps/v1/replicasets/default",
                    stateful = "apps/v1/statefulsets/default", daemons = "apps/v1/daemonsets/default",
                    controllers = "core/v1/replicationcontrollers/default", jobs = "batch/v1/jobs/default",
                    crons = "batch/v1/cronjobs/default", budgets = "policy/v1/poddisruptionbudgets/default";
  const std::string job = R"({"metadata":{"name":"NAME"},"spec":{"completions":3,"parallelism":2,"completionMode":
    "Indexed","template":)" +
                          pod_template("job", "a", R"(,"restartPolicy":"Never")");
  const auto named = [&](const std::string& name, const std::string& more) {
    auto text = job;
    return text.replace(text.find("NAME"), 4, name) + more + "}}";
  };
  return {
      {make(deployments, workload("web", R"(,"replicas":3)")), change(deployments, "web", scale_to(5)),
       change(deployments, "web", with_image("b")), change(deployments, "web", scale_to(2))},
      {make(budgets,
            R"({"metadata":{"name":"web"},"spec":{"minAvailable":1,"selector":{"matchLabels":{"app":"web"}}}})"),
       change(budgets, "web", R"({"spec":{"minAvailable":2}})")},
      {make("autoscaling/v2/horizontalpodautoscalers/default",
            R"({"metadata":{"name":"lost"},"spec":{"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":
                "nowhere"},"maxReplicas":3}})")},
      {make(deployments, workload("leaving", R"(,"replicas":2)")), erase(deployments, "leaving", "Foreground")},
      {make(sets, workload("set", R"(,"replicas":4)")), change(sets, "set", scale_to(1)),
       change(sets, "set", scale_to(3))},
      {make(stateful, workload("db", R"(,"replicas":3,"serviceName":"db")")), change(stateful, "db", scale_to(2)),
       change(stateful, "db", with_image("b"))},
      {make(daemons, workload("agent", "")), change(daemons, "agent", with_image("b"))},
      {make(controllers,
            R"({"metadata":{"name":"old"},"spec":{"replicas":2,"template":)" + pod_template("old", "a") + "}}"),
       change(controllers, "old", scale_to(1))},
      {make(jobs, named("whole", ""))},
      {make(jobs, named("brief", R"(,"ttlSecondsAfterFinished":30)"))},
      {make(crons, R"({"metadata":{"name":"often"},"spec":{"schedule":"* * * * *","successfulJobsHistoryLimit":0,
         "failedJobsHistoryLimit":0,"jobTemplate":{"spec":{"template":)" +
                       pod_template("cron", "a", R"(,"restartPolicy":"Never")") + "}}}}"),
       [](World&) {}, [](World&) {}, change(crons, "often", R"({"spec":{"suspend":true}})")}};
}

std::vector<Story> network_stories() {
  const std::string services = "core/v1/services/default";
  return {
      {make(services, R"({"metadata":{"name":"web"},"spec":{"clusterIP":"10.96.0.77","selector":{"app":"web"},
             "ports":[{"port":80}]}})"),
       change(services, "web", R"({"spec":{"publishNotReadyAddresses":true}})")},
      {make(services, R"({"metadata":{"name":"by-hand"},"spec":{"clusterIP":"10.96.0.78","ports":[{"port":80}]}})"),
       make("core/v1/endpoints/default", R"({"metadata":{"name":"by-hand"},"subsets":[{"addresses":[{"ip":"10.2.2.2"}],
             "ports":[{"port":80}]}]})")},
      {make(services, R"({"metadata":{"name":"short"},"spec":{"clusterIP":"10.96.0.79","ports":[{"port":80}]}})"),
       erase(services, "short")},
      {make("networking.k8s.io/v1/servicecidrs", R"({"metadata":{"name":"more"},"spec":{"cidrs":["10.97.0.0/24"]}})")},
      {erase(services, "kubernetes")}};
}

std::vector<Story> storage_stories() {
  const std::string claims = "core/v1/persistentvolumeclaims/default", volumes = "core/v1/persistentvolumes",
                    classes = "storage.k8s.io/v1/volumeattributesclasses";
  const auto volume = [](const std::string& name) {
    return R"({"metadata":{"name":")" + name +
           R"("},"spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],
      "storageClassName":"slow","persistentVolumeReclaimPolicy":"Retain","hostPath":{"path":"/x"}}})";
  };
  const auto claim = [](const std::string& name, const std::string& more) {
    return R"({"metadata":{"name":")" + name + R"("},"spec":{"accessModes":["ReadWriteOnce"],"storageClassName":"slow",
      "resources":{"requests":{"storage":"1Gi"}})" +
           more + "}}";
  };
  return {
      {make("storage.k8s.io/v1/storageclasses",
            R"({"metadata":{"name":"slow"},"provisioner":"example.com/none","allowVolumeExpansion":true})")},
      {make(volumes, volume("kept")), make(claims, claim("mine", R"(,"volumeName":"kept")")),
       [](World& world) { world.run_all(); },  // only a claim that is bound may grow
       change(claims, "mine", R"({"spec":{"resources":{"requests":{"storage":"2Gi"}}}})")},
      {make(volumes, volume("free")), make(claims, claim("brief", R"(,"volumeName":"free")")), erase(claims, "brief"),
       erase(volumes, "free")},
      {make(classes, R"({"metadata":{"name":"fast"},"driverName":"x","parameters":{"a":"b"}})"),
       erase(classes, "fast")},
      {make("core/v1/pods/default", R"({"metadata":{"name":"scratch"},"spec":{"containers":[{"name":"c","image":"i"}],
         "volumes":[{"name":"v","ephemeral":{"volumeClaimTemplate":{"spec":{"storageClassName":"none","accessModes":
         ["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}}}]}})")}};
}

std::vector<Story> cluster_stories() {
  const std::string pods = "core/v1/pods/default", maps = "core/v1/configmaps/default", secrets = "core/v1/secrets",
                    roles = "rbac.authorization.k8s.io/v1/clusterroles",
                    requests = "certificates.k8s.io/v1/certificatesigningrequests";
  const auto pod_on = [](const std::string& name, const std::string& node) {
    return R"({"metadata":{"name":")" + name + R"("},"spec":{"nodeName":")" + node +
           R"(","containers":[{"name":"c","image":"i"}]}})";
  };
  return {
      {make("core/v1/namespaces", R"({"metadata":{"name":"brief"}})"),
       make("core/v1/configmaps/brief", R"({"metadata":{"name":"c"}})"), erase("core/v1/namespaces", "brief")},
      {erase("core/v1/serviceaccounts/default", "default"), erase(maps, "kube-root-ca.crt")},
      {make("core/v1/events/default",
            R"({"metadata":{"name":"once"},"involvedObject":{"kind":"Pod","name":"x","namespace":
         "default"},"reason":"R","message":"m","type":"Normal"})")},
      {make(maps,
            R"({"metadata":{"name":"orphan","ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"none",
         "uid":"00000000-0000-4000-8000-000000000001"}]}})")},
      {make("core/v1/nodes", R"({"metadata":{"name":"n2"}})"), make(pods, pod_on("evicted", "n2")),
       change("core/v1/nodes", "n2", R"({"spec":{"taints":[{"key":"k","effect":"NoExecute"}]}})")},
      {make(pods, R"({"metadata":{"name":"held","finalizers":["example.com/hold"]},"spec":{"containers":[{"name":"c",
         "image":"i"}]}})"),
       erase(pods, "held")},
      {make("resource.k8s.io/v1/resourceclaimtemplates/default",
            R"({"metadata":{"name":"gpu"},"spec":{"spec":{"devices":
         {"requests":[{"name":"r","exactly":{"deviceClassName":"gpu.example.com"}}]}}}})"),
       make(pods, R"({"metadata":{"name":"device"},"spec":{"resourceClaims":[{"name":"g","resourceClaimTemplateName":
         "gpu"}],"containers":[{"name":"c","image":"i"}]}})")},
      {make("scheduling.k8s.io/v1alpha2/podgroups/default",
            R"({"metadata":{"name":"gang"},"spec":{"schedulingPolicy":{"gang":{"minCount":1}}}})"),
       make(pods, R"({"metadata":{"name":"ganged"},"spec":{"terminationGracePeriodSeconds":0,"schedulingGroup":
         {"podGroupName":"gang"},"containers":[{"name":"c","image":"i"}]}})"),
       erase("scheduling.k8s.io/v1alpha2/podgroups/default", "gang"), erase(pods, "ganged")},
      {make("core/v1/resourcequotas/default",
            R"({"metadata":{"name":"all"},"spec":{"hard":{"configmaps":"50","services":"50"}}})"),
       make(maps, R"({"metadata":{"name":"counted"}})"), erase(maps, "counted")},
      {make("apiregistration.k8s.io/v1/apiservices",
            R"({"metadata":{"name":"v1.example.com"},"spec":{"group":"example.com",
         "version":"v1","groupPriorityMinimum":100,"versionPriority":1,"insecureSkipTLSVerify":true,
         "service":{"namespace":"default","name":"nowhere"}}})"),
       make("core/v1/services/default",
            R"({"metadata":{"name":"nowhere"},"spec":{"clusterIP":"10.96.0.80","ports":[{"port":443}]}})"),
       erase("apiregistration.k8s.io/v1/apiservices", "v1.example.com")},  // while it cannot be had, no namespace ends
      {erase("apiregistration.k8s.io/v1/apiservices", "v1beta1.metrics.k8s.io")},
      {make(roles, R"({"metadata":{"name":"sum"},"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"a":"b"}}]},
         "rules":[]})"),
       make(roles, R"({"metadata":{"name":"part","labels":{"a":"b"}},"rules":[{"apiGroups":[""],"resources":["pods"],
         "verbs":["get"]}]})")},
      {make(requests,
            std::string(R"({"metadata":{"name":"ann"},"spec":{"signerName":"kubernetes.io/kube-apiserver-client",
         "usages":["client auth"],"request":")") +
                kCertificateRequest + R"("}})"),
       change(requests, "ann", R"({"status":{"conditions":[{"type":"Approved","status":"True","reason":"R"}]}})",
              "approval")},
      {make("core/v1/serviceaccounts/default", R"({"metadata":{"name":"robot"}})"),
       make(secrets + "/default", R"({"metadata":{"name":"robot","annotations":{"kubernetes.io/service-account.name":
         "robot"}},"type":"kubernetes.io/service-account-token"})")},
      {make(secrets + "/kube-system", R"({"metadata":{"name":"bootstrap-token-abcdef"},"type":
         "bootstrap.kubernetes.io/token","stringData":{"token-id":"abcdef","token-secret":"0123456789abcdef",
         "expiration":"2100-01-01T00:00:00Z","usage-bootstrap-signing":"true"}})"),
       make("core/v1/configmaps/kube-public", R"({"metadata":{"name":"cluster-info"},"data":{"kubeconfig":"k"}})")},
      {make("admissionregistration.k8s.io/v1/validatingadmissionpolicies", R"({"metadata":{"name":"odd"},"spec":{
         "matchConstraints":{"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],
         "resources":["pods"]}]},"validations":[{"expression":"object.nothing == 1"}]}})"),
       change("admissionregistration.k8s.io/v1/validatingadmissionpolicies", "odd",
              R"({"spec":{"failurePolicy":"Ignore"}})")}};
}

std::vector<Story> stories() {
  std::vector<Story> all;
  for (auto& part : {workload_stories(), network_stories(), storage_stories(), cluster_stories()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

/// How often each controller has reconciled in this process, by its name.
std::map<std::string, std::uint64_t> reconciled() {
  constexpr std::string_view kStart = "sublet_controller_reconcile_seconds_count{controller=\"";
  std::map<std::string, std::uint64_t> found;
  const auto text = metrics::exposition();
  for (auto at = text.find(kStart); at != std::string::npos; at = text.find(kStart, at + 1)) {
    const auto name = text.substr(at + kStart.size(), text.find('"', at + kStart.size()) - at - kStart.size());
    found[name] = std::stoull(text.substr(text.find(' ', at) + 1));
  }
  return found;
}

std::multiset<std::string> end_step_by_step() {
  World world;
  world.make("core/v1/nodes", R"({"metadata":{"name":"n1"}})");
  for (const auto& story : stories())
    for (const auto& step : story) {
      step(world);
      world.run_all();
      world.let_pass(20s);
    }
  world.come_to_rest();
  return world.lines();
}

class RandomOrder : public testing::TestWithParam<unsigned> {};

TEST_P(RandomOrder, EndsAsStepByStep) {
  static const auto wanted = end_step_by_step();
  const auto before = reconciled();
  std::mt19937 random(GetParam());
  const auto pick = [&](std::size_t below) { return static_cast<std::size_t>(random() % below); };
  World world;
  world.make("core/v1/nodes", R"({"metadata":{"name":"n1"}})");
  world.choose_by(pick);
  auto left = stories();
  for (int count = 0; !left.empty(); ++count) {
    auto& story = left[pick(left.size())];
    story.front()(world);
    story.erase(story.begin());
    std::erase_if(left, [](const Story& one) { return one.empty(); });
    if (pick(3) != 0) world.run_some(static_cast<int>(pick(12)));  // else they wait, however much happens meanwhile
    if (pick(4) == 0) world.tend_pods([&] { return pick(2) == 0; });
    if (pick(4) == 0) world.touch(pick(1000), count);
    if (pick(12) == 0) world.begin_anew();
    if (pick(8) == 0) world.let_pass(std::chrono::seconds(1 + pick(30)));
    world.choose_by(pick);
  }
  world.come_to_rest();
  const auto lines = world.lines();
  for (const auto& line : wanted)
    if (lines.count(line) != wanted.count(line)) ADD_FAILURE() << "only step by step: " << line;
  for (const auto& line : lines)
    if (lines.count(line) != wanted.count(line)) ADD_FAILURE() << "only in random order: " << line;
  for (const auto& [name, count] : reconciled()) {
    const auto known = before.find(name);
    EXPECT_GT(count, known == before.end() ? 0 : known->second) << "no story concerns " << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomOrder, testing::Range(1u, 3u));

}  // namespace
}  // namespace sublet::controllers
