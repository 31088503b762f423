#include "schema/type_plan.h"

#include <gtest/gtest.h>

#include <thread>

#include "schema/builtin_table.h"

namespace sublet::schema {
namespace {

const TypePlan& plan(std::string_view name) { return plan_of(builtin_table().data().find_type(name)); }

TEST(TypePlan, FindsEveryFieldByNameAndNumber) {
  for (std::size_t id = 0; id < builtin_table().type_count(); ++id) {
    const TypePlan& type = plan_of(builtin_table().type_at(id));
    for (std::size_t i = 0; i < type.fields.size(); ++i) {
      EXPECT_EQ(type.find(type.fields[i].name, i), i) << type.type.name();
      EXPECT_EQ(type.find(type.fields[i].name, 0), i) << type.type.name();
    }
    EXPECT_EQ(type.find("no such field", 0), TypePlan::npos);
    for (const ProtoField& field : type.proto) EXPECT_EQ(type.find_proto(field.number), &field);
    EXPECT_EQ(type.find_proto(0), nullptr);
  }
}

TEST(TypePlan, InlinedStructsAreFlattened) {
  const TypePlan& volume = plan("io.k8s.api.core.v1.Volume");
  const std::size_t host_path = volume.find("hostPath", 0);
  ASSERT_NE(host_path, TypePlan::npos);
  EXPECT_EQ(volume.fields[host_path].embedded().short_name(), "VolumeSource");
  ASSERT_EQ(volume.proto.size(), 2u);
  EXPECT_NE(volume.proto[1].inlined, nullptr);
}

TEST(TypePlan, NamesTypesAsGoDoes) {
  const TypePlan& spec = plan("io.k8s.api.core.v1.PodSpec");
  EXPECT_EQ(go_type_name(spec.fields[spec.find("containers", 0)]), "[]v1.Container");
  EXPECT_EQ(go_type_name(spec.fields[spec.find("nodeSelector", 0)]), "map[string]string");
  EXPECT_EQ(go_type_name(spec.fields[spec.find("priority", 0)]), "int32");
}

// First uses from many threads at once must end with one plan (run under TSan).
TEST(TypePlan, IsMadeOnceWhoeverAsksFirst) {
  std::vector<std::thread> threads;
  std::vector<const TypePlan*> seen(4);
  for (std::size_t i = 0; i < seen.size(); ++i)
    threads.emplace_back([&, i] {
      for (std::size_t id = 0; id < builtin_table().type_count(); ++id) plan_of(builtin_table().type_at(id));
      seen[i] = &plan("io.k8s.api.core.v1.Pod");
    });
  for (std::thread& thread : threads) thread.join();
  for (const TypePlan* pod : seen) EXPECT_EQ(pod, seen[0]);
}

}  // namespace
}  // namespace sublet::schema
