#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "sublet/patches/patch.h"
#include "tests/support/parse_json.h"

namespace sublet::patches {
namespace {

using schema::Document;
using schema::Value;
using testing_support::parse_json;

struct MergePatchVector {
  const char* document;
  const char* patch;
  const char* result;
};

// RFC 7386, appendix A, and a few more.
constexpr MergePatchVector kMergePatchVectors[] = {
    {R"({"a":"b"})", R"({"a":"c"})", R"({"a":"c"})"},
    {R"({"a":"b"})", R"({"b":"c"})", R"({"a":"b","b":"c"})"},
    {R"({"a":"b"})", R"({"a":null})", R"({})"},
    {R"({"a":"b","b":"c"})", R"({"a":null})", R"({"b":"c"})"},
    {R"({"a":["b"]})", R"({"a":"c"})", R"({"a":"c"})"},
    {R"({"a":"c"})", R"({"a":["b"]})", R"({"a":["b"]})"},
    {R"({"a":{"b":"c"}})", R"({"a":{"b":"d","c":null}})", R"({"a":{"b":"d"}})"},
    {R"({"a":[{"b":"c"}]})", R"({"a":[1]})", R"({"a":[1]})"},
    {R"(["a","b"])", R"(["c","d"])", R"(["c","d"])"},
    {R"({"a":"b"})", R"(["c"])", R"(["c"])"},
    {R"({"a":"foo"})", R"(null)", R"(null)"},
    {R"({"a":"foo"})", R"("bar")", R"("bar")"},
    {R"({"e":null})", R"({"a":1})", R"({"e":null,"a":1})"},
    {R"([1,2])", R"({"a":"b","c":null})", R"({"a":"b"})"},
    {R"({})", R"({"a":{"bb":{"ccc":null}}})", R"({"a":{"bb":{}}})"},
    {R"({"a":{"b":1}})", R"({"a":{}})", R"({"a":{"b":1}})"},
    {R"({"a":1})", R"({"a":{"b":null,"c":2}})", R"({"a":{"c":2}})"},
    {R"({"a":[1]})", R"({"a":[{"b":null}]})", R"({"a":[{"b":null}]})"},
};

TEST(MergePatch, Vectors) {
  for (const MergePatchVector& vector : kMergePatchVectors) {
    Document document = parse_json(vector.document);
    apply_merge_patch(document.root(), parse_json(vector.patch).root());
    EXPECT_EQ(document.to_json(), vector.result) << vector.document << " + " << vector.patch;
  }
}

TEST(MergePatch, LargeMapsAreMergedInLinearTime) {
  Document target = Document::object();
  Document patch = Document::object();
  constexpr int kMembers = 100'000;  // squared, this would take minutes
  for (int i = 0; i < kMembers; ++i) {
    target.root().add_member("old" + std::to_string(i)).set(i);
    patch.root().add_member("new" + std::to_string(i)).set(i);
    if (i % 2) patch.root().add_member("old" + std::to_string(i));
  }
  apply_merge_patch(target.root(), patch.root());
  EXPECT_EQ(target.root().size(), kMembers + kMembers / 2);
}

TEST(MakeMergePatch, SaysOnlyWhatChanged) {
  const Document from = parse_json(R"({"a":1,"b":{"c":[1],"d":2},"gone":{"x":1}})");
  const Document to = parse_json(R"({"b":{"c":[1,2],"d":2},"a":1,"new":"x"})");
  EXPECT_EQ(make_merge_patch(from.root(), to.root()).to_json(), R"({"gone":null,"b":{"c":[1,2]},"new":"x"})");
  EXPECT_EQ(make_merge_patch(to.root(), to.root()).to_json(), "{}");
}

// A random document without nulls, which a merge patch cannot express.
void fill(Value value, int depth) {
  switch (*rc::gen::inRange(0, depth > 3 ? 3 : 5)) {
    case 0:
      return value.set(*rc::gen::inRange(0, 3));
    case 1:
      return value.set(*rc::gen::element(std::string("x"), std::string(), std::string("y")));
    case 2:
      return value.set(*rc::gen::arbitrary<bool>());
    case 3: {
      value.make_array();
      const int items = *rc::gen::inRange(0, 3);
      for (int i = 0; i < items; ++i) fill(value.push(0), depth + 1);
      return;
    }
    default: {
      value.make_object();
      for (const char* key : {"a", "b", "c", "d"})
        if (*rc::gen::arbitrary<bool>()) fill(value.add_member(key), depth + 1);
    }
  }
}

TEST(MakeMergePatch, AppliedGivesTheTarget) {
  EXPECT_TRUE(rc::check("from + diff(from, to) = to", [] {
    Document from = Document::object();
    Document to = Document::object();
    for (const char* key : {"a", "b", "c"}) {
      fill(from.root().add_member(key), 0);
      fill(to.root().add_member(key), 0);
    }
    const Document patch = make_merge_patch(from.root(), to.root());
    apply_merge_patch(from.root(), patch.root());
    RC_ASSERT(from.root().equals(to.root()));
  }));
}

}  // namespace
}  // namespace sublet::patches
