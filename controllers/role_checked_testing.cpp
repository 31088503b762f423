#include "controllers/role_checked_testing.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <vector>

#include "sublet/base/text.h"

namespace sublet::controllers {
namespace {

constexpr std::string_view kControllerAccounts = "system:serviceaccount:kube-system:";

std::string verb_of(std::string_view method, bool named) {
  if (method == "GET") return named ? "get" : "list";
  if (method == "POST") return "create";
  if (method == "PUT") return "update";
  if (method == "PATCH") return "patch";
  return named ? "delete" : "deletecollection";
}

class CheckedObserver final : public net::ResponseObserver {
 public:
  CheckedObserver(std::shared_ptr<net::ResponseObserver> inner, std::string what)
      : inner_(std::move(inner)), what_(std::move(what)) {}
  void on_head(int code, const net::Headers& headers) override {
    code_ = code;
    inner_->on_head(code, headers);
  }
  void on_body(std::string_view chunk) override {
    if (code_ == 403) body_.append(chunk);
    inner_->on_body(chunk);
  }
  // Admission refuses too (quota, a namespace that terminates); RBAC alone says which user cannot do what.
  void on_end(Outcome outcome) override {
    if (code_ == 403 && body_.find("\\\" cannot ") != std::string::npos) ADD_FAILURE() << what_ << ": " << body_;
    inner_->on_end(std::move(outcome));
  }

 private:
  const std::shared_ptr<net::ResponseObserver> inner_;
  const std::string what_;
  int code_ = 0;
  std::string body_;
};

class CheckedTransport final : public net::Transport {
 public:
  CheckedTransport(std::unique_ptr<net::Transport> inner, std::string account)
      : inner_(std::move(inner)), account_(std::move(account)) {}
  std::unique_ptr<net::Exchange> start(net::Request request, std::shared_ptr<net::ResponseObserver> observer,
                                       std::chrono::milliseconds timeout) override {
    const std::string call = call_of(request.method, request.target);
    if (!call.empty() && !is_listed(call)) report(call);
    auto checked =
        std::make_shared<CheckedObserver>(std::move(observer), account_ + ": " + request.method + " " + request.target);
    return inner_->start(std::move(request), std::move(checked), timeout);
  }

 private:
  bool is_listed(const std::string& call) const {
    const auto& all = calls_of_controllers();
    const auto found = all.find(account_);
    if (found == all.end()) return false;
    const std::string any = call.substr(0, call.find(' ')) + " *";
    return found->second.contains(call) || found->second.contains(any);
  }
  void report(const std::string& call) const {
    if (const char* path = std::getenv("SUBLET_RECORD_CALLS"))
      std::ofstream(path, std::ios::app) << account_ << ": " << call << "\n";
    else
      ADD_FAILURE() << account_ << " makes a call that calls_of_controllers() does not list: " << call;
  }

  const std::unique_ptr<net::Transport> inner_;
  const std::string account_;
};

}  // namespace

std::string call_of(std::string_view method, std::string_view target) {
  const std::string_view path = target.substr(0, target.find('?'));
  const auto parts = split(path.substr(1), '/');
  std::size_t at = 0;
  std::string group;
  if (parts.size() > 2 && parts[0] == "api") {
    at = 2;
  } else if (parts.size() > 3 && parts[0] == "apis") {
    group = parts[1];
    at = 3;
  } else {
    return {};
  }
  if (parts.size() > at + 2 && parts[at] == "namespaces" && parts[at + 2] != "status" && parts[at + 2] != "finalize")
    at += 2;
  if (parts[at] == "events") return {};
  std::string call = verb_of(method, parts.size() > at + 1).append(" ").append(parts[at]);
  if (!group.empty()) call += "." + group;
  if (parts.size() > at + 2) call.append("/").append(parts[at + 2]);
  return call;
}

std::function<std::unique_ptr<kube::Client>(const std::string& user)> clients_with_roles(net::Handler handler,
                                                                                         net::Loop* loop) {
  return [handler = std::move(handler), loop](const std::string& user) {
    net::PeerIdentity identity;
    identity.kind = net::PeerIdentity::Kind::in_process;
    identity.common_name = user;
    if (!user.empty()) identity.organizations = {"system:serviceaccounts", "system:serviceaccounts:kube-system"};
    auto transport = net::make_in_process_transport(handler, identity, loop);
    if (!user.starts_with(kControllerAccounts)) return std::make_unique<kube::Client>(std::move(transport));
    return std::make_unique<kube::Client>(
        std::make_unique<CheckedTransport>(std::move(transport), user.substr(kControllerAccounts.size())));
  };
}

const std::map<std::string, std::set<std::string>>& calls_of_controllers() {
  static const std::map<std::string, std::set<std::string>> kCalls = {
      {"bootstrap-signer", {"update configmaps"}},
      {"certificate-controller",
       {"delete certificatesigningrequests.certificates.k8s.io",
        "update certificatesigningrequests.certificates.k8s.io/approval",
        "update certificatesigningrequests.certificates.k8s.io/status",
        "create subjectaccessreviews.authorization.k8s.io"}},
      {"clusterrole-aggregation-controller", {"update clusterroles.rbac.authorization.k8s.io"}},
      {"cronjob-controller", {"create jobs.batch", "delete jobs.batch", "update cronjobs.batch/status"}},
      {"daemon-set-controller",
       {"create pods", "delete pods", "patch pods", "create controllerrevisions.apps", "get controllerrevisions.apps",
        "update controllerrevisions.apps", "patch controllerrevisions.apps", "delete controllerrevisions.apps",
        "update daemonsets.apps/status"}},
      {"deployment-controller",
       {"create replicasets.apps", "update replicasets.apps", "patch replicasets.apps", "delete replicasets.apps",
        "update deployments.apps", "update deployments.apps/status"}},
      {"disruption-controller",
       {"update poddisruptionbudgets.policy/status", "update pods/status", "get deployments.apps/scale",
        "get replicasets.apps/scale", "get statefulsets.apps/scale", "get replicationcontrollers/scale"}},
      {"endpoint-controller", {"create endpoints", "update endpoints", "delete endpoints"}},
      {"endpointslice-controller",
       {"create endpointslices.discovery.k8s.io", "update endpointslices.discovery.k8s.io",
        "delete endpointslices.discovery.k8s.io"}},
      {"endpointslicemirroring-controller",
       {"create endpointslices.discovery.k8s.io", "update endpointslices.discovery.k8s.io",
        "delete endpointslices.discovery.k8s.io"}},
      {"ephemeral-volume-controller", {"create persistentvolumeclaims"}},
      {"expand-controller", {"patch persistentvolumeclaims/status"}},
      {"generic-garbage-collector", {"delete *", "patch *"}},
      {"horizontal-pod-autoscaler",
       {"get horizontalpodautoscalers.autoscaling", "update horizontalpodautoscalers.autoscaling/status",
        "get deployments.apps/scale", "update deployments.apps/scale", "list pods.metrics.k8s.io",
        "get services.custom.metrics.k8s.io/hits", "list queue.external.metrics.k8s.io"}},
      {"job-controller", {"create pods", "delete pods", "patch pods", "update jobs.batch/status"}},
      {"node-controller", {"patch pods/status", "delete pods"}},
      {"persistent-volume-binder",
       {"update persistentvolumes", "update persistentvolumes/status", "update persistentvolumeclaims",
        "update persistentvolumeclaims/status"}},
      {"pod-garbage-collector", {"patch pods/status", "delete pods"}},
      {"pv-protection-controller", {"update persistentvolumes"}},
      {"pvc-protection-controller", {"update persistentvolumeclaims"}},
      {"replicaset-controller", {"create pods", "delete pods", "patch pods", "update replicasets.apps/status"}},
      {"replication-controller", {"create pods", "delete pods", "patch pods", "update replicationcontrollers/status"}},
      {"resource-claim-controller",
       {"create resourceclaims.resource.k8s.io", "delete resourceclaims.resource.k8s.io",
        "update resourceclaims.resource.k8s.io", "update resourceclaims.resource.k8s.io/status", "patch pods/status"}},
      {"resourcequota-controller", {"update resourcequotas/status"}},
      {"service-cidrs-controller",
       {"patch servicecidrs.networking.k8s.io", "patch servicecidrs.networking.k8s.io/status"}},
      {"statefulset-controller",
       {"create pods", "delete pods", "patch pods", "update pods", "create controllerrevisions.apps",
        "get controllerrevisions.apps", "update controllerrevisions.apps", "patch controllerrevisions.apps",
        "delete controllerrevisions.apps", "create persistentvolumeclaims", "update persistentvolumeclaims",
        "update statefulsets.apps/status"}},
      {"token-cleaner", {"delete secrets"}},
      {"ttl-after-finished-controller", {"delete jobs.batch"}},
      {"validatingadmissionpolicy-status-controller",
       {"patch validatingadmissionpolicies.admissionregistration.k8s.io/status"}},
      {"volumeattributesclass-protection-controller", {"update volumeattributesclasses.storage.k8s.io"}},
  };
  return kCalls;
}

}  // namespace sublet::controllers
