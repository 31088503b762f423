// Expressions over a CRD's schema. What upstream answers to 800 others is held against ours by tests/cel; here is what
// must hold without Go on the machine, and what is ours alone.
#include <gtest/gtest.h>

#include "sublet/patches/cel.h"

namespace sublet::patches::cel {
namespace {

constexpr const char* kSchema = R"({"type": "object", "properties": {
  "spec": {"type": "object", "required": ["name"], "properties": {
    "name": {"type": "string", "maxLength": 63},
    "a-b": {"type": "string"},
    "for": {"type": "string"},
    "when": {"type": "string", "format": "date-time"},
    "timeout": {"type": "string", "format": "duration"},
    "data": {"type": "string", "format": "byte"},
    "ratio": {"type": "number"},
    "port": {"x-kubernetes-int-or-string": true},
    "maybe": {"type": "string", "nullable": true},
    "list": {"type": "array", "items": {"type": "string"}},
    "few": {"type": "array", "maxItems": 10, "items": {"type": "string", "maxLength": 10}},
    "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
    "set2": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
    "ports": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
      "items": {"type": "object", "properties": {"name": {"type": "string"}, "port": {"type": "integer"}}}},
    "labels": {"type": "object", "additionalProperties": {"type": "string"}}
  }}}})";

constexpr const char* kThingObject =
    R"({"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "t", "labels": {}}, "spec": {
  "name": "web", "a-b": "dash", "for": "word", "when": "2024-02-29T12:30:45Z", "timeout": "90s", "data": "aGk=", "ratio": 2,
  "port": "80%", "maybe": null, "few": ["x"], "set": ["a", "b"], "set2": ["b", "a"],
  "ports": [{"name": "http", "port": 80}], "labels": {"app": "web"}}})";

class CelKubernetes : public ::testing::Test {
 protected:
  CelKubernetes() {
    env_.declare("self", self_);
    env_.declare("oldSelf", Type::optional(self_), self_);
    env_.declare("authorizer", Kind::authorizer);
  }

  std::string problem(std::string_view source) const {
    const auto program = Program::compile(source, env_);
    return program ? "none" : display_text(program.error(), source);
  }
  Evaluation run(std::string_view source, std::uint64_t budget = kRunCostMax) const {
    const auto program = Program::compile(source, env_);
    if (!program) return {Value::error(display_text(program.error(), source)), 0, false};
    class Variables final : public Activation {
     public:
      Variables(Value self, Value old) : self_(std::move(self)), old_(std::move(old)) {}
      Value get(int slot) const override {
        return slot == 0 ? self_ : (slot == 1 ? old_ : Value::error("authorizer is not available"));
      }

     private:
      Value self_, old_;
    };
    const Value self = Value::of(object_.root(), self_.get());
    return program->run(Variables(self, Value::optional_none()), budget);
  }
  std::string value(std::string_view source) const { return debug_text(run(source).value); }
  std::uint64_t estimate(std::string_view source) const { return Program::compile(source, env_)->estimate_cost().max; }

  schema::Document schema_ = schema::Document::parse_json(kSchema).value();
  schema::Document object_ = schema::Document::parse_json(kThingObject).value();
  TypeRef self_ = Type::of_schema(schema_.root(), true);
  Environment env_{Library::kubernetes};
};

TEST_F(CelKubernetes, DocumentsAreReadByTheirSchema) {
  EXPECT_EQ(value("self.spec.a__dash__b + self.spec.__for__"), R"("dashword")");
  EXPECT_EQ(value("self.spec.when + self.spec.timeout"), R"("2024-02-29T12:32:15Z")");
  EXPECT_EQ(value("self.spec.data == b'hi'"), "true");
  EXPECT_EQ(value("type(self.spec.ratio) == double"), "true");
  EXPECT_EQ(value("self.spec.port"), R"("80%")");
  EXPECT_EQ(value("has(self.spec.maybe)"), "false");
  EXPECT_EQ(value("self.metadata.name"), R"("t")");
  EXPECT_EQ(value("self.spec.set == self.spec.set2 && self.spec.set + ['c'] == ['c', 'a', 'b']"), "true");
  EXPECT_EQ(value("(self.spec.ports + [self.spec.ports[0]]).size()"), "1");
  EXPECT_EQ(value("self.spec.labels.app"), R"("web")");
  EXPECT_EQ(value("self.spec.list"), "error: no such key: list");
  EXPECT_EQ(value("oldSelf.hasValue()"), "false");
  EXPECT_EQ(value("oldSelf.?spec.name.orValue('new')"), R"("new")");
}

TEST_F(CelKubernetes, DataThatDoesNotFitIsAnError) {
  object_["spec"].put("name", 7);
  object_["spec"].put("when", "soon");
  object_["spec"].put("ratio", "x");
  EXPECT_EQ(value("self.spec.name"), "error: invalid data, expected string, got int64");
  EXPECT_EQ(value("self.spec.when"), "error: Invalid date-time formatted string soon");
  EXPECT_EQ(value("self.spec.ratio"), "error: invalid data, expected float, got string");
}

TEST_F(CelKubernetes, MistakesAreNamedAsCelGoDoes) {
  EXPECT_EQ(problem("self.spec.nope == 1"),
            "ERROR: <input>:1:10: undefined field 'nope'\n | self.spec.nope == 1\n | .........^");
  EXPECT_EQ(problem("self.spec.name +\n 1"),
            "ERROR: <input>:1:16: found no matching overload for '_+_' applied to '(string, int)'\n"
            " | self.spec.name +\n | ...............^");
  EXPECT_EQ(problem("a && b"),
            "ERROR: <input>:1:1: undeclared reference to 'a' (in container '')\n | a && b\n | ^\n"
            "ERROR: <input>:1:6: undeclared reference to 'b' (in container '')\n | a && b\n | .....^");
  EXPECT_EQ(problem("'ü' == 1"),
            "ERROR: <input>:1:5: found no matching overload for '_==_' applied to '(string, int)'\n"
            " | 'ü' == 1\n | .．..^");
  EXPECT_EQ(problem("[1, 'a']"), "ERROR: <input>:1:5: expected type 'int' but found 'string'\n | [1, 'a']\n | ....^");
  EXPECT_EQ(problem("duration('x') > duration('1s')"),
            "ERROR: <input>:1:10: invalid duration argument\n | duration('x') > duration('1s')\n | .........^");
  EXPECT_EQ(problem("int('x') == 1"), "program instantiation failed: type conversion error from 'string' to 'int'");
  EXPECT_EQ(problem("math.abs(1) == 1").substr(0, 60), "ERROR: <input>:1:1: undeclared reference to 'math' (in conta");
}

TEST_F(CelKubernetes, LibrariesComeWithTheirRelease) {
  const auto compiles = [](int minor, std::string_view source) {
    return Program::compile(source, Environment(Library::kubernetes, minor)).has_value();
  };
  EXPECT_FALSE(compiles(32, "semver('1.2.3').major() == 1"));
  EXPECT_TRUE(compiles(33, "semver('1.2.3').major() == 1"));
  EXPECT_FALSE(compiles(33, "[1, 2].sort() == [1, 2]"));
  EXPECT_TRUE(compiles(36, "[1, 2].sort() == [1, 2]"));
}

TEST_F(CelKubernetes, EstimatesGoByTheSizesOfTheSchema) {
  EXPECT_EQ(estimate("self.spec.name == 'web'"), 4u);
  EXPECT_EQ(estimate("self.spec.few.all(x, x == 'a')"), 54u);
  // Without a bound, as many as fit into a request.
  EXPECT_EQ(estimate("self.spec.list.all(x, x.contains('a'))"), 329'857'577'779u);
  EXPECT_GT(estimate("self.spec.list.all(x, self.spec.list.all(y, x == y))"), kDefinitionEstimateMax);
  EXPECT_EQ(max_cardinality(2), 1'048'576u);
}

TEST_F(CelKubernetes, RunsAreCountedAndBounded) {
  const Evaluation small = run("self.spec.name == 'web'");
  EXPECT_EQ(small.cost, 4u);
  EXPECT_FALSE(small.over_budget);
  const Evaluation large = run("self.spec.name == 'web'", 3);
  EXPECT_TRUE(large.over_budget);
  EXPECT_EQ(large.value.failure().message, "operation cancelled: actual cost limit exceeded");
  // What is too much is not absorbed, and no memory is taken for it.
  EXPECT_TRUE(run("lists.range(900000000).size() > 0 || true").over_budget);
}

TEST_F(CelKubernetes, TheAuthorizerIsDeclared) {
  EXPECT_EQ(value("authorizer.group('').resource('pods').namespace('a').check('get').allowed()"),
            "error: authorizer is not available");
  EXPECT_NE(problem("authorizer.grup('')"), "none");
}

TEST_F(CelKubernetes, ProgramsTellWhatTheyRead) {
  EXPECT_TRUE(Program::compile("oldSelf.hasValue()", env_)->reads("oldSelf"));
  EXPECT_FALSE(Program::compile("self.spec.name == ''", env_)->reads("oldSelf"));
  EXPECT_EQ(Program::compile("self.spec.name == ''", env_)->type(), Kind::boolean);
}

TEST(CelType, PropertiesAreEscaped) {
  EXPECT_EQ(escape_property("a.b/c-d__e").value(), "a__dot__b__slash__c__dash__d__underscores__e");
  EXPECT_EQ(escape_property("namespace").value(), "__namespace__");
  EXPECT_FALSE(escape_property("9a").has_value());
  EXPECT_FALSE(escape_property("a b").has_value());
}

TEST(CelType, SchemasThatNoExpressionCanSee) {
  const auto type_of = [](const char* text) {
    return Type::of_schema(schema::Document::parse_json(text).value().root(), false);
  };
  EXPECT_EQ(type_of(R"({"type": "array"})"), nullptr);
  EXPECT_EQ(type_of(R"({"x-kubernetes-preserve-unknown-fields": true})"), nullptr);
  EXPECT_NE(type_of(R"({"type": "object", "x-kubernetes-preserve-unknown-fields": true})"), nullptr);
}

}  // namespace
}  // namespace sublet::patches::cel
