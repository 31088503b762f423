#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "sublet/patches/patch.h"
#include "tests/support/parse_json.h"

namespace sublet::patches {
namespace {

using schema::Document;
using testing_support::parse_json;

struct JsonPatchVector {
  const char* what;
  const char* document;
  const char* patch;
  const char* result;  // null: must be refused
};

// RFC 6902, appendix A, and the corner cases that implementations are known to get wrong.
constexpr JsonPatchVector kJsonPatchVectors[] = {
    {"empty list of operations", R"({"a":1})", R"([])", R"({"a":1})"},
    {"add a member", R"({"foo":"bar"})", R"([{"op":"add","path":"/baz","value":"qux"}])",
     R"({"foo":"bar","baz":"qux"})"},
    {"add an item", R"({"foo":["bar","baz"]})", R"([{"op":"add","path":"/foo/1","value":"qux"}])",
     R"({"foo":["bar","qux","baz"]})"},
    {"add at the end by index", R"({"foo":[1]})", R"([{"op":"add","path":"/foo/1","value":2}])", R"({"foo":[1,2]})"},
    {"add at the end by dash", R"({"foo":[1]})", R"([{"op":"add","path":"/foo/-","value":[2]}])", R"({"foo":[1,[2]]})"},
    {"add replaces a member", R"({"foo":null})", R"([{"op":"add","path":"/foo","value":1}])", R"({"foo":1})"},
    {"add null", R"({"foo":1})", R"([{"op":"add","path":"/bar","value":null}])", R"({"foo":1,"bar":null})"},
    {"add replaces the root", R"({"foo":1})", R"([{"op":"add","path":"","value":{"x":2}}])", R"({"x":2})"},
    {"add to an empty member name", R"({})", R"([{"op":"add","path":"/","value":1}])", R"({"":1})"},
    {"add below an empty member name", R"({"":{}})", R"([{"op":"add","path":"//","value":1}])", R"({"":{"":1}})"},
    {"add into an array out of bounds", R"({"foo":[1]})", R"([{"op":"add","path":"/foo/3","value":2}])", nullptr},
    {"add with a word as index", R"({"foo":[1]})", R"([{"op":"add","path":"/foo/x","value":2}])", nullptr},
    {"add with a leading zero", R"({"foo":[1,2]})", R"([{"op":"add","path":"/foo/01","value":2}])", nullptr},
    {"add with a huge index", R"({"foo":[1]})", R"([{"op":"add","path":"/foo/99999999999999999999","value":2}])",
     nullptr},
    {"add under a missing parent", R"({"foo":1})", R"([{"op":"add","path":"/a/b","value":2}])", nullptr},
    {"add under a scalar", R"({"foo":1})", R"([{"op":"add","path":"/foo/b","value":2}])", nullptr},
    {"add without value", R"({})", R"([{"op":"add","path":"/a"}])", nullptr},
    {"path without slash", R"({"a":1})", R"([{"op":"remove","path":"a"}])", nullptr},
    {"no path", R"({"a":1})", R"([{"op":"remove"}])", nullptr},
    {"path is no string", R"({"a":1})", R"([{"op":"remove","path":3}])", nullptr},
    {"unknown operation", R"({"a":1})", R"([{"op":"spam","path":"/a"}])", nullptr},
    {"no operation", R"({"a":1})", R"([{"path":"/a"}])", nullptr},
    {"unknown members are ignored", R"({})", R"([{"op":"add","path":"/a","value":1,"xyz":2}])", R"({"a":1})"},
    {"remove a member", R"({"baz":"qux","foo":"bar"})", R"([{"op":"remove","path":"/baz"}])", R"({"foo":"bar"})"},
    {"remove an item", R"({"foo":["a","b","c"]})", R"([{"op":"remove","path":"/foo/1"}])", R"({"foo":["a","c"]})"},
    {"remove items one after another", R"({"foo":[1,2,3]})",
     R"([{"op":"remove","path":"/foo/0"},{"op":"remove","path":"/foo/0"}])", R"({"foo":[3]})"},
    {"remove a missing member", R"({"foo":1})", R"([{"op":"remove","path":"/baz"}])", nullptr},
    {"remove an item out of bounds", R"({"foo":[1]})", R"([{"op":"remove","path":"/foo/1"}])", nullptr},
    {"remove by dash", R"({"foo":[1]})", R"([{"op":"remove","path":"/foo/-"}])", nullptr},
    {"remove the last, as kube-apiserver", R"({"foo":[1,2,3]})", R"([{"op":"remove","path":"/foo/-1"}])",
     R"({"foo":[1,2]})"},
    {"negative index out of bounds", R"({"foo":[1,2]})", R"([{"op":"remove","path":"/foo/-3"}])", nullptr},
    {"replace a member", R"({"foo":{"a":1}})", R"([{"op":"replace","path":"/foo","value":[2]}])", R"({"foo":[2]})"},
    {"replace keeps the place", R"({"a":1,"b":2})", R"([{"op":"replace","path":"/a","value":3}])", R"({"a":3,"b":2})"},
    {"replace the root", R"({"foo":1})", R"([{"op":"replace","path":"","value":{"x":2}}])", R"({"x":2})"},
    {"replace an item", R"({"foo":[1,2]})", R"([{"op":"replace","path":"/foo/0","value":9}])", R"({"foo":[9,2]})"},
    {"replace an item out of bounds", R"({"foo":[1]})", R"([{"op":"replace","path":"/foo/1","value":9}])", nullptr},
    {"replace a missing member, as kube-apiserver", R"({"a":1})", R"([{"op":"replace","path":"/b","value":2}])",
     R"({"a":1,"b":2})"},
    {"replace under a missing parent", R"({"a":1})", R"([{"op":"replace","path":"/b/c","value":2}])", nullptr},
    {"move a member", R"({"foo":{"bar":"baz","waldo":"fred"},"qux":{"corge":"grault"}})",
     R"([{"op":"move","from":"/foo/waldo","path":"/qux/thud"}])",
     R"({"foo":{"bar":"baz"},"qux":{"corge":"grault","thud":"fred"}})"},
    {"move an item", R"({"foo":["all","grass","cows","eat"]})", R"([{"op":"move","from":"/foo/1","path":"/foo/3"}])",
     R"({"foo":["all","cows","eat","grass"]})"},
    {"move an item past the end", R"({"foo":[1,2]})", R"([{"op":"move","from":"/foo/0","path":"/foo/2"}])", nullptr},
    {"move between lists", R"({"a":[1,2],"b":[]})", R"([{"op":"move","from":"/a/0","path":"/b/-"}])",
     R"({"a":[2],"b":[1]})"},
    {"move over a member", R"({"a":1,"b":2})", R"([{"op":"move","from":"/a","path":"/b"}])", R"({"b":1})"},
    {"move to where it is", R"({"a":1})", R"([{"op":"move","from":"/a","path":"/a"}])", R"({"a":1})"},
    {"move into itself", R"({"a":{"b":1}})", R"([{"op":"move","from":"/a","path":"/a/b/c"}])", nullptr},
    {"move the root", R"({"a":1})", R"([{"op":"move","from":"","path":"/a"}])", nullptr},
    {"move to the root", R"({"a":{"b":1}})", R"([{"op":"move","from":"/a","path":""}])", R"({"b":1})"},
    {"move a name that is a prefix", R"({"a":1})", R"([{"op":"move","from":"/a","path":"/ab"}])", R"({"ab":1})"},
    {"move from nowhere", R"({"a":1})", R"([{"op":"move","from":"/b","path":"/a"}])", nullptr},
    {"move from nowhere to the same place", R"({"a":1})", R"([{"op":"move","from":"/b","path":"/b"}])", nullptr},
    {"move without from", R"({"a":1})", R"([{"op":"move","path":"/a"}])", nullptr},
    {"copy a member", R"({"a":{"x":[1]},"b":{}})", R"([{"op":"copy","from":"/a","path":"/b/c"}])",
     R"({"a":{"x":[1]},"b":{"c":{"x":[1]}}})"},
    {"copies are apart", R"({"a":{"x":1}})",
     R"([{"op":"copy","from":"/a","path":"/b"},{"op":"replace","path":"/a/x","value":2}])",
     R"({"a":{"x":2},"b":{"x":1}})"},
    {"copy into itself", R"({"a":{"x":1}})", R"([{"op":"copy","from":"/a","path":"/a/b"}])",
     R"({"a":{"x":1,"b":{"x":1}}})"},
    {"copy a null", R"({"a":null})", R"([{"op":"copy","from":"/a","path":"/b"}])", R"({"a":null,"b":null})"},
    {"copy an item out of bounds", R"({"a":[1]})", R"([{"op":"copy","from":"/a/1","path":"/b"}])", nullptr},
    {"test a scalar", R"({"baz":"qux"})", R"([{"op":"test","path":"/baz","value":"qux"}])", R"({"baz":"qux"})"},
    {"test fails", R"({"baz":"qux"})", R"([{"op":"test","path":"/baz","value":"bar"}])", nullptr},
    {"test compares trees without order", R"({"a":{"x":1,"y":[1,2]}})",
     R"([{"op":"test","path":"/a","value":{"y":[1,2],"x":1}}])", R"({"a":{"x":1,"y":[1,2]}})"},
    {"test compares lists with order", R"({"a":[1,2]})", R"([{"op":"test","path":"/a","value":[2,1]}])", nullptr},
    {"test does not mix types", R"({"a":10})", R"([{"op":"test","path":"/a","value":"10"}])", nullptr},
    {"test the root", R"({"a":1})", R"([{"op":"test","path":"","value":{"a":1}}])", R"({"a":1})"},
    {"test null", R"({"a":null})", R"([{"op":"test","path":"/a","value":null}])", R"({"a":null})"},
    {"test null fails", R"({"a":1})", R"([{"op":"test","path":"/a","value":null}])", nullptr},
    {"test a missing member for null, as kube-apiserver", R"({})", R"([{"op":"test","path":"/a","value":null}])",
     R"({})"},
    {"test a missing member", R"({})", R"([{"op":"test","path":"/a","value":1}])", nullptr},
    {"escapes", R"({"a/b":1,"m~n":2,"~1":3})",
     R"([{"op":"test","path":"/a~1b","value":1},{"op":"test","path":"/m~0n","value":2},)"
     R"({"op":"test","path":"/~01","value":3},{"op":"remove","path":"/a~1b"}])",
     R"({"m~n":2,"~1":3})"},
    {"escaped annotation key", R"({"metadata":{"annotations":{}}})",
     R"([{"op":"add","path":"/metadata/annotations/kai.scheduler~1queue","value":"x"}])",
     R"({"metadata":{"annotations":{"kai.scheduler/queue":"x"}}})"},
    {"digits name members of objects", R"({"a":{"0":"x"}})", R"([{"op":"replace","path":"/a/0","value":"y"}])",
     R"({"a":{"0":"y"}})"},
    {"later operations see earlier ones", R"({})",
     R"([{"op":"add","path":"/a","value":{}},{"op":"add","path":"/a/b","value":[]},{"op":"add","path":"/a/b/-","value":1}])",
     R"({"a":{"b":[1]}})"},
};

TEST(JsonPatch, Vectors) {
  for (const JsonPatchVector& vector : kJsonPatchVectors) {
    Document document = parse_json(vector.document);
    const Document patch = parse_json(vector.patch);
    const Outcome done = apply_json_patch(document.root(), patch.root());
    EXPECT_EQ(done.has_value(), vector.result != nullptr) << vector.what << (done ? "" : ": " + done.error().message);
    if (done && vector.result) {
      EXPECT_EQ(document.to_json(), parse_json(vector.result).to_json()) << vector.what;
    }
    if (!done) {
      EXPECT_TRUE(done.error().is(Reason::invalid)) << vector.what;
    }
  }
}

TEST(JsonPatch, MalformedIsBadRequest) {
  for (const char* patch :
       {R"({"op":"add"})", R"(3)", R"("x")", R"([3])", R"([{"op":"add","path":"/a","value":1},null])"}) {
    Document document = parse_json("{}");
    const Outcome done = apply_json_patch(document.root(), parse_json(patch).root());
    ASSERT_FALSE(done.has_value()) << patch;
    EXPECT_TRUE(done.error().is(Reason::bad_request)) << patch;
    EXPECT_EQ(document.to_json(), "{}") << "a malformed patch must be refused before anything is applied";
  }
}

TEST(JsonPatch, MessageNamesTheCause) {
  Document document = parse_json(R"({"a":1})");
  const auto done = apply_json_patch(document.root(), parse_json(R"([{"op":"test","path":"/a","value":2}])").root());
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().message,
            "the server rejected our request due to an error in our request: testing value /a failed: test failed");
}

TEST(JsonPatch, ErrorsQuoteNoMegabytes) {
  const Document document = parse_json("{}");
  const std::string word(1'000'000, 'x');
  const auto done = apply_json_patch(document.root(), parse_json(R"([{"op":")" + word + R"(","path":"/a"}])").root());
  ASSERT_FALSE(done);
  EXPECT_LT(done.error().message.size(), 2000u);
  EXPECT_NE(done.error().message.find("xxx..."), std::string::npos) << done.error().message.substr(0, 900);
}

TEST(JsonPatch, TooManyOperations) {
  Document patch = parse_json("[]");
  for (int i = 0; i < 10'000; ++i) patch.root().push(parse_json(R"({"op":"test","path":"/a","value":1})").root());
  Document document = parse_json(R"({"a":1})");
  EXPECT_TRUE(apply_json_patch(document.root(), patch.root()).has_value());
  patch.root().push(parse_json(R"({"op":"test","path":"/a","value":1})").root());
  const auto done = apply_json_patch(document.root(), patch.root());
  ASSERT_FALSE(done.has_value());
  EXPECT_TRUE(done.error().is(Reason::request_entity_too_large));
  EXPECT_EQ(done.error().message, "The allowed maximum operations in a JSON patch is 10000, got 10001");
}

TEST(JsonPatch, CopiedBytesAreCapped) {
  Document document = parse_json(R"({"a":[]})");
  document["a"].push(std::string(1024, 'x'));
  std::string patch = "[";
  for (int i = 0; i < 30; ++i) patch += std::string(i ? "," : "") + R"({"op":"copy","from":"/a","path":"/a/-"})";
  const auto done = apply_json_patch(document.root(), parse_json(patch + "]").root());
  ASSERT_FALSE(done.has_value());
  EXPECT_NE(done.error().message.find("accumulated size increase"), std::string::npos) << done.error().message;
  EXPECT_LT(document.arena_bytes(), std::size_t{16} << 20);
}

TEST(JsonPatch, MovesDoNotGrowTheArena) {
  Document document = parse_json(R"({"a":[]})");
  for (int i = 0; i < 1000; ++i) document["a"].push(std::string(1000, 'x'));
  std::string patch = "[";
  for (int i = 0; i < 2000; ++i)
    patch += std::string(i ? "," : "") +
             (i % 2 ? R"({"op":"move","from":"/b","path":"/a"})" : R"({"op":"move","from":"/a","path":"/b"})");
  const std::size_t before = document.arena_bytes();
  ASSERT_TRUE(apply_json_patch(document.root(), parse_json(patch + "]").root()).has_value());
  EXPECT_LT(document.arena_bytes(), before + (std::size_t{1} << 20));
}

TEST(JsonPatch, DepthIsCapped) {
  Document document = parse_json("{}");
  const std::string deep = std::string(200, '[') + std::string(200, ']');
  std::string path;
  for (int i = 0; i < 199; ++i) path += "/0";
  const std::string patch = R"([{"op":"add","path":"/a","value":)" + deep + R"(},{"op":"add","path":"/a)" + path +
                            R"(/-","value":)" + deep + "}]";
  const auto done = apply_json_patch(document.root(), parse_json(patch).root());
  ASSERT_FALSE(done.has_value());
  EXPECT_NE(done.error().message.find("exceeded max depth"), std::string::npos) << done.error().message;

  // By moving what is there below what is there.
  Document wide = parse_json(R"({"a":)" + deep + R"(,"b":)" + deep + "}");
  const auto moved =
      apply_json_patch(wide.root(), parse_json(R"([{"op":"move","from":"/a","path":"/b)" + path + R"(/-"}])").root());
  ASSERT_FALSE(moved.has_value());
  EXPECT_NE(moved.error().message.find("exceeded max depth"), std::string::npos) << moved.error().message;
}

// Any sequence of valid operations built from pointers into the document leaves a document that parses back to itself.
TEST(JsonPatch, RandomOperationsKeepTheTreeSound) {
  const bool ok = rc::check("tree stays sound", [] {
    Document document = parse_json(R"({"a":{"b":[1,{"c":2},[3]],"d":null},"e":[[],{}],"f":"x"})");
    static constexpr const char* kPointers[] = {"",       "/a",     "/a/b",    "/a/b/0", "/a/b/1",  "/a/b/1/c",
                                                "/a/b/-", "/a/b/2", "/a/b/-1", "/a/d",   "/e",      "/e/0",
                                                "/e/1",   "/e/1/x", "/f",      "/g",     "/a/b/2/0"};
    static constexpr const char* kOps[] = {"add", "remove", "replace", "move", "copy", "test"};
    static constexpr const char* kValues[] = {"null", "1", "\"s\"", "[]", "{}", "[1,[2]]", "{\"k\":{}}"};
    const int count = *rc::gen::inRange(1, 12);
    for (int i = 0; i < count; ++i) {
      Document patch = parse_json("[{}]");
      auto operation = patch.root().at(0);
      operation.put("op", kOps[*rc::gen::inRange<std::size_t>(0, std::size(kOps))]);
      operation.put("path", kPointers[*rc::gen::inRange<std::size_t>(0, std::size(kPointers))]);
      operation.put("from", kPointers[*rc::gen::inRange<std::size_t>(0, std::size(kPointers))]);
      operation.put("value", parse_json(kValues[*rc::gen::inRange<std::size_t>(0, std::size(kValues))]).root());
      (void)apply_json_patch(document.root(), patch.root());
      const std::string text = document.to_json();
      RC_ASSERT(Document::parse_json(text).value().to_json() == text);
      RC_ASSERT(document.clone().root().equals(document.root()));
    }
  });
  EXPECT_TRUE(ok);
}

}  // namespace
}  // namespace sublet::patches
