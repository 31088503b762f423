// ControlledServer: a server over a store in memory with all its controllers, time and order in the test's hands.
//
// settle() lets the controllers do all that is to be done now; advance() moves the clock and settles. Pods are walked
// through their lives by the test (say_status), as a kubelet would.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "controllers/manual_executor_testing.h"
#include "controllers/resources_testing.h"
#include "controllers/role_checked_testing.h"
#include "sublet/apiserver/server.h"
#include "sublet/controllers/controllers.h"
#include "sublet/store/memory_log.h"
#include "tests/support/parse_json.h"

namespace sublet::controllers {

class ControlledServer : public testing::Test {
 protected:
  static inline const kube::Resource kJobs{"batch", "v1", "jobs"}, kCronJobs{"batch", "v1", "cronjobs"};

  explicit ControlledServer(apiserver::ServerOptions server_options = {})
      : has_roles_(server_options.bootstrap_rights), server_(*store_, loop_.loop(), std::move(server_options), clock_) {
    EXPECT_TRUE(server_.start());
    if (has_roles_) options_.client_as = clients_with_roles(server_.handler(), &loop_.loop());
    controllers_ = std::make_unique<Controllers>(*store_, client_, executor_, options_, clock_);
    controllers_->start();
    settle();
  }
  ~ControlledServer() override {
    controllers_->stop();
    server_.stop();
    store_->close();
  }

  static schema::Document parse(std::string_view json) { return testing_support::parse_json(json); }
  void settle() { executor_.run_all(); }
  void advance(std::chrono::milliseconds by) {
    clock_.advance(by);
    settle();
  }
  /// The controllers' process ends and comes again.
  void restart_controllers() {
    controllers_->stop();
    controllers_ = std::make_unique<Controllers>(*store_, client_, executor_, options_, clock_);
    controllers_->start();
    settle();
  }

  void create(const kube::Resource& resource, std::string_view namespace_name, std::string_view json) {
    auto created = client_.create(resource, namespace_name, parse(json).root());
    ASSERT_TRUE(created) << created.error().message;
    settle();
  }
  void merge(const kube::Resource& resource, std::string_view name, std::string_view patch,
             std::string_view subresource = {}) {
    auto patched = client_.patch(resource, "default", name, kube::PatchType::merge, patch, subresource);
    ASSERT_TRUE(patched) << patched.error().message;
    settle();
  }
  void say_status(std::string_view pod, std::string_view status) {
    merge(kPods, pod, std::string(R"({"status":)").append(status) + "}", "status");
  }
  void remove(const kube::Resource& resource, std::string_view name, kube::DeleteOptions options = {}) {
    auto removed = client_.remove(resource, "default", name, options);
    ASSERT_TRUE(removed) << removed.error().message;
    settle();
  }
  /// Null when there is none.
  schema::Document get(const kube::Resource& resource, std::string_view name) {
    auto found = client_.get(resource, "default", name);
    return found ? std::move(*found) : schema::Document();
  }
  std::vector<schema::Document> list(const kube::Resource& resource, std::string_view labels = {}) {
    kube::ListOptions options;
    options.label_selector = labels;
    auto found = client_.list(resource, "default", options);
    std::vector<schema::Document> items;
    if (found)
      for (schema::Value item : (*found)["items"]) items.push_back(schema::Document::copy_of(item));
    return items;
  }
  std::vector<std::string> names(const kube::Resource& resource, std::string_view labels = {}) {
    std::vector<std::string> found;
    for (const auto& item : list(resource, labels)) found.push_back(item["metadata"]["name"].string());
    return found;
  }
  /// "Reason: message" of the events about objects of that kind and name.
  std::vector<std::string> said_of(std::string_view kind, std::string_view name) {
    std::vector<std::string> found;
    for (const auto& event : list(kEvents))
      if (event["involvedObject"]["kind"].text() == kind && event["involvedObject"]["name"].text() == name)
        found.push_back(event["reason"].string() + ": " + event["message"].string());
    return found;
  }

  const bool has_roles_;        // else every controller uses client_
  ControllersOptions options_;  // of the next start
  ManualClock clock_;
  ManualExecutor executor_{clock_};
  std::unique_ptr<store::Store> store_ = std::move(*store::Store::open(store::make_memory_log()));
  net::LoopThread loop_{"test-controllers"};
  apiserver::Server server_;
  kube::Client client_{net::make_in_process_transport(server_.handler(), [] {
    net::PeerIdentity identity;
    identity.kind = net::PeerIdentity::Kind::in_process;
    return identity;
  }())};
  std::unique_ptr<Controllers> controllers_;
};

}  // namespace sublet::controllers
