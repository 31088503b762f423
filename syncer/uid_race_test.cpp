// Between the syncer's look at its copy of a host object and its write, somebody puts another object in the place: a
// thousand times. Whatever the write was, the other one stays as it was made.
#include <gtest/gtest.h>

#include <atomic>

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

}  // namespace
}  // namespace sublet::syncer
