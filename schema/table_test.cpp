#include "sublet/schema/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "schema/builtin_table.h"
#include "sublet/schema/registry.h"
namespace sublet::schema {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

const Registry& table() { return *Registry::builtin(); }

Field core(std::string_view type, std::string_view field) {
  Type owner = table().find_type("io.k8s.api.core.v1." + std::string(type));
  auto found = owner.field(field);
  if (!found) throw std::runtime_error(std::string(type) + "." + std::string(field) + " not found");
  return *found;
}

TEST(Table, PodSpecFollowsGosFieldOrderNotTheAlphabet) {
  Type spec = table().find_type("io.k8s.api.core.v1.PodSpec");
  ASSERT_GE(spec.field_count(), 8u);
  EXPECT_EQ(spec.field_at(0).name(), "volumes");
  EXPECT_EQ(spec.field_at(1).name(), "initContainers");
  EXPECT_EQ(spec.field_at(2).name(), "containers");
  EXPECT_EQ(spec.field_at(3).name(), "ephemeralContainers");
  EXPECT_EQ(spec.field_at(4).name(), "restartPolicy");
  EXPECT_EQ(spec.short_name(), "PodSpec");
}

TEST(Table, ContainersMergeByName) {
  Field containers = core("PodSpec", "containers");
  EXPECT_TRUE(containers.repeated());
  EXPECT_TRUE(containers.required());
  EXPECT_EQ(containers.scalar(), Scalar::message);
  EXPECT_EQ(containers.type().short_name(), "Container");
  EXPECT_EQ(containers.list_type(), ListType::map);
  EXPECT_THAT(containers.list_map_keys(), ElementsAre("name"));
  EXPECT_EQ(containers.patch_strategy(), PatchStrategy::merge);
  EXPECT_EQ(containers.patch_merge_key(), "name");
  EXPECT_EQ(containers.proto_number(), 2u);
}

TEST(Table, ListMapKeysAndPatchMergeKeyMayDiffer) {
  Field ports = core("ServiceSpec", "ports");
  EXPECT_THAT(ports.list_map_keys(), ElementsAre("port", "protocol"));
  EXPECT_EQ(ports.patch_merge_key(), "port");
  EXPECT_THAT(core("Container", "ports").list_map_keys(), ElementsAre("containerPort", "protocol"));
}

TEST(Table, ScalarsWithFormsOfTheirOwn) {
  EXPECT_EQ(core("ServicePort", "targetPort").scalar(), Scalar::int_or_string);
  EXPECT_EQ(core("ServicePort", "targetPort").format(), "int-or-string");
  Field limits = core("ResourceRequirements", "limits");
  EXPECT_TRUE(limits.map());
  EXPECT_EQ(limits.scalar(), Scalar::quantity);
  Field data = core("Secret", "data");
  EXPECT_TRUE(data.map());
  EXPECT_EQ(data.scalar(), Scalar::bytes);
  EXPECT_EQ(core("Event", "eventTime").scalar(), Scalar::micro_time);
  EXPECT_EQ(core("Event", "firstTimestamp").scalar(), Scalar::time);
  EXPECT_EQ(core("Container", "env").type().field("valueFrom")->pointer(), true);
  EXPECT_EQ(core("ContainerPort", "containerPort").scalar(), Scalar::int32);
  EXPECT_EQ(core("PodSpec", "terminationGracePeriodSeconds").scalar(), Scalar::int64);
  EXPECT_EQ(core("List", "items").scalar(), Scalar::raw_extension);
  Type entry = table().find_type("io.k8s.apimachinery.pkg.apis.meta.v1.ManagedFieldsEntry");
  EXPECT_EQ(entry.field("fieldsV1")->scalar(), Scalar::fields_v1);
  EXPECT_TRUE(entry.field("fieldsV1")->pointer());
}

TEST(Table, CrdSchemasHaveTheirTwoFacedScalars) {
  Type props = table().find_type("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps");
  ASSERT_TRUE(props);
  EXPECT_EQ(props.field("items")->scalar(), Scalar::schema_or_array);
  EXPECT_EQ(props.field("items")->type(), props);
  EXPECT_EQ(props.field("additionalProperties")->scalar(), Scalar::schema_or_bool);
  EXPECT_EQ(props.field("dependencies")->scalar(), Scalar::schema_or_strings);
  EXPECT_TRUE(props.field("dependencies")->map());
  EXPECT_EQ(props.field("default")->scalar(), Scalar::json);
  EXPECT_EQ(props.field("maximum")->scalar(), Scalar::floating);
  EXPECT_TRUE(props.field("x-kubernetes-validations")->repeated());
}

TEST(Table, PointersOmissionAndZeroTimes) {
  EXPECT_TRUE(core("PodSpec", "securityContext").pointer());
  EXPECT_FALSE(core("PodSpec", "nodeName").pointer());
  EXPECT_FALSE(core("Container", "name").omit_empty());
  EXPECT_TRUE(core("Container", "image").omit_empty());
  Type meta = table().find_type("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta");
  EXPECT_TRUE(meta.field("creationTimestamp")->omit_zero());
  EXPECT_FALSE(core("PodCondition", "lastTransitionTime").omit_zero());
  EXPECT_TRUE(core("PodCondition", "lastTransitionTime").omit_empty());
}

TEST(Table, InlinedStructsAreTransparentInJsonAndMessagesInProtobuf) {
  Type volume = table().find_type("io.k8s.api.core.v1.Volume");
  ASSERT_EQ(volume.field_count(), 2u);
  EXPECT_TRUE(volume.field_at(1).inlined());
  EXPECT_EQ(volume.field_at(1).name(), "");
  EXPECT_EQ(volume.field_at(1).proto_number(), 2u);
  EXPECT_EQ(volume.field("configMap")->type().short_name(), "ConfigMapVolumeSource");
  EXPECT_EQ(volume.field_by_proto(2)->type().short_name(), "VolumeSource");
  EXPECT_FALSE(volume.field("nonsense"));
  EXPECT_FALSE(volume.field(""));
}

TEST(Table, TypeMetaIsInlinedAndNotInProtobuf) {
  Type pod = table().find_kind("", "v1", "Pod");
  EXPECT_TRUE(pod.field_at(0).inlined());
  EXPECT_EQ(pod.field_at(0).proto_number(), 0u);
  EXPECT_EQ(pod.field_at(0).type().field_at(0).name(), "kind");
  EXPECT_EQ(pod.field_at(0).type().field_at(1).name(), "apiVersion");
  EXPECT_EQ(pod.field_by_proto(1)->name(), "metadata");
  EXPECT_FALSE(pod.field_by_proto(0));
  EXPECT_FALSE(pod.field_by_proto(99));
}

TEST(Table, ProtoFieldsAscend) {
  for (std::size_t id = 0; id < builtin_table().type_count(); ++id) {
    Type type = builtin_table().type_at(id);
    std::uint32_t last = 0;
    for (std::size_t i = 0; i < type.proto_field_count(); ++i) {
      Field field = type.proto_field_at(i);
      EXPECT_GT(field.proto_number(), last) << type.name();
      last = field.proto_number();
      EXPECT_EQ(type.field_by_proto(last)->name(), field.name()) << type.name();
    }
  }
}

TEST(Table, ListsThatAreMessagesOfTheirOwn) {
  Field extra = *table().find_type("io.k8s.api.authentication.v1.UserInfo").field("extra");
  EXPECT_TRUE(extra.map());
  EXPECT_TRUE(extra.map_of_lists());
  EXPECT_FALSE(extra.repeated());
  EXPECT_TRUE(extra.list_message());
  Field verbs = *table().find_type("io.k8s.apimachinery.pkg.apis.meta.v1.APIResource").field("verbs");
  EXPECT_TRUE(verbs.repeated());
  EXPECT_TRUE(verbs.list_message());
  EXPECT_FALSE(core("Container", "command").list_message());
}

TEST(Table, PatchStrategies) {
  EXPECT_EQ(core("PodSpec", "volumes").patch_strategy(), PatchStrategy::merge_retain_keys);
  Type deployment = table().find_type("io.k8s.api.apps.v1.DeploymentSpec");
  EXPECT_EQ(deployment.field("strategy")->patch_strategy(), PatchStrategy::retain_keys);
  Type meta = table().find_type("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta");
  EXPECT_EQ(meta.field("finalizers")->patch_strategy(), PatchStrategy::merge);
  EXPECT_EQ(meta.field("finalizers")->list_type(), ListType::set);
  EXPECT_EQ(core("Container", "command").patch_strategy(), PatchStrategy::none);
  EXPECT_EQ(core("Container", "command").list_type(), ListType::atomic);
}

TEST(Table, AtomicStructsAndMaps) {
  EXPECT_EQ(core("PodSpec", "nodeSelector").map_type(), MapType::atomic);
  EXPECT_EQ(core("ObjectFieldSelector", "fieldPath").map_type(), MapType::none);
  EXPECT_EQ(core("EnvVarSource", "fieldRef").map_type(), MapType::atomic);
  EXPECT_TRUE(core("EnvVarSource", "fieldRef").type().atomic());
  EXPECT_FALSE(table().find_type("io.k8s.api.core.v1.PodSpec").atomic());
  // The field's own word wins over its type's.
  EXPECT_EQ(core("PersistentVolumeSpec", "claimRef").map_type(), MapType::granular);
  EXPECT_TRUE(core("PersistentVolumeSpec", "claimRef").type().atomic());
}

TEST(Table, EnumsAndDefaults) {
  EXPECT_THAT(core("PodSpec", "restartPolicy").enum_values(), ElementsAre("Always", "Never", "OnFailure"));
  EXPECT_THAT(core("PersistentVolumeClaimSpec", "accessModes").enum_values(),
              UnorderedElementsAre("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"));
  EXPECT_THAT(core("PodSpec", "nodeName").enum_values(), IsEmpty());
  EXPECT_EQ(core("ContainerPort", "protocol").default_json(), "\"TCP\"");
  EXPECT_EQ(core("AzureDiskVolumeSource", "kind").default_json(), "\"Shared\"");
  EXPECT_EQ(core("PodSpec", "nodeName").default_json(), "");
}

TEST(Table, KindsThatAreNoResources) {
  for (std::string_view kind : {"Status", "APIVersions", "APIGroup", "APIGroupList", "APIResourceList", "List",
                                "PodList", "Binding", "PodLogOptions", "PodExecOptions", "DeleteOptions"})
    EXPECT_TRUE(table().find_kind("", "v1", kind)) << kind;
  EXPECT_EQ(table().find_kind("apps", "v1", "DeleteOptions"), table().find_kind("", "v1", "DeleteOptions"));
  EXPECT_EQ(table().find_kind("batch", "v1", "WatchEvent").field("object")->scalar(), Scalar::raw_extension);
  EXPECT_TRUE(table().find_kind("meta.k8s.io", "v1", "PartialObjectMetadataList"));
  EXPECT_TRUE(table().find_kind("meta.k8s.io", "v1beta1", "PartialObjectMetadataList"));
  EXPECT_EQ(table().find_kind("meta.k8s.io", "v1", "Table").proto_field_count(), 0u);
  EXPECT_TRUE(table().find_kind("autoscaling", "v1", "Scale"));
  EXPECT_TRUE(table().find_kind("policy", "v1", "Eviction"));
  EXPECT_TRUE(table().find_kind("policy", "v1beta1", "Eviction"));
  EXPECT_TRUE(table().find_kind("authentication.k8s.io", "v1", "TokenRequest"));
  EXPECT_TRUE(table().find_kind("admission.k8s.io", "v1", "AdmissionReview"));
  EXPECT_TRUE(table().find_kind("apidiscovery.k8s.io", "v2", "APIGroupDiscoveryList"));
  EXPECT_TRUE(table().find_kind("", "v1", "Nonsense").missing());
  EXPECT_TRUE(table().find_kind("apps", "v1", "Pod").missing());
  EXPECT_TRUE(table().find_type("io.k8s.api.core.v1.Po").missing());
  EXPECT_EQ(Type().field_count(), 0u);
  EXPECT_FALSE(Type().field("x"));
}

TEST(Table, EventsAreStoredAsCoreEvents) {
  const ResourceFacts* events = table().find_resource("events.k8s.io", "v1", "events");
  ASSERT_NE(events, nullptr);
  EXPECT_EQ(events->storage_group, "");
  EXPECT_EQ(events->storage_version, "v1");
  EXPECT_EQ(events->kind, "Event");
  EXPECT_TRUE(Type(events->type).field("regarding"));
  const ResourceFacts* claims = table().find_resource("resource.k8s.io", "v1beta1", "resourceclaims");
  ASSERT_NE(claims, nullptr);
  EXPECT_EQ(claims->storage_group, "resource.k8s.io");
  EXPECT_EQ(claims->storage_version, "v1");
  EXPECT_EQ(table().find_resource("autoscaling", "v1", "horizontalpodautoscalers")->storage_version, "v2");
}

TEST(Table, PodsAsDiscoveryListsThem) {
  const ResourceFacts* pods = table().find_resource("", "v1", "pods");
  ASSERT_NE(pods, nullptr);
  EXPECT_EQ(pods->kind, "Pod");
  EXPECT_EQ(pods->list_kind, "PodList");
  EXPECT_EQ(pods->singular, "pod");
  EXPECT_TRUE(pods->namespaced);
  EXPECT_TRUE(pods->has_status);
  EXPECT_THAT(pods->short_names, ElementsAre("po"));
  EXPECT_THAT(pods->categories, ElementsAre("all"));
  EXPECT_THAT(pods->verbs,
              ElementsAre("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"));
  EXPECT_TRUE(pods->verbs.contains("watch"));
  EXPECT_FALSE(pods->verbs.contains("proxy"));
  std::set<std::string_view> names;
  for (const SubresourceFacts& subresource : pods->subresources) {
    names.insert(subresource.name);
    if (subresource.name == "eviction") {
      EXPECT_EQ(subresource.group, "policy");
      EXPECT_EQ(subresource.kind, "Eviction");
    }
    if (subresource.name == "binding") {
      EXPECT_EQ(subresource.kind, "Binding");
    }
  }
  EXPECT_THAT(names, UnorderedElementsAre("attach", "binding", "ephemeralcontainers", "eviction", "exec", "log",
                                          "portforward", "proxy", "resize", "status"));
  EXPECT_EQ(table().find_resource_of_kind("", "v1", "Pod"), pods);
  EXPECT_EQ(table().find_resource_of_kind("", "v1", "PodList"), nullptr);
  EXPECT_EQ(table().find_resource("", "v2", "pods"), nullptr);
}

TEST(Table, WhatTheFinalDeleteAnswers) {
  EXPECT_TRUE(table().find_resource("", "v1", "pods")->delete_returns_object);
  EXPECT_TRUE(table().find_resource("", "v1", "serviceaccounts")->delete_returns_object);
  EXPECT_FALSE(table().find_resource("", "v1", "configmaps")->delete_returns_object);
  EXPECT_FALSE(table().find_resource("", "v1", "namespaces")->delete_returns_object);
  EXPECT_FALSE(table().find_resource("", "v1", "bindings")->delete_returns_object);
}

TEST(Table, GroupsInDiscoveryOrder) {
  auto groups = table().groups();
  ASSERT_GT(groups.size(), 20u);
  EXPECT_EQ(groups[0].name, "");
  EXPECT_EQ(groups[1].name, "apiregistration.k8s.io");
  EXPECT_EQ(groups[2].name, "apps");
  for (std::size_t i = 0; i < groups.size(); ++i) EXPECT_EQ(groups[i].priority, static_cast<int>(i));
  for (const GroupFacts& group : groups)
    if (group.name == "autoscaling") {
      EXPECT_THAT(group.versions, ElementsAre("v2", "v1"));
    }
}

TEST(Table, OnlyStableVersionsAreServedByDefault) {
  std::size_t served = 0;
  for (const ResourceFacts& facts : table().resources()) served += facts.served;
  EXPECT_EQ(served, 68u);  // "68 stable REST resources (95 with beta+alpha)", apisnoop counts too
  EXPECT_TRUE(table().find_resource("", "v1", "pods")->served);
  EXPECT_TRUE(table().find_resource("autoscaling", "v2", "horizontalpodautoscalers")->served);
  EXPECT_FALSE(table().find_resource("scheduling.k8s.io", "v1alpha2", "podgroups")->served);
  for (const GroupFacts& group : table().groups()) {
    if (group.name == "internal.apiserver.k8s.io") {
      EXPECT_THAT(group.served, IsEmpty());
    }
    if (group.name == "resource.k8s.io") {
      EXPECT_THAT(group.served, ElementsAre("v1"));
    }
  }
}

TEST(Table, EveryResourceIsWhole) {
  // The release's discovery documents list 95 resources; the generator refuses to leave one out.
  EXPECT_EQ(table().resources().size(), 95u);
  for (const ResourceFacts& facts : table().resources()) {
    std::string name = std::string(facts.group) + "/" + std::string(facts.version) + " " + std::string(facts.resource);
    EXPECT_TRUE(facts.type) << name;
    EXPECT_EQ(facts.type.short_name(), facts.kind) << name;
    EXPECT_EQ(table().find_kind(facts.group, facts.version, facts.kind), facts.type) << name;
    EXPECT_EQ(table().find_resource(facts.group, facts.version, facts.resource), &facts) << name;
    EXPECT_EQ(table().find_resource_of_kind(facts.group, facts.version, facts.kind), &facts) << name;
    EXPECT_NE(table().find_resource(facts.storage_group, facts.storage_version, facts.resource), nullptr) << name;
    if (facts.verbs.contains("list")) {
      Type list = table().find_kind(facts.group, facts.version, facts.list_kind);
      ASSERT_TRUE(list) << name;
      EXPECT_EQ(list.field("items")->type(), facts.type) << name;
    }
    for (const SubresourceFacts& subresource : facts.subresources)
      EXPECT_TRUE(table().find_kind(subresource.group, subresource.version, subresource.kind)) << name;
  }
}

TEST(Table, EveryFieldIsConsistent) {
  for (std::size_t id = 0; id < builtin_table().type_count(); ++id) {
    Type type = builtin_table().type_at(id);
    EXPECT_EQ(table().find_type(type.name()), type);
    std::set<std::string_view> names;
    for (std::size_t i = 0; i < type.field_count(); ++i) {
      Field field = type.field_at(i);
      std::string where = std::string(type.name()) + "." + std::string(field.name());
      EXPECT_EQ(field.inlined(), field.name().empty()) << where;
      if (field.scalar() == Scalar::message) {
        EXPECT_TRUE(field.type()) << where;
      }
      if (!field.inlined()) {
        EXPECT_TRUE(names.insert(field.name()).second) << where;
      }
      if (field.list_type() == ListType::map) {
        EXPECT_FALSE(field.list_map_keys().empty()) << where;
        for (std::string_view key : field.list_map_keys()) EXPECT_TRUE(field.type().field(key)) << where << key;
      }
      if (!field.patch_merge_key().empty()) {
        EXPECT_TRUE(field.type().field(field.patch_merge_key())) << where;
      }
      if (field.map_of_lists()) {
        EXPECT_TRUE(field.map()) << where;
      }
    }
  }
}

TEST(Table, KindsCanBeWalked) {
  ASSERT_GT(table().kind_count(), 200u);
  bool wildcard = false;
  for (std::size_t i = 0; i < table().kind_count(); ++i) {
    KindFacts kind = table().kind_at(i);
    EXPECT_TRUE(kind.type);
    wildcard |= kind.group == "*";
    EXPECT_EQ(table().find_kind(kind.group, kind.version, kind.kind), kind.type);
  }
  EXPECT_TRUE(wildcard);
}

}  // namespace
}  // namespace sublet::schema
