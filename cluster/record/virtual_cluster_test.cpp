#include "sublet/cluster/virtual_cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/durable_writes_testing.h"
#include "cluster/folder_testing.h"
#include "sublet/cluster/local_layout.h"

namespace sublet::cluster {
namespace {

using Folder = testing_support::TestFolder;

VirtualCluster rag() {
  VirtualCluster cluster;
  cluster.name = "rag";
  cluster.uid = "u";
  cluster.host_namespace = "team";
  cluster.listen = "127.0.0.1:7443";
  cluster.host_service_account = "sublet-workload-rag";
  cluster.parameters = {{"queue", "q\"1"}};
  cluster.quota.bytes = std::int64_t{3} << 30;
  return cluster;
}

TEST(VirtualCluster, SurvivesAWriteAndARead) {
  const Folder folder;
  ASSERT_TRUE(LocalLayout(folder.path).save(rag()));
  struct stat info {};
  ASSERT_EQ(::stat((folder.path + "/virtual-cluster.json").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  const auto loaded = LocalLayout(folder.path).load();
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->to_json(), rag().to_json());
  EXPECT_EQ(loaded->parameters.at("queue"), "q\"1");
  EXPECT_EQ(loaded->quota.bytes, std::int64_t{3} << 30);
  EXPECT_FALSE(loaded->quota.objects) << "not said";
  // Without a template there are no parameters to set: said, not ignored.
  EXPECT_NE(translate_context(*loaded).error().message.find("queue"), std::string::npos);
  VirtualCluster plain = *loaded;
  plain.parameters.clear();
  const auto context = translate_context(plain);
  ASSERT_TRUE(context) << context.error().message;
  EXPECT_EQ(context->api_server_port, "7443");
  EXPECT_EQ(context->host_service_account, "sublet-workload-rag");
}

TEST(VirtualCluster, PodsAreToldOfTheServiceThatLeadsToIt) {
  VirtualCluster cluster = rag();
  cluster.parameters.clear();
  EXPECT_EQ(cluster.to_json().find("podAccess"), std::string::npos);
  cluster.pod_access = {"10.0.0.5", "10.0.0.6", 20053, "10.96.3.4"};
  const auto loaded = VirtualCluster::from_json(cluster.to_json());
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->pod_access, cluster.pod_access);
  EXPECT_EQ(loaded->listen_port(), 7443);
  const auto context = translate_context(*loaded);
  ASSERT_TRUE(context) << context.error().message;
  EXPECT_EQ(context->api_server_host + ":" + context->api_server_port, "10.96.3.4:443");
  EXPECT_EQ(context->dns_service_ip, "10.96.3.4");
}

TEST(VirtualCluster, PodsAreToldOfNoDnsServerWhereTheTemplateHasNone) {
  VirtualCluster cluster = rag();
  cluster.parameters.clear();
  cluster.pod_access = {"10.0.0.5", "10.0.0.6", 20053, "10.96.3.4"};
  cluster.template_text = "controlPlane: {coredns: {enabled: false}}\n";
  const auto context = translate_context(cluster);
  ASSERT_TRUE(context) << context.error().message;
  EXPECT_EQ(context->api_server_host, "10.96.3.4");
  EXPECT_EQ(context->dns_service_ip, "");
}

TEST(VirtualCluster, ASavedRecordIsOnTheDiskWithItsName) {
  const Folder folder;
  testing_support::DurableWrites writes;
  ASSERT_TRUE(LocalLayout(folder.path).save(rag()));
  EXPECT_THAT(writes.calls(),
              testing::ElementsAre("sync " + folder.path + "/virtual-cluster.json.*",
                                   "rename " + folder.path + "/virtual-cluster.json", "sync " + folder.path));
}

TEST(VirtualCluster, ARecordOfALaterFormatIsNotGuessedAt) {
  std::string json = rag().to_json();
  json.replace(json.find("\"format\": 1"), 11, "\"format\": 2");
  const auto loaded = VirtualCluster::from_json(json);
  ASSERT_FALSE(loaded);
  EXPECT_NE(loaded.error().message.find("format 2 is not known"), std::string::npos) << loaded.error().message;
  EXPECT_NE(loaded.error().message.find("a later one wrote it"), std::string::npos);
}

TEST(VirtualCluster, NamesWhatIsWrongWithARecord) {
  EXPECT_NE(VirtualCluster::from_json("{}").error().message.find("format"), std::string::npos);
  EXPECT_NE(VirtualCluster::from_json(R"({"format":1,"name":"x"})").error().message.find("uid"), std::string::npos);
  EXPECT_TRUE(LocalLayout("/nonexistent").load().error().is(Reason::not_found));
}

}  // namespace
}  // namespace sublet::cluster
