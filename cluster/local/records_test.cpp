#include "cluster/local/records.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "cluster/folder_testing.h"

namespace {
std::vector<std::string>* removed = nullptr;  // the last parts of the names, in order; null: nobody listens
void note(const char* path) {
  if (removed) removed->push_back(std::filesystem::path(path).filename());
}
}  // namespace

// In libc's place, for the order of removals.
extern "C" int remove(const char* path) noexcept {
  note(path);
  return ::unlink(path) == 0 || errno != EISDIR ? 0 : ::rmdir(path);
}
extern "C" int unlinkat(int folder, const char* path, int flags) noexcept {
  note(path);
  return reinterpret_cast<int (*)(int, const char*, int)>(::dlsym(RTLD_NEXT, "unlinkat"))(folder, path, flags);
}

namespace sublet::cluster {
namespace {

using testing_support::TestFolder;
using testing_support::write_file;

void save(const std::string& state, const std::string& host_namespace, const std::string& name) {
  VirtualCluster cluster;
  cluster.name = name;
  cluster.uid = "u-" + name;
  cluster.host_namespace = host_namespace;
  cluster.listen = "127.0.0.1:1";
  const LocalLayout layout = layout_of(state, host_namespace, name);
  write_file(layout.record_path(), "");
  ASSERT_TRUE(layout.save(cluster));
}

TEST(Records, AreThoseOfTheStateFolder) {
  const TestFolder state;
  EXPECT_TRUE(read_records(state.path).clusters.empty());
  save(state.path, "team-b", "a");
  save(state.path, "team-a", "z");
  save(state.path, "team-a", "b");
  write_file(layout_of(state.path, "team-a", "being-made").folder() + "/create.lock", "");
  write_file(layout_of(state.path, "team-a", "broken").folder() + "/virtual-cluster.json", "{}");
  const Records records = read_records(state.path);
  std::vector<std::string> names;
  for (const auto& cluster : records.clusters) names.push_back(cluster.host_namespace + "/" + cluster.name);
  EXPECT_THAT(names, testing::ElementsAre("team-a/b", "team-a/z", "team-b/a"));
  ASSERT_EQ(records.damaged.size(), 1u);
  EXPECT_EQ(records.damaged[0].name, "broken");
  EXPECT_EQ(records.damaged[0].host_namespace, "team-a");
  EXPECT_NE(records.damaged[0].why.find("format"), std::string::npos);
}

// A remove that is cut off must leave the record: else the next create of that name would find the old store.
TEST(Records, TheRecordGoesLast) {
  const TestFolder state;
  save(state.path, "team", "rag");
  const LocalLayout layout = layout_of(state.path, "team", "rag");
  const std::string& folder = layout.folder();
  for (const char* file : {"/apiserver/state.db", "/template.yaml", "/zz.log", "/create.lock"})
    write_file(folder + file, "");
  std::vector<std::string> order;
  removed = &order;
  const auto emptied = empty_cluster_folder(layout);
  removed = nullptr;
  ASSERT_TRUE(emptied);
  ASSERT_GE(order.size(), 4u) << testing::PrintToString(order);
  EXPECT_EQ(order.back(), "virtual-cluster.json");
  EXPECT_THAT(order, testing::Contains("state.db"));
  EXPECT_TRUE(std::filesystem::exists(folder + "/create.lock")) << "whoever waits for it would not be told";
}

TEST(Records, AFolderGoesWithTheNamespaceThatItWasTheLastOf) {
  const TestFolder state;
  save(state.path, "team", "a");
  save(state.path, "team", "b");
  ASSERT_TRUE(remove_cluster_folder(layout_of(state.path, "team", "a")));
  EXPECT_EQ(read_records(state.path).clusters.size(), 1u);
  ASSERT_TRUE(remove_cluster_folder(layout_of(state.path, "team", "b")));
  EXPECT_FALSE(std::filesystem::exists(state.path + "/clusters/team"));
  EXPECT_TRUE(remove_cluster_folder(layout_of(state.path, "team", "b"))) << "cannot be repeated";
}

}  // namespace
}  // namespace sublet::cluster
