// Between the syncer's look at its copy of a host object and its write, somebody puts another object in the place: a
// thousand times. Whatever the write was, the other one stays as it was made.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>

#include "syncer/two_servers_testing.h"

namespace sublet::syncer {
namespace {

using schema::Document;

constexpr int kRuns = 1000;

class UidRace : public TwoServers {
 protected:
  void SetUp() override {
    const auto loaded = patches::Template::load("sync: {toHost: {configMaps: {all: true}}}", "t.yaml");
    ASSERT_TRUE(loaded) << loaded.error().message;
    resolved_template = loaded->resolve({}, "rag", "team").value();
    host_changes_at_once = 2 * kRuns;
  }
  static std::string name_of(int i) { return "m" + std::to_string(i); }

  // The object that is about to be written to is replaced, once.
  void replace(const net::Request& request) {
    if (request.method != "DELETE" && request.method != "PATCH") return;
    const std::string path(request.path());
    const std::string prefix = "/api/v1/namespaces/team/configmaps/";
    if (!path.starts_with(prefix)) return;
    const std::string name = path.substr(prefix.size());
    const Document there = host.get(kConfigMaps, kHostNamespace, name);
    if (!there.root().is_object() || there["metadata"]["labels"][kLabelTenantUid].missing()) return;
    host.remove(kConfigMaps, kHostNamespace, name);
    host.create(kConfigMaps,
                R"({"metadata":{"name":")" + name + R"(","namespace":"team"},"data":{"whose":"another's"}})");
    ++replaced;
  }
  std::atomic<int> replaced{0};
};

TEST_F(UidRace, WhatTookThePlaceOfAHostObjectIsNeitherChangedNorDeleted) {
  start_syncer();
  for (int i = 0; i < kRuns; ++i)
    tenant.create(kConfigMaps,
                  R"({"metadata":{"name":")" + name_of(i) + R"(","namespace":"default"},"data":{"k":"1"}})");
  eventually([&] { return host.get(kConfigMaps, kHostNamespace, host_name_of(name_of(kRuns - 1))).root().is_object(); },
             "the last one is there");
  settle();
  faults.change([this](net::Request& request) { replace(request); });
  for (int i = 0; i < kRuns; ++i)
    if (i % 2 == 0)
      tenant.remove(kConfigMaps, kTenantNamespace, name_of(i));
    else
      tenant.patch(kConfigMaps, kTenantNamespace, name_of(i), R"({"data":{"k":"2"}})");
  eventually([&] { return replaced == kRuns; }, "each was replaced under the syncer's hands");
  faults.change(nullptr);
  stop_syncer();
  int changed = 0, gone = 0;
  for (int i = 0; i < kRuns; ++i) {
    const Document there = host.get(kConfigMaps, kHostNamespace, host_name_of(name_of(i)));
    if (!there.root().is_object())
      ++gone;
    else if (there["data"].to_json() != R"({"whose":"another's"})" || there["metadata"].has("labels"))
      ++changed;
  }
  EXPECT_EQ(gone, 0);
  EXPECT_EQ(changed, 0);
}

class StatusRace : public TwoServers {};

// What the host says of a pod, on its way to a tenant that has made the pod anew (simulation: seed 10).
TEST_F(StatusRace, AStatusIsNeverWrittenToThePodThatTookTheName) {
  start_syncer();
  create_pod("web");
  bind_on_host("web");
  eventually([&] { return !tenant_pod("web")["spec"]["nodeName"].text().empty(); }, "the pod is bound");
  settle();
  std::atomic<bool> begun = false;
  std::promise<std::string> made;  // the uid of the pod that took the name, for this thread
  tenant_faults.change([&](net::Request& request) {
    if (!request.path().ends_with("/pods/web/status") || begun.exchange(true)) return;
    tenant.remove(kPods, kTenantNamespace, "web", 0);
    made.set_value(create_pod("web")["metadata"]["uid"].string());
  });
  host.patch(kPods, kHostNamespace, host_name_of("web"),
             R"({"status":{"phase":"Running","startTime":"2027-01-15T08:00:00Z"}})", "status");
  std::future<std::string> anew = made.get_future();
  ASSERT_EQ(anew.wait_for(std::chrono::seconds(60)), std::future_status::ready) << "nobody wrote the status";
  const std::string made_anew = anew.get();
  eventually(
      [&] {
        if (const auto there = host_pod("web"); there["metadata"].has("deletionTimestamp"))  // as a kubelet does
          host.remove(kPods, kHostNamespace, host_name_of("web"), 0);
        return host_pod("web")["metadata"]["annotations"][kAnnotationTenantUid].text() == made_anew;
      },
      "the new pod is on the host");
  EXPECT_EQ(tenant_pod("web")["metadata"]["uid"].text(), made_anew) << "it was not taken for one that had run";
  EXPECT_FALSE(tenant_pod("web")["status"].has("startTime"));
  tenant_faults.change(nullptr);
}

}  // namespace
}  // namespace sublet::syncer
