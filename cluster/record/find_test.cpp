#include <gtest/gtest.h>

#include "sublet/cluster/driver.h"

namespace sublet::cluster {
namespace {

VirtualCluster cluster_of(const std::string& name, const std::string& host_namespace) {
  VirtualCluster out;
  out.name = name;
  out.host_namespace = host_namespace;
  return out;
}

Records some() {
  Records records;
  records.clusters = {cluster_of("rag", "team-a"), cluster_of("rag", "team-b"), cluster_of("train", "team-b")};
  records.damaged = {{"broken", "team-c", "/folder", "/folder/virtual-cluster.json cannot be used: why"}};
  return records;
}

std::string message(const std::string& name, const std::string& host_namespace = {}) {
  const auto found = find_cluster(some(), name, host_namespace);
  return found ? "found in " + found->host_namespace : found.error().message;
}

TEST(Find, ByNameAndNamespace) {
  EXPECT_EQ(message("train"), "found in team-b");
  EXPECT_EQ(message("rag", "team-b"), "found in team-b");
}

TEST(Find, SaysWhatIsThereInstead) {
  EXPECT_EQ(message("rag"), "there are several virtual clusters rag: in namespaces team-a, team-b; say which with -n");
  EXPECT_EQ(message("train", "team-a"),
            "no virtual cluster train in namespace team-a; there is one in namespace team-b");
  EXPECT_NE(message("trian").find("did you mean train (namespace team-b)?"), std::string::npos);
  EXPECT_NE(message("something-else").find("`sublet create something-else` makes it"), std::string::npos);
  EXPECT_TRUE(find_cluster({}, "rag", "").error().is(Reason::not_found));
}

TEST(Find, ADamagedOneIsNamedWithTheWayToGiveItUp) {
  EXPECT_NE(message("broken").find("/folder/virtual-cluster.json cannot be used: why; to give it up: sublet delete "
                                   "broken -n team-c --force"),
            std::string::npos)
      << message("broken");
  const Records records = some();
  ASSERT_NE(find_damaged(records, "broken", ""), nullptr);
  EXPECT_EQ(find_damaged(records, "broken", "team-a"), nullptr);
}

TEST(Find, OfEquallyNearNamesTheOneThatBeginsAlikeIsOffered) {
  Records records;
  for (const char* name : {"x1", "t01", "zz"}) {
    VirtualCluster cluster;
    cluster.name = name;
    cluster.host_namespace = "team";
    records.clusters.push_back(cluster);
  }
  const auto found = find_cluster(records, "t1", "");
  ASSERT_FALSE(found);
  EXPECT_NE(found.error().message.find("did you mean t01 "), std::string::npos) << found.error().message;
  const auto far = find_cluster(records, "ab", "");
  EXPECT_EQ(far.error().message.find("did you mean"), std::string::npos) << far.error().message;
}

}  // namespace
}  // namespace sublet::cluster
