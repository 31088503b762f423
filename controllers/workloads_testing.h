// WorkloadsRig: an API server with its controllers over a store in memory, and hands in place of nodes: what a kubelet
// would say of a pod the test says. Time and order are the test's (ManualClock, ManualExecutor): settle() runs what
// there is to do now.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "controllers/manual_executor_testing.h"
#include "controllers/resources_testing.h"
#include "controllers/role_checked_testing.h"
#include "sublet/apiserver/server.h"
#include "sublet/controllers/controllers.h"
#include "sublet/store/memory_log.h"
#include "tests/support/parse_json.h"

namespace sublet::controllers {

/// Returns the merge patch that gives a workload's container this image.
inline std::string image_patch(const std::string& image) {
  return R"({"spec":{"template":{"spec":{"containers":[{"name":"c","image":")" + image + R"("}]}}}})";
}

class WorkloadsRig {
 public:
  WorkloadsRig() {
    EXPECT_TRUE(server_.start());
    controllers_.start();
    settle();
  }
  ~WorkloadsRig() {
    controllers_.stop();
    server_.stop();
    store_->close();
  }

  static schema::Document parse(const std::string& json) { return testing_support::parse_json(json); }
  void create(const kube::Resource& resource, const std::string& json, const std::string& namespace_name = "default") {
    auto created = client_.create(resource, namespace_name, parse(json).root());
    ASSERT_TRUE(created) << created.error().message;
  }
  schema::Document get(const kube::Resource& resource, const std::string& name) {
    auto found = client_.get(resource, "default", name);
    return found ? std::move(*found) : schema::Document();
  }
  bool exists(const kube::Resource& resource, const std::string& name) {
    return client_.get(resource, "default", name).has_value();
  }
  void patch(const kube::Resource& resource, const std::string& name, const std::string& text,
             const std::string& subresource = "") {
    auto patched = client_.patch(resource, "default", name, kube::PatchType::merge, text, subresource);
    ASSERT_TRUE(patched) << patched.error().message;
  }
  void remove(const kube::Resource& resource, const std::string& name, const std::string& policy = "Background") {
    kube::DeleteOptions options;
    options.propagation_policy = policy;
    auto removed = client_.remove(resource, "default", name, options);
    ASSERT_TRUE(removed) << removed.error().message;
  }
  std::vector<schema::Document> list(const kube::Resource& resource, const std::string& selector = "") {
    kube::ListOptions options;
    options.label_selector = selector;
    std::vector<schema::Document> items;
    auto answer = client_.list(resource, "default", options);
    EXPECT_TRUE(answer);
    for (auto item : (*answer)["items"]) items.push_back(schema::Document::copy_of(item));
    return items;
  }
  std::vector<std::string> names(const kube::Resource& resource, const std::string& selector = "") {
    std::vector<std::string> names;
    for (const auto& item : list(resource, selector)) names.push_back(item["metadata"]["name"].string());
    return names;
  }

  /// Runs what there is to do now.
  void settle() { executor_.run_all(); }
  /// Lets time pass, in steps, with what it brings.
  void pass(std::chrono::seconds time) {
    for (std::chrono::seconds step{0}; step < time; ++step) {
      clock_.advance(std::chrono::seconds(1));
      settle();
    }
  }
  /// What a kubelet says of a pod that runs.
  void run_pod(const std::string& name, bool ready = true) {
    const auto now = format_time(clock_.now());
    patch(kPods, name,
          R"({"status":{"phase":"Running","conditions":[{"type":"Ready","status":")" +
              std::string(ready ? "True" : "False") + R"(","lastTransitionTime":")" + now + R"("}]}})",
          "status");
  }
  /// Every pod that is there becomes ready, but for those with this image; pods that are going are gone.
  void run_pods(const std::string& bad_image = "bad") {
    for (const auto& pod : list(kPods)) {
      const auto name = pod["metadata"]["name"].string();
      if (pod["metadata"].has("deletionTimestamp"))
        end_pod(name);
      else if (pod["spec"]["containers"].at(0)["image"].text() != bad_image &&
               pod["status"]["phase"].text() == "Pending")
        run_pod(name);
    }
  }
  void end_pod(const std::string& name) {
    kube::DeleteOptions now;
    now.grace_period_seconds = 0;
    (void)client_.remove(kPods, "default", name, now);
  }
  /// Controllers and kubelets in turns, until nothing changes any more.
  void converge(const std::string& bad_image = "bad") {
    for (int round = 0; round < 200; ++round) {
      settle();
      const auto before = store_->stats().revision;
      run_pods(bad_image);
      settle();
      if (store_->stats().revision == before) return;
    }
    ADD_FAILURE() << "it does not come to rest";
  }
  /// Messages of the events about an object, in the order of their first time.
  std::vector<std::string> events(const std::string& about) {
    std::vector<std::pair<std::string, std::string>> found;
    for (const auto& event : list(kEvents))
      if (event["involvedObject"]["name"].text() == about)
        found.emplace_back(event["metadata"]["name"].string(),
                           event["reason"].string() + ": " + event["message"].string());
    std::sort(found.begin(), found.end());
    std::vector<std::string> messages;
    for (auto& [name, message] : found) messages.push_back(std::move(message));
    return messages;
  }

  inline static const kube::Resource kDeployments{"apps", "v1", "deployments"}, kSets{"apps", "v1", "replicasets"},
      kControllers{"", "v1", "replicationcontrollers"}, kStatefulSets{"apps", "v1", "statefulsets"},
      kDaemonSets{"apps", "v1", "daemonsets"}, kRevisions{"apps", "v1", "controllerrevisions"},
      kClaims{"", "v1", "persistentvolumeclaims"};

  ManualClock clock_;
  ManualExecutor executor_{clock_};
  std::unique_ptr<store::Store> store_ = std::move(*store::Store::open(store::make_memory_log()));
  net::LoopThread loop_{"test-workloads"};
  apiserver::Server server_{*store_, loop_.loop(), {}, clock_};
  kube::Client client_{net::make_in_process_transport(server_.handler(), identity())};
  Controllers controllers_{*store_, client_, executor_, options(), clock_};

 private:
  ControllersOptions options() {
    ControllersOptions options;
    options.client_as = clients_with_roles(server_.handler(), &loop_.loop());
    return options;
  }
  static net::PeerIdentity identity() {
    net::PeerIdentity identity;
    identity.kind = net::PeerIdentity::Kind::in_process;
    return identity;
  }
};

}  // namespace sublet::controllers
