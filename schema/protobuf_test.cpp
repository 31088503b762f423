// The protobuf codec on hand-made bytes: what gogo-proto writes, and what no honest client sends.
#include <gtest/gtest.h>

#include <random>

#include "sublet/schema/engine.h"
#include "sublet/schema/registry.h"

namespace sublet::schema {
namespace {

using namespace std::string_literals;

Type kind_in(std::string_view group, std::string_view version, std::string_view name) {
  return Registry::builtin()->find_kind(group, version, name);
}

std::string encoded(std::string_view json, Type type) {
  const auto document = decode_json(json, type);
  return document ? encode_protobuf(document->root(), type) : document.error().message;
}

std::string decoded(std::string_view bytes, Type type) {
  const auto document = decode_protobuf(bytes, type);
  return document ? document->to_json() : document.error().message;
}

Type config_map() { return kind_in("", "v1", "ConfigMap"); }

// ObjectMeta of an object with a name alone: all scalars that are no pointers, creationTimestamp as an empty message.
const std::string kMetaX = "\x0a\x01x\x12\x00\x1a\x00\x22\x00\x2a\x00\x32\x00\x38\x00\x42\x00"s;

TEST(Protobuf, ScalarsThatAreNoPointersAreAlwaysWritten) {
  EXPECT_EQ(encoded(R"({"metadata":{"name":"x"}})", config_map()),
            "\x0a" + std::string(1, static_cast<char>(kMetaX.size())) + kMetaX);
}

TEST(Protobuf, MapsAreWrittenSortedAndReadBack) {
  const std::string bytes =
      encoded(R"({"metadata":{"name":"x"},"data":{"b":"2","a":""},"immutable":false})", config_map());
  EXPECT_TRUE(
      bytes.ends_with("\x12\x05\x0a\x01\x61\x12\x00"
                      "\x12\x06\x0a\x01\x62\x12\x01\x32"
                      "\x20\x00"s));
  EXPECT_EQ(decoded(bytes, config_map()), R"({"metadata":{"name":"x"},"immutable":false,"data":{"a":"","b":"2"}})");
}

TEST(Protobuf, NegativeNumbersAreSignExtended) {
  const Type type = kind_in("scheduling.k8s.io", "v1", "PriorityClass");
  const std::string bytes = encoded(R"({"metadata":{},"value":-1})", type);
  EXPECT_NE(bytes.find("\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s), std::string::npos);
  EXPECT_EQ(decoded(bytes, type), R"({"metadata":{},"value":-1})");
}

TEST(Protobuf, UnknownFieldsAreSkipped) {
  EXPECT_EQ(decoded("\x0a\x03\x0a\x01x\xf8\x07\x05\xfa\x07\x02hi\xf9\x07\x01\x02\x03\x04\x05\x06\x07\x08"s +
                        "\xfd\x07\x01\x02\x03\x04\xfb\x07\x08\x01\xfc\x07"s,
                    config_map()),
            R"({"metadata":{"name":"x"}})");
}

TEST(Protobuf, AMessageThatComesTwiceIsMergedAndOfAScalarTheLastWins) {
  EXPECT_EQ(decoded("\x0a\x06\x0a\x01x\x1a\x01n\x0a\x03\x0a\x01y"s, config_map()),
            R"({"metadata":{"name":"y","namespace":"n"}})");
}

TEST(Protobuf, OfEqualMapKeysTheLastWins) {
  EXPECT_EQ(decoded("\x12\x06\x0a\x01\x61\x12\x01\x31\x12\x06\x0a\x01\x61\x12\x01\x32"s, config_map()),
            R"({"metadata":{},"data":{"a":"2"}})");
}

TEST(Protobuf, AMapEntryWithoutItsValueHasAnEmptyOne) {
  EXPECT_EQ(decoded("\x12\x03\x0a\x01\x61"s, kind_in("", "v1", "Secret")), R"({"metadata":{},"data":{"a":""}})");
  // TokenReview.status (3) { user (2) { extra (4): key "a" } }
  EXPECT_EQ(decoded("\x1a\x07\x12\x05\x22\x03\x0a\x01\x61"s, kind_in("authentication.k8s.io", "v1", "TokenReview")),
            R"({"metadata":{},"spec":{},"status":{"user":{"extra":{"a":[]}}}})");
}

TEST(Protobuf, PackedNumbersAreReadToo) {
  const Type type = kind_in("", "v1", "Pod");
  // spec (2) { securityContext (14) { supplementalGroups (4): packed 1, 300 } }
  const std::string json = decoded("\x12\x07\x72\x05\x22\x03\x01\xac\x02"s, type);
  EXPECT_NE(json.find(R"("supplementalGroups":[1,300])"), std::string::npos) << json;
}

TEST(Protobuf, InvalidUtf8BecomesTheReplacementCharacter) {
  EXPECT_EQ(decoded("\x0a\x06\x0a\x04\xc3\xa9\xff\x61"s, config_map()),
            "{\"metadata\":{\"name\":\"\xc3\xa9\xef\xbf\xbd"
            "a\"}}");
}

TEST(Protobuf, MalformedBytesAreRefused) {
  for (const std::string& bytes :
       {"\x0a"s, "\x0a\x05x"s, "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s, "\x08\x01"s, "\x00"s, "\x0c"s, "\x0b"s,
        "\x0a\x02\x08\x01"s, "\x12\x02\x0a\x05"s, "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"s}) {
    const auto document = decode_protobuf(bytes, config_map());
    ASSERT_FALSE(document);
    EXPECT_TRUE(document.error().is(Reason::bad_request));
  }
}

TEST(Protobuf, MessagesNestedTooDeepAreRefused) {
  // JSONSchemaProps.not (25) of JSONSchemaProps.not ...
  const Type type =
      Registry::builtin()->find_type("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps");
  ASSERT_TRUE(type);
  const auto field = type.field("not");
  ASSERT_TRUE(field);
  std::string bytes;
  for (int i = 0; i < 5000; ++i) {
    std::string outer;
    for (std::uint64_t tag = field->proto_number() << 3 | 2, size = bytes.size(), part = 0; part < 2; ++part)
      for (std::uint64_t v = part ? size : tag;; v >>= 7) {
        outer += static_cast<char>((v & 0x7f) | (v >= 0x80 ? 0x80 : 0));
        if (v < 0x80) break;
      }
    bytes = outer + bytes;
  }
  EXPECT_EQ(decoded(bytes, type), "proto: message nested too deep");
}

TEST(Protobuf, ABodyOfEmptyStructsCannotEatTheMemory) {
  std::string containers;
  for (int i = 0; i < 1'000'000; ++i) containers += "\x12\x00"s;  // PodSpec.containers
  std::string bytes = "\x12\x80\x89\x7a"s + containers;           // Pod.spec, 2,000,000 bytes
  EXPECT_EQ(decoded(bytes, kind_in("", "v1", "Pod")), "the object is too large");
}

TEST(Protobuf, EnvelopeRoundTrips) {
  const std::string sealed = seal_protobuf("apps/v1", "Deployment", "body"s);
  EXPECT_EQ(sealed, "k8s\0\x0a\x15\x0a\x07"s + "apps/v1\x12\x0a" + "Deployment\x12\x04" + "body\x1a\x00\x22\x00"s);
  const auto envelope = open_protobuf(sealed);
  ASSERT_TRUE(envelope);
  EXPECT_EQ(envelope->api_version, "apps/v1");
  EXPECT_EQ(envelope->kind, "Deployment");
  EXPECT_EQ(envelope->raw, "body");
  EXPECT_FALSE(open_protobuf("{}"));
  EXPECT_FALSE(open_protobuf("k8s\0\x0a\x7f"s));
}

TEST(Protobuf, AnEnvelopedObjectInARawExtensionBecomesJson) {
  const std::string inner = seal_protobuf("v1", "ConfigMap", encoded(R"({"metadata":{"name":"x"}})", config_map()));
  const Type list = kind_in("", "v1", "List");
  ASSERT_TRUE(list);
  const std::string item = "\x0a" + std::string(1, static_cast<char>(inner.size())) + inner;
  const std::string bytes = "\x12" + std::string(1, static_cast<char>(item.size())) + item;
  EXPECT_EQ(decoded(bytes, list),
            R"({"metadata":{},"items":[{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"x"}}]})");
}

// Whatever the bytes are: an answer or an error, and what was decoded can be encoded and decoded again to the same.
TEST(Protobuf, DamagedBytesNeverHurt) {
  const Type type = kind_in("", "v1", "Pod");
  const std::string good = encoded(
      R"({"metadata":{"name":"p","labels":{"a":"b"},"creationTimestamp":"2026-11-21T09:41:37Z"},"spec":{"containers":[)"
      R"({"name":"c","image":"i","ports":[{"containerPort":80}],"resources":{"limits":{"cpu":"1"}},"livenessProbe":)"
      R"({"httpGet":{"port":"web"}}}],"tolerations":[{"tolerationSeconds":5}]},"status":{"conditions":[{"type":"x"}]}})",
      type);
  std::mt19937 random(1);
  int survived = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = good;
    for (int k = 0; k < 1 + static_cast<int>(random() % 3); ++k)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    if (random() % 8 == 0) bytes.resize(random() % bytes.size());
    const auto document = decode_protobuf(bytes, type);
    if (!document) continue;
    ++survived;
    const std::string json = document->to_json();
    ASSERT_EQ(decoded(encode_protobuf(document->root(), type), type), json);
    const auto again = decode_json(json, type);
    ASSERT_TRUE(again) << again.error().message;
    ASSERT_EQ(again->to_json(), json);
  }
  EXPECT_GT(survived, 1000);
}

}  // namespace
}  // namespace sublet::schema
