#include "apiserver/discovery/discovery.h"

#include <gtest/gtest.h>

#include <set>

#include "sublet/schema/document.h"

namespace sublet::apiserver {
namespace {

using schema::Document;
using schema::Value;

Document parsed_answer(const std::optional<std::string>& text) {
  if (!text) {
    ADD_FAILURE() << "no document";
    return Document::object();
  }
  auto document = Document::parse_json(*text);
  EXPECT_TRUE(document.has_value()) << *text;
  return std::move(document).value();
}

Value named(const Value& list, std::string_view key, std::string_view name) {
  for (Value item : list)
    if (item[key].text() == name) return item;
  return {};
}

TEST(LegacyDiscovery, NamesTheServersAddress) {
  EXPECT_EQ(*legacy_discovery(*schema::Registry::builtin(), "/api", "10.0.0.1:6443"),
            R"({"kind":"APIVersions","versions":["v1"],"serverAddressByClientCIDRs":)"
            R"([{"clientCIDR":"0.0.0.0/0","serverAddress":"10.0.0.1:6443"}]})");
}

TEST(LegacyDiscovery, ListsStableGroupsWithAPreferredVersionOfTheirs) {
  Document list = parsed_answer(legacy_discovery(*schema::Registry::builtin(), "/apis", ""));
  EXPECT_EQ(list["kind"].text(), "APIGroupList");
  Value autoscaling = named(list["groups"], "name", "autoscaling");
  EXPECT_EQ(autoscaling.to_json(),
            R"({"name":"autoscaling","versions":[{"groupVersion":"autoscaling/v2","version":"v2"},)"
            R"({"groupVersion":"autoscaling/v1","version":"v1"}],)"
            R"("preferredVersion":{"groupVersion":"autoscaling/v2","version":"v2"}})");
  EXPECT_TRUE(named(list["groups"], "name", "internal.apiserver.k8s.io").missing());
  EXPECT_TRUE(named(list["groups"], "name", "").missing());
}

TEST(LegacyDiscovery, EveryListedGroupAndVersionHasItsDocument) {
  Document list = parsed_answer(legacy_discovery(*schema::Registry::builtin(), "/apis", ""));
  EXPECT_GE(list["groups"].size(), 18u);
  for (Value group : list["groups"]) {
    Document own = parsed_answer(legacy_discovery(*schema::Registry::builtin(), "/apis/" + group["name"].string(), ""));
    EXPECT_EQ(own["kind"].text(), "APIGroup");
    for (Value version : group["versions"]) {
      Document resources = parsed_answer(
          legacy_discovery(*schema::Registry::builtin(), "/apis/" + version["groupVersion"].string(), ""));
      EXPECT_EQ(resources["groupVersion"].text(), version["groupVersion"].text());
      EXPECT_FALSE(resources["resources"].empty());
    }
  }
}

TEST(LegacyDiscovery, PodsAndTheirSubresources) {
  Document core = parsed_answer(legacy_discovery(*schema::Registry::builtin(), "/api/v1", ""));
  EXPECT_EQ(named(core["resources"], "name", "pods").to_json(),
            R"({"name":"pods","singularName":"pod","namespaced":true,"kind":"Pod",)"
            R"("verbs":["create","delete","deletecollection","get","list","patch","update","watch"],)"
            R"("shortNames":["po"],"categories":["all"],"storageVersionHash":"xPOwRZ+Yhw8="})");
  EXPECT_EQ(named(core["resources"], "name", "pods/eviction").to_json(),
            R"({"name":"pods/eviction","singularName":"","namespaced":true,"group":"policy","version":"v1",)"
            R"("kind":"Eviction","verbs":["create"]})");
  EXPECT_EQ(named(core["resources"], "name", "pods/binding")["kind"].text(), "Binding");
  EXPECT_TRUE(named(core["resources"], "name", "pods/binding")["group"].missing());
}

TEST(LegacyDiscovery, UnknownPathsHaveNone) {
  for (std::string_view path : {"/api/v2", "/apis/nonsense", "/apis/apps/v9", "/apis/scheduling.k8s.io/v1alpha2",
                                "/apis/internal.apiserver.k8s.io", "/version", "", "/apis//v1"})
    EXPECT_FALSE(legacy_discovery(*schema::Registry::builtin(), path, "")) << path;
  EXPECT_TRUE(legacy_discovery(*schema::Registry::builtin(), "/apis/", ""));
}

TEST(AggregatedDiscovery, CoreStandsAloneAndHasNoName) {
  Document core = parsed_answer(aggregated_discovery(*schema::Registry::builtin(), "/api", "v2"));
  EXPECT_EQ(core["apiVersion"].text(), "apidiscovery.k8s.io/v2");
  ASSERT_EQ(core["items"].size(), 1u);
  Value group = core["items"].at(0);
  EXPECT_EQ(group["metadata"].to_json(), "{}");
  Value pods = named(group["versions"].at(0)["resources"], "resource", "pods");
  EXPECT_EQ(pods["scope"].text(), "Namespaced");
  EXPECT_EQ(pods["responseKind"].to_json(), R"({"group":"","version":"","kind":"Pod"})");
  EXPECT_EQ(named(pods["subresources"], "subresource", "eviction")["responseKind"].to_json(),
            R"({"group":"policy","version":"v1","kind":"Eviction"})");
}

TEST(AggregatedDiscovery, ListsTheSameAsTheLegacyDocuments) {
  Document all = parsed_answer(aggregated_discovery(*schema::Registry::builtin(), "/apis", "v2beta1"));
  EXPECT_EQ(all["apiVersion"].text(), "apidiscovery.k8s.io/v2beta1");
  Document legacy = parsed_answer(legacy_discovery(*schema::Registry::builtin(), "/apis", ""));
  ASSERT_EQ(all["items"].size(), legacy["groups"].size());
  for (Value group : all["items"]) {
    std::string name = group["metadata"]["name"].string();
    for (Value version : group["versions"]) {
      EXPECT_EQ(version["freshness"].text(), "Current");
      Document flat = parsed_answer(
          legacy_discovery(*schema::Registry::builtin(), "/apis/" + name + "/" + version["version"].string(), ""));
      std::size_t entries = 0;
      for (Value resource : version["resources"]) entries += 1 + resource["subresources"].size();
      EXPECT_EQ(entries, flat["resources"].size()) << name;
    }
  }
}

}  // namespace
}  // namespace sublet::apiserver
