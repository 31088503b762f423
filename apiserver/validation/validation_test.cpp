#include <gtest/gtest.h>

#include "apiserver/validation/causes_testing.h"
#include "apiserver/validation/names.h"
#include "apiserver/validation/object_meta.h"
#include "apiserver/validation/pod_spec.h"
#include "apiserver/validation/reported_fields.h"
#include "apiserver/validation/resources.h"
#include "tests/support/parse_json.h"

namespace sublet::apiserver {
namespace {

using schema::Document;
using testing_support::parse_json;

TEST(FieldErrors, SpeakUpstreamsWords) {
  Causes causes;
  required(causes, "spec.x");
  required(causes, "spec.y", "because");
  invalid(causes, "spec.z", "a\"b", "bad");
  invalid(causes, "spec.n", 5, "bad");
  duplicate(causes, "spec.d", "x");
  forbidden(causes, "spec.f", "no");
  constexpr std::string_view kValues[] = {"A", "B"};
  not_supported(causes, "spec.s", "C", kValues);
  too_long(causes, "spec.t", 10);
  too_many(causes, "spec.m", 3, 2);
  EXPECT_EQ(causes_lines(causes),
            "spec.x: Required value\nspec.y: Required value: because\nspec.z: Invalid value: \"a\\\"b\": bad\n"
            "spec.n: Invalid value: 5: bad\nspec.d: Duplicate value: \"x\"\nspec.f: Forbidden: no\n"
            "spec.s: Unsupported value: \"C\": supported values: \"A\", \"B\"\n"
            "spec.t: Too long: may not be more than 10 bytes\nspec.m: Too many: 3: must have at most 2 items\n");
  EXPECT_EQ(causes[0].reason, "FieldValueRequired");
  EXPECT_EQ(causes[6].reason, "FieldValueNotSupported");
}

TEST(ReportedFields, CoverWhatIsNamedForbiddenNamelessOrUnread) {
  ReportedFields said;
  said.add({"FieldValueInvalid", "m", "spec.list.item"});
  said.add({"FieldValueForbidden", "m", "spec.volumes[0].csi"});
  said.add({"FieldValueInvalid", "Invalid value: \"\": bad", "spec.env[1]"});
  said.add({"FieldValueRequired", "m", "spec.initContainers[0].restartPolicy"});
  said.leave_out("spec.rules[3].backend");
  for (const char* covered :
       {"spec.list.item", "spec.list[7].item", "spec.volumes[0].csi.driver", "spec.volumes[0].csi[1]",
        "spec.env[1].name", "spec.initContainers[0].restartPolicyRules[2].action",
        "spec.rules[3].backend.service.name"})
    EXPECT_TRUE(said.covers(covered)) << covered;
  for (const char* open :
       {"spec.list", "spec.list[7].items", "spec.volumes[0].csidriver", "spec.volumes[1].csi.driver",
        "spec.env[1].value", "spec.env[2].name", "spec.initContainers[1].restartPolicyRules[2].action",
        "spec.rules[4].backend.service.name", "spec.rules[3].backends"})
    EXPECT_FALSE(said.covers(open)) << open;
  said.add({"FieldValueRequired", "m", "spec.ports[0].name"});
  EXPECT_FALSE(said.covers("spec.ports[1].name")) << "with as many indexes it is another's";
}

TEST(FieldErrors, EmptyAndAbsentAreEqual) {
  auto a = parse_json(R"({"a":{},"b":[1,{"c":[]}]})"), b = parse_json(R"({"b":[1,{}]})");
  EXPECT_TRUE(semantically_equal(a.root(), b.root()));
  auto c = parse_json(R"({"b":[1,{}],"d":0})");
  EXPECT_FALSE(semantically_equal(a.root(), c.root()));
  EXPECT_FALSE(semantically_equal(c.root(), a.root()));
}

struct NameCase {
  std::string_view text;
  bool label, subdomain, dns1035, qualified;
};

TEST(Names, FollowTheirRules) {
  const std::string long_label(64, 'a');
  const NameCase cases[] = {{"a", true, true, true, true},
                            {"web-1", true, true, true, true},
                            {"1web", true, true, false, true},
                            {"a.b", false, true, false, true},
                            {"-a", false, false, false, false},
                            {"a-", false, false, false, false},
                            {"A", false, false, false, true},
                            {"a_b", false, false, false, true},
                            {"", false, false, false, false},
                            {"a..b", false, false, false, true},
                            {"example.com/Name", false, false, false, true},
                            {"a/b/c", false, false, false, false},
                            {"/b", false, false, false, false},
                            {"b/", false, false, false, false},
                            {long_label, false, true, false, false}};
  for (const auto& item : cases) {
    EXPECT_EQ(dns1123_label(item.text).empty(), item.label) << item.text;
    EXPECT_EQ(dns1123_subdomain(item.text).empty(), item.subdomain) << item.text;
    EXPECT_EQ(dns1035_label(item.text).empty(), item.dns1035) << item.text;
    EXPECT_EQ(qualified_name(item.text).empty(), item.qualified) << item.text;
  }
}

TEST(Names, SayWhatIsWrong) {
  EXPECT_EQ(dns1123_label("A_b"),
            Messages{"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must "
                     "start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for "
                     "validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"});
  EXPECT_EQ(dns1123_label("a.b"), Messages{"must not contain dots"});
  EXPECT_EQ(label_value(std::string(64, 'a')), Messages{"must be no more than 63 bytes"});
  EXPECT_EQ(config_map_key("..a"), Messages{"must not start with '..'"});
  EXPECT_EQ(port_number(0), Messages{"must be between 1 and 65535, inclusive"});
}

TEST(Names, KnowAddresses) {
  for (auto good : {"10.9.8.7", "2001:db8::1", "::1"}) EXPECT_TRUE(parse_ip(good)) << good;
  for (auto bad : {"", "10.9.8", "10.9.8.7.6", "host", "1.2.3.4/5", "::1%eth0"}) EXPECT_FALSE(parse_ip(bad)) << bad;
}

std::string meta_errors(std::string_view json, bool namespaced = true) {
  Causes causes;
  validate_object_meta(parse_json(json).root(), namespaced, NameRule::dns_subdomain, causes);
  return causes_lines(causes);
}

TEST(ObjectMeta, AcceptsWhatIsRight) {
  EXPECT_EQ(meta_errors(R"({"name":"a","namespace":"b","generateName":"a-","labels":{"x/y":"z","e":""},
    "annotations":{"UPPER.example/k":"any text"},"finalizers":["a.b/c"],
    "ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p","uid":"u","controller":true}]})"),
            "");
}

TEST(ObjectMeta, RefusesWhatIsWrong) {
  EXPECT_EQ(meta_errors("{}"),
            "metadata.name: Required value: name or generateName is required\nmetadata.namespace: Required value\n");
  EXPECT_EQ(meta_errors(R"({"name":"a","namespace":"b"})", false),
            "metadata.namespace: Forbidden: not allowed on this type\n");
  EXPECT_NE(meta_errors(R"({"name":"a","namespace":"b","labels":{"-x":"y"}})").find("metadata.labels: Invalid value"),
            std::string::npos);
  auto controllers = meta_errors(R"({"name":"a","namespace":"b","ownerReferences":[
    {"apiVersion":"v1","kind":"A","name":"p","uid":"u","controller":true},
    {"apiVersion":"v1","kind":"B","name":"q","uid":"v","controller":true}]})");
  EXPECT_NE(controllers.find("Only one reference can have Controller set to true. Found \"true\" in references for A/p "
                             "and B/q"),
            std::string::npos);
  std::string big = R"({"name":"a","namespace":"b","annotations":{"k":")" + std::string(256 * 1024, 'x') + "\"}}";
  EXPECT_EQ(meta_errors(big), "metadata.annotations: Too long: may not be more than 262144 bytes\n");
}

TEST(ObjectMeta, KeepsWhatIsFixed) {
  Causes causes;
  auto old = parse_json(R"({"name":"a","uid":"u","deletionTimestamp":"t","finalizers":["a/b"]})");
  auto now = parse_json(R"({"name":"a","uid":"w","deletionTimestamp":"t","finalizers":["a/b","c/d"]})");
  validate_object_meta_update(now.root(), old.root(), causes);
  EXPECT_EQ(causes_lines(causes),
            "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new "
            "finalizers []string{\"c/d\"}\nmetadata.uid: Invalid value: \"w\": field is immutable\n");
}

TEST(Images, HaveTags) {
  EXPECT_EQ(image_tag("nginx"), "latest");
  EXPECT_EQ(image_tag("nginx:1.2"), "1.2");
  EXPECT_EQ(image_tag("host:5000/nginx"), "latest");
  EXPECT_EQ(image_tag("host:5000/nginx:latest"), "latest");
  const std::string digest = "@sha256:" + std::string(64, 'a');
  EXPECT_EQ(image_tag("nginx" + digest), "");
  EXPECT_EQ(image_tag("nginx:1" + digest), "1");
  EXPECT_EQ(image_tag("localhost/a__b/c-d"), "latest");
  EXPECT_EQ(image_tag("[::1]:5000/a"), "latest");
  // No references: upstream takes no tag of them, and pulls such an image only when it is not there.
  for (const std::string text : {"", "//a", "../x", "a b", "A", "a:", "a..b", "a:-x", "nginx@sha256:abc", "x/_a"})
    EXPECT_EQ(image_tag(text), "") << text;
}

std::string resource_errors(std::string_view json) {
  Causes causes;
  validate_container_resources(causes, "r", parse_json(json).root());
  return causes_lines(causes);
}

TEST(Resources, FollowTheirRules) {
  EXPECT_EQ(
      resource_errors(R"({"limits":{"cpu":"1","nvidia.com/gpu":"1"},"requests":{"cpu":"500m","nvidia.com/gpu":"1"}})"),
      "");
  EXPECT_EQ(resource_errors(R"({"limits":{"cpu":"1"},"requests":{"cpu":"2"}})"),
            "r.requests: Invalid value: \"2\": must be less than or equal to cpu limit of 1\n");
  EXPECT_EQ(resource_errors(R"({"limits":{"nvidia.com/gpu":"2"},"requests":{"nvidia.com/gpu":"1"}})"),
            "r.requests: Invalid value: \"1\": must be equal to nvidia.com/gpu limit of 2\n");
  EXPECT_EQ(resource_errors(R"({"requests":{"nvidia.com/gpu":"1"}})"),
            "r.limits: Required value: Limit must be set for non overcommitable resources\n");
  EXPECT_EQ(resource_errors(R"({"limits":{"nvidia.com/gpu":"500m"}})"),
            "r.limits[nvidia.com/gpu]: Invalid value: \"500m\": must be an integer\n");
  EXPECT_EQ(resource_errors(R"({"limits":{"cpu":"-1"}})"),
            "r.limits[cpu]: Invalid value: \"-1\": must be greater than or equal to 0\n");
  EXPECT_EQ(resource_errors(R"({"limits":{"gpu":"1"}})"),
            "r.limits[gpu]: Invalid value: \"gpu\": must be a standard resource type or fully qualified\n"
            "r.limits[gpu]: Invalid value: \"gpu\": must be a standard resource for containers\n");
  EXPECT_EQ(resource_errors(R"({"limits":{"hugepages-2Mi":"2Mi"}})"),
            "r: Forbidden: HugePages require cpu or memory\n");
}

TEST(Resources, DecideTheQosClass) {
  auto qos = [](std::string_view json) { return std::string(qos_class(parse_json(json).root())); };
  EXPECT_EQ(qos(R"({"containers":[{}]})"), "BestEffort");
  EXPECT_EQ(qos(R"({"containers":[{"resources":{"limits":{"nvidia.com/gpu":"1"}}}]})"), "BestEffort");
  EXPECT_EQ(qos(R"({"containers":[{"resources":{"requests":{"cpu":"1"}}}]})"), "Burstable");
  EXPECT_EQ(qos(R"({"containers":[{"resources":{"limits":{"cpu":"1","memory":"1Gi"}}}]})"), "Guaranteed");
  EXPECT_EQ(
      qos(R"({"containers":[{"resources":{"limits":{"cpu":"1","memory":"1Gi"},"requests":{"cpu":"500m","memory":"1Gi"}}}]})"),
      "Burstable");
  EXPECT_EQ(qos(R"({"containers":[{"resources":{"limits":{"cpu":"1","memory":"1Gi"}}},{}]})"), "Burstable");
}

}  // namespace
}  // namespace sublet::apiserver
