#include "sublet/schema/document.h"

#include <gtest/gtest.h>

namespace sublet::schema {
namespace {

Document parsed(std::string_view text) {
  auto document = Document::parse_json(text);
  EXPECT_TRUE(document) << text << ": " << (document ? "" : document.error().message);
  return document ? std::move(*document) : Document();
}

TEST(Document, AMemberMayHaveNoName) {
  const auto document = Document::parse_json(R"({"a":1,"":2})");
  ASSERT_TRUE(document);
  EXPECT_EQ(document->root()[std::string_view()].integer(), 2);  // a view of nothing has no bytes either
}

TEST(Document, RoundTripsInOrder) {
  for (const char* text : {R"({"b":1,"a":[1,2.5,"x",null,true,{}],"c":{"d":-9223372036854775808}})", "[]", "\"x\"",
                           "12", "null", "true", R"({"":{"":[]}})"})
    EXPECT_EQ(parsed(text).to_json(), text);
}

TEST(Document, EscapesAsGoDoes) {
  EXPECT_EQ(parsed("\"<a&b>\\u2028\\u2029\\u0001\\t\xE2\x82\xAC\\/\"").to_json(),
            "\"\\u003ca\\u0026b\\u003e\\u2028\\u2029\\u0001\\t\xE2\x82\xAC/\"");
}

TEST(Document, WritesFloatsAsGoDoes) {
  EXPECT_EQ(parsed("[1e21,1e-7,0.000001,1.50,1e20,1e3,-0.0,18446744073709551615]").to_json(),
            "[1e+21,1e-7,0.000001,1.5,100000000000000000000,1000,-0,18446744073709552000]");
}

// What we write we can read: a float of 1e20 is written in 21 digits.
TEST(Document, IntegersBeyondInt64AreFloats) {
  const char* text =
      R"({"1":100000000000000000000,"\\\"2":"99999999999999999999","3":[-9223372036854775809,9223372036854775807],)"
      R"("4":18446744073709552000,"5":123456789012345678901234567890})";
  const Document read = parsed(text);
  const std::string written = read.to_json();
  EXPECT_EQ(
      written,
      R"({"1":100000000000000000000,"\\\"2":"99999999999999999999","3":[-9223372036854776000,9223372036854775807],)"
      R"("4":18446744073709552000,"5":1.2345678901234568e+29})");
  EXPECT_EQ(parsed(written).to_json(), written);
  for (const std::string& wrong : {std::string("[099999999999999999999]"), std::string("[99999999999999999999 1]"),
                                   "[" + std::string(400, '9') + "]", std::string("[99999999999999999999"),
                                   std::string("[99999999999999999999x]"), std::string("[--99999999999999999999]")})
    EXPECT_FALSE(Document::parse_json(wrong)) << wrong;
}

TEST(Document, LastDuplicateWinsAndIsNoted) {
  ParseNotes notes;
  auto document = Document::parse_json(R"({"spec":{"a":1,"b":[{"c":{"x":1},"c":2}],"a":{"y":3}}})", &notes);
  ASSERT_TRUE(document);
  EXPECT_EQ(document->to_json(), R"({"spec":{"a":{"y":3},"b":[{"c":2}]}})");
  EXPECT_EQ(notes.duplicate_fields, (std::vector<std::string>{"spec.b[0].c", "spec.a"}));
}

TEST(Document, FindsDuplicatesInLargeObjects) {
  std::string text = "{";
  for (int i = 0; i < 1000; ++i) text += "\"k" + std::to_string(i) + "\":" + std::to_string(i) + ",";
  text += "\"k500\":\"again\"}";
  ParseNotes notes;
  auto document = Document::parse_json(text, &notes);
  ASSERT_TRUE(document);
  EXPECT_EQ(document->root().size(), 1000u);
  EXPECT_EQ((*document)["k500"].text(), "again");
  EXPECT_EQ(notes.duplicate_fields, std::vector<std::string>{"k500"});
}

TEST(Document, RefusesWhatIsNotOneJsonValue) {
  for (const char* text : {"", " ", "{", "{}x", "{} {}", "[1,]", "{\"a\" 1}", "nul", "tru", "01", "\"\\x\"", "\"a",
                           "{'a':1}", "[1 2]", "\xff", "\"\xff\"", "{\"a\":1,}", "NaN"})
    EXPECT_FALSE(Document::parse_json(text)) << text;
  EXPECT_FALSE(Document::parse_json(std::string(100000, '[')));
  EXPECT_FALSE(Document::parse_json(std::string(300, '[') + std::string(300, ']')));
}

TEST(Document, RefusesAnEmptyTextWithoutAnAddress) {
  const auto parsed = Document::parse_json(std::string_view());
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().message, "invalid JSON: unexpected end of JSON input");
}

TEST(Value, ReadsMissingAsDefaults) {
  const Document document = parsed(R"({"a":{"b":[{"c":"x"}]}})");
  EXPECT_EQ(document["a"]["b"].at(0)["c"].text(), "x");
  EXPECT_EQ(document.root().path("a.b").size(), 1u);
  EXPECT_TRUE(document["z"]["y"].at(3).missing());
  EXPECT_EQ(document["z"]["y"].integer(7), 7);
}

TEST(Value, WritesMembersAndItems) {
  Document document = Document::object();
  Value root = document.root();
  root.put("b", 1);
  root.put("a", "text");
  Value list = root.array("list");
  list.push("two");
  list.insert(0).set(true);
  list.push_object().put("k", 1.5);
  EXPECT_EQ(document.to_json(), R"({"b":1,"a":"text","list":[true,"two",{"k":1.5}]})");
  EXPECT_TRUE(list.remove(2));
  EXPECT_FALSE(list.remove(2));
  list.push("end");
  root.rename("b", "z");
  root.sort_keys();
  EXPECT_EQ(document.to_json(), R"({"a":"text","list":[true,"two","end"],"z":1})");
  EXPECT_TRUE(root.erase("z"));
  EXPECT_FALSE(root.erase("z"));
  root.put("y", 1);
  root.retain([](Value member) { return member.key() != "list"; });
  EXPECT_EQ(document.to_json(), R"({"a":"text","y":1})");
  root.rename("a", "y");
  EXPECT_EQ(document.to_json(), R"({"y":"text"})");
}

TEST(Value, CopiesAcrossDocumentsAndFromInside) {
  Document target = Document::object();
  {
    const Document source = parsed(R"({"x":{"y":[1,"s"]}})");
    target.root().put("copy", source["x"]);
  }
  EXPECT_EQ(target.to_json(), R"({"copy":{"y":[1,"s"]}})");
  target.root().set(target["copy"]);
  EXPECT_EQ(target.to_json(), R"({"y":[1,"s"]})");
}

TEST(Value, HandlesSurviveAMoveOfTheDocument) {
  Document first = parsed(R"({"a":1})");
  Value a = first["a"];
  const Document second = std::move(first);
  a.set(2);
  EXPECT_EQ(second.to_json(), R"({"a":2})");
}

TEST(Value, ComparesManyMembersInAnyOrder) {
  const auto object = [](int from, int step, const char* last) {
    std::string text = "{";
    for (int i = 0; i < 100; ++i) text += '"' + std::to_string((from + i * step) % 100) + "\":1,";
    return parsed(text + last + "}");
  };
  const Document up = object(0, 1, R"("x":[1])");
  EXPECT_TRUE(up.root().equals(object(50, 7, R"("x":[1])").root()));
  EXPECT_FALSE(up.root().equals(object(50, 7, R"("x":[2])").root()));
  EXPECT_FALSE(up.root().equals(object(50, 7, R"("y":[1])").root()));
  EXPECT_FALSE(object(50, 7, R"("y":[1])").root().equals(up.root()));
}

TEST(Value, ComparesDeeply) {
  EXPECT_TRUE(parsed(R"({"a":1,"b":[1.0]})").root().equals(parsed(R"({"b":[1],"a":1})").root()));
  EXPECT_FALSE(parsed(R"({"a":1})").root().equals(parsed(R"({"a":1,"b":null})").root()));
  EXPECT_FALSE(parsed("[1,2]").root().equals(parsed("[2,1]").root()));
}

}  // namespace
TEST(Document, TakeMovesContentWithoutCopying) {
  Document document = Document::parse_json(R"({"a":{"deep":[1,2,{"x":"y"}]},"b":1})").value();
  const std::size_t bytes = document.arena_bytes();
  const Value deep = document["a"]["deep"];
  document["b"].take(document["a"]);
  EXPECT_EQ(document.to_json(), R"({"a":null,"b":{"deep":[1,2,{"x":"y"}]}})");
  EXPECT_TRUE(document["b"]["deep"].same_node(deep));
  EXPECT_EQ(document.arena_bytes(), bytes);
  document["b"].take(document["b"]);
  EXPECT_EQ(document["b"].to_json(), R"({"deep":[1,2,{"x":"y"}]})");
}

TEST(Document, AddMemberAppends) {
  Document document = Document::object();
  document.root().add_member("a").set(1);
  document.root().add_member("b").set("x");
  EXPECT_EQ(document.to_json(), R"({"a":1,"b":"x"})");
}

}  // namespace sublet::schema
