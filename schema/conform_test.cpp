// conform(): hand-made vectors that need no golden files. The expected texts are kube-apiserver's own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schema/conformed_testing.h"
#include "sublet/schema/engine.h"
#include "sublet/schema/registry.h"

namespace sublet::schema {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

Type kind(std::string_view group, std::string_view version, std::string_view name) {
  return Registry::builtin()->find_kind(group, version, name);
}
Type pod() { return kind("", "v1", "Pod"); }

TEST(Conform, FieldsComeInUpstreamsOrderAndEmptyOnesFollowGo) {
  EXPECT_EQ(conformed(R"({"spec":{"containers":[{"image":"i","name":"c"}],"nodeName":""},"metadata":{"name":"p"},
                          "kind":"Pod","apiVersion":"v1"})",
                      pod()),
            R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i",)"
            R"("resources":{}}]},"status":{}})");
}

TEST(Conform, WhatGoAlwaysWritesIsAdded) {
  EXPECT_EQ(conformed("{}", pod()), R"({"metadata":{},"spec":{"containers":null},"status":{}})");
  EXPECT_EQ(conformed("{}", kind("", "v1", "ConfigMap")), R"({"metadata":{}})");
  EXPECT_EQ(conformed("{}", kind("rbac.authorization.k8s.io", "v1", "ClusterRole")), R"({"metadata":{},"rules":null})");
  // A condition's times are structs: null, not absent. creationTimestamp is omitzero: absent.
  EXPECT_EQ(conformed(R"({"status":{"conditions":[{"type":"Ready","status":"True"}]}})", pod()),
            R"({"metadata":{},"spec":{"containers":null},"status":{"conditions":[{"type":"Ready","status":"True",)"
            R"("lastProbeTime":null,"lastTransitionTime":null}]}})");
}

TEST(Conform, PointersKeepTheirZero) {
  EXPECT_EQ(conformed(R"({"spec":{"replicas":0,"minReadySeconds":0}})", kind("", "v1", "ReplicationController")),
            R"({"metadata":{},"spec":{"replicas":0},"status":{"replicas":0}})");
}

TEST(Conform, NullIsAbsentButInListsAndMapsItIsTheZeroValue) {
  EXPECT_EQ(conformed(R"({"data":null,"immutable":null,"binaryData":{"a":null}})", kind("", "v1", "ConfigMap")),
            R"({"metadata":{},"binaryData":{"a":null}})");
  EXPECT_EQ(conformed(R"({"data":{"a":null}})", kind("", "v1", "ConfigMap")), R"({"metadata":{},"data":{"a":""}})");
  EXPECT_EQ(conformed(R"({"secrets":[null]})", kind("", "v1", "ServiceAccount")), R"({"metadata":{},"secrets":[{}]})");
}

TEST(Conform, AnEmptyListThatGoAlwaysWritesIsNull) {
  EXPECT_EQ(conformed(R"({"rules":[]})", kind("rbac.authorization.k8s.io", "v1", "Role")),
            R"({"metadata":{},"rules":null})");
}

TEST(Conform, MapKeysAreSorted) {
  EXPECT_EQ(conformed(R"({"data":{"b":"2","a":"1","c":"3"}})", kind("", "v1", "ConfigMap")),
            R"({"metadata":{},"data":{"a":"1","b":"2","c":"3"}})");
}

TEST(Conform, ScalarsBecomeCanonical) {
  EXPECT_EQ(conformed(R"({"spec":{"containers":[{"name":"c","resources":{"limits":{"memory":"1024Mi","cpu":1.5,
                          "x.dev/y":2," ":" 1 "}}}]},
                          "metadata":{"creationTimestamp":"2026-11-21T11:41:37.5+02:00"}})",
                      pod()),
            R"({"metadata":{"creationTimestamp":"2026-11-21T09:41:37Z"},"spec":{"containers":[{"name":"c","resources":)"
            R"({"limits":{" ":"1","cpu":"1500m","memory":"1Gi","x.dev/y":"2"}}}]},"status":{}})");
  EXPECT_EQ(conformed(R"({"data":{"a":"YQ==\n","b":"YR=="}})", kind("", "v1", "Secret")),
            R"({"metadata":{},"data":{"a":"YQ==","b":"YQ=="}})");
  EXPECT_EQ(conformed(R"({"spec":{"ports":[{"port":80,"targetPort":"web"},{"port":81}]}})", kind("", "v1", "Service")),
            R"({"metadata":{},"spec":{"ports":[{"port":80,"targetPort":"web"},{"port":81,"targetPort":0}]},)"
            R"("status":{"loadBalancer":{}}})");
}

TEST(Conform, ZeroTimesAreNull) {
  EXPECT_EQ(conformed(R"({"metadata":{"creationTimestamp":"0001-01-01T00:00:00Z"}})", kind("", "v1", "ConfigMap")),
            R"({"metadata":{}})");
  EXPECT_EQ(conformed(R"({"metadata":{"creationTimestamp":null}})", kind("", "v1", "ConfigMap")), R"({"metadata":{}})");
}

TEST(Conform, RawJsonIsLeftAlone) {
  EXPECT_EQ(conformed(R"({"data":{"z":1,"a":null,"m":[{}]},"revision":3})", kind("apps", "v1", "ControllerRevision")),
            R"({"metadata":{},"data":{"z":1,"a":null,"m":[{}]},"revision":3})");
  EXPECT_EQ(conformed("{}", kind("apps", "v1", "ControllerRevision")), R"({"metadata":{},"data":null,"revision":0})");
}

TEST(Conform, IsIdempotent) {
  const std::string once = conformed(R"({"spec":{"containers":[{"name":"c","ports":[{"containerPort":80}]}]}})", pod());
  EXPECT_EQ(conformed(once, pod()), once);
}

TEST(Conform, WrongTypesAreNamedAsUpstreamNamesThem) {
  EXPECT_EQ(conformed(R"({"spec":{"replicas":"three"}})", kind("apps", "v1", "Deployment")),
            "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32");
  EXPECT_EQ(conformed(R"({"spec":{"replicas":1.5}})", kind("apps", "v1", "Deployment")),
            "json: cannot unmarshal number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32");
  EXPECT_EQ(conformed(R"({"spec":{"replicas":3000000000}})", kind("apps", "v1", "Deployment")),
            "json: cannot unmarshal number 3000000000 into Go struct field DeploymentSpec.spec.replicas of type int32");
  EXPECT_EQ(conformed(R"({"spec":{"containers":{}}})", pod()),
            "json: cannot unmarshal object into Go struct field PodSpec.spec.containers of type []v1.Container");
  EXPECT_EQ(conformed(R"({"spec":{"containers":["a"]}})", pod()),
            "json: cannot unmarshal string into Go struct field PodSpec.spec.containers of type v1.Container");
  EXPECT_EQ(conformed(R"({"spec":{"containers":[{"image":5}]}})", pod()),
            "json: cannot unmarshal number into Go struct field Container.spec.containers.image of type string");
  EXPECT_EQ(
      conformed(R"({"spec":{"containers":[{"livenessProbe":{"httpGet":"x"}}]}})", pod()),
      "json: cannot unmarshal string into Go struct field Probe.spec.containers.livenessProbe.ProbeHandler.httpGet "
      "of type v1.HTTPGetAction");
  EXPECT_EQ(conformed(R"({"metadata":{"labels":{"a":true}}})", pod()),
            "json: cannot unmarshal bool into Go struct field ObjectMeta.metadata.labels of type string");
  EXPECT_EQ(conformed(R"({"metadata":{"creationTimestamp":5}})", pod()),
            "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.creationTimestamp of type string");
  EXPECT_EQ(conformed("[]", pod()), "json: cannot unmarshal array into Go value of type v1.Pod");
  EXPECT_THAT(conformed(R"({"spec":{"containers":[{"resources":{"limits":{"cpu":"lots"}}}]}})", pod()),
              StartsWith("quantities must match the regular expression"));
  EXPECT_EQ(conformed(R"({"data":{"a":"YQ=%"}})", kind("", "v1", "Secret")), "illegal base64 data at input byte 2");
  EXPECT_THAT(
      conformed(R"({"spec":{"matchConstraints":{"resourceRules":[{"scope":5}]}}})",
                kind("admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicy")),
      HasSubstr("field NamedRuleWithOperations.spec.matchConstraints.resourceRules.RuleWithOperations.Rule.scope "));
}

TEST(Conform, FieldNamesAreCaseSensitive) {
  DecodeNotes notes;
  const auto document = decode_json(R"({"Spec":{},"metadata":{"NAME":"x"}})", pod(), &notes);
  ASSERT_TRUE(document);
  EXPECT_THAT(notes.unknown_fields, ElementsAre("Spec", "metadata.NAME"));
}

TEST(Conform, StrictNotesNameThePathsOnce) {
  DecodeNotes notes;
  const auto document = decode_json(R"({"spec":{"foo":1,"containers":[{"name":"a","foo":{}},{"bar":1,"bar":2}],
                                       "nodeName":"x","nodeName":"y"},"metadata":{"labels":{"a":"1","a":"2"}}})",
                                    pod(), &notes);
  ASSERT_TRUE(document) << document.error().message;
  EXPECT_THAT(notes.unknown_fields, ElementsAre("spec.foo", "spec.containers[0].foo", "spec.containers[1].bar"));
  EXPECT_THAT(notes.duplicate_fields, ::testing::Contains("spec.nodeName"));
  EXPECT_THAT(notes.duplicate_fields, ::testing::Contains("metadata.labels.a"));
  EXPECT_EQ((*document)["spec"]["nodeName"].text(), "y");
  EXPECT_FALSE(document->root().path("spec").has("foo"));
  DecodeNotes two;
  two.unknown_fields = {"spec.foo"};
  two.duplicate_fields = {"spec.paused"};
  EXPECT_EQ(two.strict_message(), R"(strict decoding error: unknown field "spec.foo", duplicate field "spec.paused")");
}

TEST(Conform, StrictNotesAreBounded) {
  std::string json = "{";
  for (int i = 0; i < 1000; ++i) json += "\"x" + std::to_string(i) + "\":1,";
  json.back() = '}';
  DecodeNotes notes;
  ASSERT_TRUE(decode_json(json, pod(), &notes));
  EXPECT_EQ(notes.unknown_fields.size(), 100u);
}

TEST(Conform, CrdSchemasMayBeListsOrBooleans) {
  const Type crd = kind("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
  ASSERT_TRUE(crd);
  const std::string json =
      R"({"metadata":{},"spec":{"group":"g","names":{"plural":"p","kind":"K"},"scope":"Namespaced","versions":[{"name":)"
      R"("v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","items":{"type":"string"},)"
      R"("additionalProperties":false,"dependencies":{"a":["b"],"c":{"type":"string"}}}}}]},"status":{"conditions":null,)"
      R"("acceptedNames":{"plural":"","kind":""},"storedVersions":null}})";
  EXPECT_EQ(conformed(json, crd), json);
  const auto document = decode_json(json, crd);
  ASSERT_TRUE(document);
  const auto back = decode_protobuf(encode_protobuf(document->root(), crd), crd);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->to_json(), json);
}

TEST(Conform, ABodyOfEmptyStructsCannotEatTheMemory) {
  std::string json = R"({"spec":{"containers":[)";
  for (int i = 0; i < 900'000; ++i) json += "{},";
  json.back() = ']';
  json += "}}";
  const auto document = decode_json(json, pod());
  ASSERT_FALSE(document);
  EXPECT_EQ(document.error().message, "the object is too large");
}

}  // namespace
}  // namespace sublet::schema
