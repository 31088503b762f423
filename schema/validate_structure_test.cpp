#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sublet/schema/engine.h"
#include "sublet/schema/registry.h"

namespace sublet::schema {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<Cause> causes_of(std::string_view json, std::string_view group, std::string_view kind) {
  const Type type = Registry::builtin()->find_kind(group, "v1", kind);
  const auto document = decode_json(json, type);
  EXPECT_TRUE(document) << document.error().message;
  std::vector<Cause> causes;
  if (document) validate_structure(document->root(), type, "", causes);
  return causes;
}

TEST(ValidateStructure, RequiredTextsAndPointers) {
  EXPECT_THAT(causes_of(R"({"spec":{"containers":[{"name":"a","env":[{"value":"x"}]}]}})", "", "Pod"),
              ElementsAre(Cause{"FieldValueRequired", "Required value", "spec.containers[0].env[0].name"}));
  EXPECT_THAT(causes_of(R"({"spec":{"template":{"spec":{"containers":[{"name":"a"}]}}}})", "apps", "Deployment"),
              ElementsAre(Cause{"FieldValueRequired", "Required value", "spec.selector"}));
  EXPECT_THAT(causes_of("{}", "node.k8s.io", "RuntimeClass"),
              ElementsAre(Cause{"FieldValueRequired", "Required value", "handler"}));
}

TEST(ValidateStructure, EnumsNameTheirValues) {
  EXPECT_THAT(
      causes_of(R"({"spec":{"restartPolicy":"Sometimes","containers":[{"name":"a","imagePullPolicy":"never"}]}})", "",
                "Pod"),
      ElementsAre(Cause{"FieldValueNotSupported",
                        R"(Unsupported value: "never": supported values: "Always", "IfNotPresent", "Never")",
                        "spec.containers[0].imagePullPolicy"},
                  Cause{"FieldValueNotSupported",
                        R"(Unsupported value: "Sometimes": supported values: "Always", "Never", "OnFailure")",
                        "spec.restartPolicy"}));
  EXPECT_THAT(causes_of(R"({"spec":{"accessModes":["ReadWriteOnce","Any"]}})", "", "PersistentVolume"),
              ElementsAre(Cause{"FieldValueNotSupported",
                                R"(Unsupported value: "Any": supported values: "ReadOnlyMany", "ReadWriteMany", )"
                                R"("ReadWriteOnce", "ReadWriteOncePod")",
                                "spec.accessModes[1]"}));
}

TEST(ValidateStructure, ItemsOfMapsAreUnique) {
  EXPECT_THAT(causes_of(R"({"spec":{"containers":[{"name":"a"},{"name":"b"},{"name":"a"}]}})", "", "Pod"),
              ElementsAre(Cause{"FieldValueDuplicate", R"(Duplicate value: "a")", "spec.containers[2].name"}));
  EXPECT_THAT(
      causes_of(R"({"spec":{"ports":[{"port":80,"protocol":"TCP"},{"port":80,"protocol":"TCP"}]}})", "", "Service"),
      ElementsAre(Cause{"FieldValueDuplicate", R"(Duplicate value: {"port":80,"protocol":"TCP"})", "spec.ports[1]"}));
}

// What a real API server accepts although the markers say otherwise.
TEST(ValidateStructure, IsNoStricterThanUpstream) {
  EXPECT_THAT(causes_of("{}", "rbac.authorization.k8s.io", "Role"), IsEmpty());
  EXPECT_THAT(causes_of(R"({"addressType":"IPv4"})", "discovery.k8s.io", "EndpointSlice"), IsEmpty());
  EXPECT_THAT(causes_of(R"({"addressType":"IPv4","endpoints":[{"addresses":["1.2.3.4","1.2.3.4"]}]})",
                        "discovery.k8s.io", "EndpointSlice"),
              IsEmpty());
  EXPECT_THAT(causes_of(R"({"spec":{"podCIDRs":["10.0.0.0/24","10.0.0.0/24"]}})", "", "Node"), IsEmpty());
  EXPECT_THAT(causes_of(R"({"spec":{"containers":[{"name":"a","env":[{"name":"X"},{"name":"X"}],
                            "ports":[{"containerPort":80},{"containerPort":80}]}],
                            "imagePullSecrets":[{"name":"s"},{"name":"s"}]}})",
                        "", "Pod"),
              IsEmpty());
  EXPECT_THAT(causes_of(R"({"spec":{"containers":[{"name":"a"}]},
                            "status":{"containerStatuses":[{"name":"a"}],"phase":"Odd"}})",
                        "", "Pod"),
              IsEmpty());
  EXPECT_THAT(causes_of(R"({"metadata":{"finalizers":["a","a"]},"spec":{"type":""}})", "", "Service"), IsEmpty());
}

std::string defaulted(std::string_view json, std::string_view group, std::string_view kind) {
  const Type type = Registry::builtin()->find_kind(group, "v1", kind);
  auto document = decode_json(json, type);
  EXPECT_TRUE(document) << document.error().message;
  if (!document) return {};
  apply_table_defaults(document->root(), type);
  const std::string json_out = document->to_json();
  EXPECT_TRUE(conform(document->root(), type));
  EXPECT_EQ(document->to_json(), json_out) << "defaults must leave the document conformed";
  return json_out;
}

TEST(TableDefaults, FillWhatIsAbsentAndNothingElse) {
  EXPECT_EQ(defaulted(R"({"spec":{"ports":[{"port":80},{"port":53,"protocol":"UDP"}]}})", "", "Service"),
            R"({"metadata":{},"spec":{"ports":[{"protocol":"TCP","port":80,"targetPort":0},)"
            R"({"protocol":"UDP","port":53,"targetPort":0}]},"status":{"loadBalancer":{}}})");
  EXPECT_EQ(defaulted("{}", "", "ReplicationController"),
            R"({"metadata":{},"spec":{"replicas":1},"status":{"replicas":0}})");
  EXPECT_EQ(defaulted(R"({"spec":{"replicas":0}})", "", "ReplicationController"),
            R"({"metadata":{},"spec":{"replicas":0},"status":{"replicas":0}})");
}

TEST(TableDefaults, ReachDeepIntoTheTemplate) {
  const std::string json = defaulted(
      R"({"spec":{"template":{"spec":{"containers":[{"name":"a","ports":[{"containerPort":80}],
          "livenessProbe":{"grpc":{"port":1}}}]}}}})",
      "apps", "Deployment");
  EXPECT_NE(json.find(R"({"containerPort":80,"protocol":"TCP"})"), std::string::npos) << json;
  EXPECT_NE(json.find(R"({"port":1,"service":""})"), std::string::npos) << json;
}

}  // namespace
}  // namespace sublet::schema
