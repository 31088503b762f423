#include "sublet/patches/cel.h"

#include <gtest/gtest.h>

#include <limits>
#include <span>

namespace sublet::patches::cel {
namespace {

// The variables of all expressions here.
constexpr const char* kPodObject = R"({
  "metadata": {"name": "p", "labels": {"kai.scheduler/queue": "test", "a": "1"}, "annotations": null},
  "spec": {"containers": [{"name": "x", "resources": {"limits": {"nvidia.com/gpu": "1", "cpu": "500m"}}},
                          {"name": "y", "ports": [80, 443]}],
           "priority": 7, "ratio": 0.5, "hostNetwork": false, "umlaut": "Grüße €"}
})";

class ObjectActivation final : public Activation {
 public:
  explicit ObjectActivation(const schema::Document& document) : document_(document) {}
  Value get(int slot) const override {
    if (slot == 0) return Value::of(document_.root());
    if (slot == 1) return Value::string("qualified");
    return Value::error("must not be evaluated");
  }

 private:
  const schema::Document& document_;
};

Environment environment() {
  Environment env;
  env.declare("object");
  env.declare("params.queue", Kind::string);
  env.declare("broken");
  env.close("params", "parameter");
  return env;
}

std::string evaluate(std::string_view source, std::size_t cost = Program::kCostMax) {
  auto program = Program::compile(source, environment());
  if (!program) return "compile " + std::to_string(program.error()[0].offset) + ": " + program.error()[0].message;
  const schema::Document document = schema::Document::parse_json(kPodObject).value();
  const Value value = program->evaluate(ObjectActivation(document), cost);
  if (value.is_error()) return "error " + std::to_string(value.failure().offset) + ": " + value.failure().message;
  return debug_text(value);
}

struct Row {
  const char* source;
  const char* result;  // JSON, or "compile <offset>: ..." or "error <offset>: ..."
};

void run(std::span<const Row> rows) {
  for (const Row& row : rows) EXPECT_EQ(evaluate(row.source), row.result) << row.source;
}

TEST(Cel, Literals) {
  constexpr Row kRows[] = {
      {"1", "1"},
      {"-1", "-1"},
      {"0x1F", "31"},
      {"-0x1f", "-31"},
      {"7u", "7"},
      {"0xFFu", "255"},
      {"9223372036854775807", "9223372036854775807"},
      {"-9223372036854775808", "-9223372036854775808"},
      {"9223372036854775808", "compile 0: invalid int literal"},
      {"1 - 9223372036854775808", "compile 4: invalid int literal"},
      {"18446744073709551615u == 18446744073709551615u", "true"},
      {"99999999999999999999", "compile 0: invalid int literal"},
      {"1.5", "1.5"},
      {"-.5", "-0.5"},
      {"1e3", "1000"},
      {"12.5e-1", "1.25"},
      {"1e", "compile 1: unexpected 'e'"},
      {"12abc", "compile 2: unexpected 'abc'"},
      {"true", "true"},
      {"null", "null"},
      {R"('a')", R"("a")"},
      {R"("it's")", R"("it's")"},
      {R"('\n\t\\\'\"\x41\101\u00e9\U0001F600')", "\"\\n\\t\\\\'\\\"AA\u00e9\U0001F600\""},
      {R"(r'\n')", R"("\\n")"},
      {R"(R"\d+")", R"("\\d+")"},
      {"'''a\n'b'\n'''", R"("a\n'b'\n")"},
      {R"("""x"y""")", R"("x\"y")"},
      {R"(b'\xff' == b'\377')", "true"},
      {R"(size(b'é'))", "2"},
      {R"(br'\n' == b'\\n')", "true"},
      {R"('\u12')", "compile 0: Syntax error: token recognition error at: ''\\u12''"},
      {R"('\ud800')", "compile 0: unable to unescape string"},
      {R"('\q')", "compile 0: Syntax error: token recognition error at: ''\\q'"},
      {"'abc", "compile 0: Syntax error: token recognition error at: ''abc'"},
      {"'ab\nc'", "compile 0: Syntax error: token recognition error at: ''ab\n'"},
      {"[1, 'a', [true],]", R"([1,"a",[true]])"},
      {"{'a': 1, 'b': {'c': [2]}}", R"({"a":1,"b":{"c":[2]}})"},
      {"{1: 'x', 2u: 'y', true: 'z'}[2]", R"("y")"},
      {"{'a': 1, 'a': 2}", "error 9: Failed with repeated key: a"},
      {"{1: 1, 1u: 2}", "error 7: Failed with repeated key: 1"},
      {"{1.5: 1}", "error 1: unsupported key type: double"},
      {"[]", "[]"},
      {"{}", "{}"},
      {"1 // a comment\n + 1", "2"},
      {"", "compile 0: unexpected end of the expression"},
      {"1 +", "compile 3: unexpected end of the expression"},
      {"!-", "compile 1: unexpected '-'"},
      {"!-a", "compile 1: unexpected '-'"},
      {"!-1u", "compile 1: unexpected '-'"},
      {"1 1", "compile 2: unexpected '1'"},
      {"(1", "compile 2: unexpected end of the expression, expected ')'"},
      {"[1", "compile 2: unexpected end of the expression"},
      {"1 ? 2", "compile 5: unexpected end of the expression, expected ':'"},
      {"a #", "compile 2: Syntax error: token recognition error at: '#'"},
      {"for", "compile 0: reserved identifier: for"},
      {"'\xff'", "compile 0: the expression is not valid UTF-8"},
      {"Foo{a: 1}", "compile 3: messages cannot be constructed; use a map {'key': value}"},
  };
  run(kRows);
}

TEST(Cel, Arithmetic) {
  constexpr Row kRows[] = {
      {"1 + 2 * 3", "7"},
      {"(1 + 2) * 3", "9"},
      {"10 - 4 - 3", "3"},
      {"7 / 2", "3"},
      {"-7 / 2", "-3"},
      {"-7 % 3", "-1"},
      {"7.0 / 2.0", "3.5"},
      {"1 / 0", "error 2: division by zero"},
      {"1 % 0", "error 2: modulus by zero"},
      {"1u / 0u", "error 3: division by zero"},
      {"9223372036854775807 + 1", "error 20: integer overflow"},
      {"-9223372036854775808 - 1", "error 21: integer overflow"},
      {"-9223372036854775808 / -1", "error 21: integer overflow"},
      {"-9223372036854775808 * -1", "error 21: integer overflow"},
      {"-(-9223372036854775808)", "error 0: integer overflow"},
      {"0u - 1u", "error 3: unsigned integer overflow"},
      {"'a' + 'b'", R"("ab")"},
      {"[1] + [2, 3]", "[1,2,3]"},
      {"b'a' + b'b' == b'ab'", "true"},
      {"1 + 1.0", "compile 2: found no matching overload for '_+_' applied to '(int, double)'"},
      {"1 + 'a'", "compile 2: found no matching overload for '_+_' applied to '(int, string)'"},
      {"object.spec.priority + 'a'", "error 21: no such overload"},
      {"-'a'", "compile 0: found no matching overload for '-_' applied to '(string)'"},
      {"!true", "false"},
      {"!!true", "true"},
      {"--1", "1"},
      {"!1", "compile 0: found no matching overload for '!_' applied to '(int)'"},
      {"1.0 / 0.0 > 1e308", "true"},
  };
  run(kRows);
}

TEST(Cel, Comparison) {
  constexpr Row kRows[] = {
      {"1 == 1.0", "true"},
      {"1u == 1", "true"},
      {"1 == '1'", "false"},
      {"1 != '1'", "true"},
      {"null == null", "true"},
      {"null == 0", "false"},
      {"[1, 2.0] == [1.0, 2]", "true"},
      {"{'a': [1]} == {'a': [1u]}", "true"},
      {"{'a': 1} == {'b': 1}", "false"},
      {"[1] == [1, 2]", "false"},
      {"1 < 2.5", "true"},
      {"-1 < 1u", "true"},
      {"18446744073709551615u > 9223372036854775807", "true"},
      {"9007199254740993 > 9007199254740992.0", "false"},
      {"9223372036854775807 < 9223372036854775808.0", "false"},
      {"'a' < 'b'", "true"},
      {"'B' < 'a'", "true"},
      {"false < true", "true"},
      {"b'a' < b'b'", "true"},
      {"double('NaN') == double('NaN')", "false"},
      {"double('NaN') < 1.0", "false"},
      {"1 < 'a'", "compile 2: found no matching overload for '_<_' applied to '(int, string)'"},
      {"'a' > 1", "compile 4: found no matching overload for '_>_' applied to '(string, int)'"},
      {"[1] < [2]", "compile 4: found no matching overload for '_<_' applied to '(list(int), list(int))'"},
      {"2 in [1, 2]", "true"},
      {"2.0 in [1, 2]", "true"},
      {"'a' in {'a': 1}", "true"},
      {"'b' in object.metadata.labels", "false"},
      {"'kai.scheduler/queue' in object.metadata.labels", "true"},
      {"1 in 'a'", "compile 2: found no matching overload for '@in' applied to '(int, string)'"},
      {"1 < 2 == true", "true"},
      {"true || false && false", "true"},
  };
  run(kRows);
}

TEST(Cel, LogicAbsorbsErrors) {
  constexpr Row kRows[] = {
      {"true || 1 / 0 > 0", "true"},
      {"1 / 0 > 0 || true", "true"},
      {"1 / 0 > 0 && false", "false"},
      {"false || 1 / 0 > 0", "error 11: division by zero"},
      {"broken || true", "true"},
      {"broken && true", "error 0: must not be evaluated"},
      {"true ? 1 : broken", "1"},
      {"false ? broken : 2", "2"},
      {"object.spec.hostNetwork ? 1 : 2", "2"},
      {"object.spec.priority ? 1 : 2", "error 21: no such overload"},
      {"object.spec.priority || false", "error 11: no such overload"},
      {"object.spec.priority || true", "true"},
      {"1 || true", "compile 0: expected type 'bool' but found 'int'"},
      {"'a' ? 1 : 2", "compile 4: found no matching overload for '_?_:_' applied to '(string, int, int)'"},
      {"true ? false ? 1 : 2 : 3", "compile 13: unexpected '?', expected ':'"},
      {"false ? 1 : true ? 2 : 3", "2"},
  };
  run(kRows);
}

TEST(Cel, Selection) {
  constexpr Row kRows[] = {
      {"object.metadata.name", R"("p")"},
      {".object.metadata.name", R"("p")"},
      {"object['metadata']['name']", R"("p")"},
      {"object.metadata.labels['kai.scheduler/queue']", R"("test")"},
      {"object.metadata.labels.`kai.scheduler/queue`", R"("test")"},
      {"object.spec.containers[1].ports[0]", "80"},
      {"object.spec.containers[1].ports[1.0]", "443"},
      {"object.spec.containers[2]", "error 22: index out of bounds: 2"},
      {"object.spec.containers[-1]", "error 22: index out of bounds: -1"},
      {"object.spec.containers['x']", "error 22: unsupported index type 'string' in list"},
      {"object.nope.x", "error 6: no such key: nope"},
      {"object.metadata.name.x", "error 20: no such key: x"},
      {"has(object.metadata.name)", "true"},
      {"has(object.metadata.nope)", "false"},
      {"has(object.nope.x)", "error 10: no such key: nope"},
      {"has(object.metadata.annotations)", "true"},
      {"object.metadata.annotations == null", "true"},
      {"has({'a': 1}.a)", "true"},
      {"has(object)", "compile 4: invalid argument to has() macro"},
      {"params.queue", R"("qualified")"},
      {"params.queu", "compile 7: there is no parameter 'queu' (did you mean \"queue\"?)"},
      {"objekt.metadata", "compile 0: undeclared reference to 'objekt' (did you mean \"object\"?)"},
      {"params.queue.size()", "9"},
      {"'a'.b", "compile 3: type 'string' does not support field selection"},
      {"1[0]", "compile 1: found no matching overload for '_[_]' applied to '(int, int)'"},
      {"[1]['a']", "compile 3: found no matching overload for '_[_]' applied to '(list(int), string)'"},
      {"{'if': 1}.if", "1"},
  };
  run(kRows);
}

TEST(Cel, Macros) {
  constexpr Row kRows[] = {
      {"[1, 2, 3].all(x, x > 0)", "true"},
      {"[1, 2, 3].all(x, x > 1)", "false"},
      {"[].all(x, false)", "true"},
      {"[1, 0].all(x, 1 / x > 5)", "false"},
      {"[0, 1].all(x, 1 / x > 5)", "false"},
      {"[0, 1].all(x, 1 / x > 0)", "error 16: division by zero"},
      {"[1, 2].exists(x, x == 2)", "true"},
      {"[0, 1].exists(x, 1 / x == 1)", "true"},
      {"[].exists(x, true)", "false"},
      {"[1, 2, 2].exists_one(x, x == 2)", "false"},
      {"[1, 2, 3].existsOne(x, x == 2)", "true"},
      {"[0, 1].exists_one(x, 1 / x == 1)", "error 23: division by zero"},
      {"[1, 2, 3].map(x, x * 2)", "[2,4,6]"},
      {"[1, 2, 3].map(x, x > 1, x * 2)", "[4,6]"},
      {"[1, 2, 3].filter(x, x != 2)", "[1,3]"},
      {"{'a': 1, 'b': 2}.all(k, k in ['a', 'b'])", "true"},
      {"{'a': 1, 'b': 2}.map(k, k + '!')", R"(["a!","b!"])"},
      {"{'a': 1, 'b': 2}.exists(k, v, k == 'b' && v == 2)", "true"},
      {"[5, 6].all(i, v, v == i + 5)", "true"},
      {"{'a': 1, 'b': 2}.transformMap(k, v, v > 1, v * 10)", R"({"b":20})"},
      {"[7, 8].transformList(i, v, i * v)", "[0,8]"},
      {"object.spec.containers.exists(c, has(c.resources) && has(c.resources.limits) && "
       "'nvidia.com/gpu' in c.resources.limits)",
       "true"},
      {"object.spec.containers.filter(c, has(c.ports)).map(c, c.name)", R"(["y"])"},
      {"[[1, 2], [3]].map(x, x.map(y, y + x.size()))", "[[3,4],[4]]"},
      {"[1].map(x, [2].map(x, x))", "[[2]]"},
      {"[1, 2].exists(x, [3].exists(y, x + 1 == y))", "true"},
      {"[1].all(x, x)", "compile 11: expected type 'bool' but found 'int'"},
      {"[1].all(x, 'a')", "compile 11: expected type 'bool' but found 'string'"},
      {"1.all(x, true)",
       "compile 0: expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)"},
      {"'a'.all(x, true)",
       "compile 0: expression of type 'string' cannot be range of a comprehension (must be list, map, or dynamic)"},
      {"object.metadata.name.all(x, true)", "error 24: got 'types.String', expected iterable type"},
      {"[1].all(x.y, true)", "compile 9: argument must be a simple name"},
      {"[1].all(x, x, x, x)", "compile 4: there is no function 'all'"},
      {"[1].transformList(x, x, 1)", "compile 21: duplicate variable name: x"},
      {"cel.bind(n, 3, n * n)", "9"},
      {"cel.bind(n, broken, 1)", "1"},
      {"cel.bind(n, 2, [1, 2].map(x, x * n))", "[2,4]"},
      {"[1, 2].map(x, cel.bind(y, x + 1, y * y))", "[4,9]"},
  };
  run(kRows);
}

TEST(Cel, Strings) {
  constexpr Row kRows[] = {
      {"'hello'.startsWith('he')", "true"},
      {"'hello'.endsWith('lo')", "true"},
      {"'hello'.contains('ell')", "true"},
      {"'hello'.matches('^h.*o$')", "true"},
      {"matches('hello', 'l+')", "true"},
      {"'a' + 'b'.matches('b')", "compile 4: found no matching overload for '_+_' applied to '(string, bool)'"},
      {"'x'.matches('(')", "compile 12: invalid regular expression: error parsing regexp: missing closing ): `(`"},
      {"'x'.matches(object.metadata.name + '(')", "error 11: error parsing regexp: missing closing ): `p(`"},
      {"'p'.matches(object.metadata.name)", "true"},
      {"size('Grüße')", "5"},
      {"object.spec.umlaut.size()", "7"},
      {"'a,b,,c'.split(',')", R"(["a","b","","c"])"},
      {"'a,b,c'.split(',', 2)", R"(["a","b,c"])"},
      {"'a,b'.split(',', 0)", "[]"},
      {"'üx'.split('')", R"(["ü","x"])"},
      {"['a', 'b'].join('-')", R"("a-b")"},
      {"['a', 'b'].join()", R"("ab")"},
      {"[1].join()", "error 8: no such overload: join(list)"},
      {"'aXbX'.replace('X', '--')", R"("a--b--")"},
      {"'aXbX'.replace('X', '', 1)", R"("abX")"},
      {"'ab'.replace('', '_')", R"("_a_b_")"},
      {"'AbÜ'.lowerAscii()", R"("abÜ")"},
      {"'ab'.upperAscii()", R"("AB")"},
      {"'  a b\\n'.trim()", R"("a b")"},
      {"'\\u00a0x\\u3000'.trim()", R"("x")"},
      {"'Grüße'.substring(2)", R"("üße")"},
      {"'Grüße'.substring(2, 3)", R"("ü")"},
      {"'abc'.substring(2, 1)", "error 15: invalid substring range. start: 2, end: 1"},
      {"'abc'.substring(4)", "error 15: index out of range: 4"},
      {"'Grüße'.charAt(2)", R"("ü")"},
      {"'abc'.charAt(3)", R"("")"},
      {"'abc'.charAt(4)", "error 12: index out of range: 4"},
      {"'Grüße'.indexOf('ß')", "3"},
      {"'abab'.lastIndexOf('ab')", "2"},
      {"'abc'.indexOf('z')", "-1"},
      {"'aü'.reverse()", R"("üa")"},
      {"'%s has %d of %.2f%%'.format(['x', 3, 1.005])", R"("x has 3 of 1.00%")"},
      {"'%s %x'.format([[1], 255])", R"("[1] ff")"},
      {"'%b %o %X %x'.format([5, 8, 255u, 'Hi'])", R"("101 10 FF 4869")"},
      {"'%s %s'.format([{'b': 'x', 'a': [1.5]}, b'y'])", R"("{a: [1.5], b: x} y")"},
      {"'%f %d'.format([double('Infinity'), double('NaN')])", R"("Infinity NaN")"},
      {"'tacocat'.indexOf('a', 3)", "5"},
      {"'tacocat'.lastIndexOf('a', 3)", "1"},
      {"'abc'.indexOf('a', 9)", "error 13: index out of range: 9"},
      {"strings.quote('a\\n\"b')", "\"\\\"a\\\\n\\\\\\\"b\\\"\""},
      {"'%d'.format(['a'])",
       "error 11: error during formatting: decimal clause can only be used on integers, was given string"},
      {"'%d'.format([])", "error 11: index 0 out of range"},
      {"'%'.format([])", "error 10: index 0 out of range"},
      {"'a'.startWith('b')", "compile 4: there is no function 'startWith' (did you mean \"startsWith\"?)"},
      {"startsWith('a', 'b')", "compile 10: found no matching overload for 'startsWith' applied to '(string, string)'"},
      {"'a'.startsWith(1)", "compile 14: found no matching overload for 'startsWith' applied to 'string.(int)'"},
  };
  run(kRows);
}

TEST(Cel, Conversions) {
  constexpr Row kRows[] = {
      {"int('42')", "42"},
      {"int('4x')", "error 3: type conversion error from 'string' to 'int'"},
      {"int('')", "error 3: type conversion error from 'string' to 'int'"},
      {"int(1.9)", "1"},
      {"int(-1.9)", "-1"},
      {"int(1e19)", "error 3: integer overflow"},
      {"int(18446744073709551615u)", "error 3: integer overflow"},
      {"uint(-1)", "error 4: unsigned integer overflow"},
      {"uint('7') == 7u", "true"},
      {"double('0.5')", "0.5"},
      {"double('50%')", "error 6: type conversion error from 'string' to 'double'"},
      {"double(' 0.5')", "error 6: type conversion error from 'string' to 'double'"},
      {"double('1e-1')", "0.1"},
      {"string(0.5)", R"("0.5")"},
      {"string(1.0)", R"("1")"},
      {"string(12)", R"("12")"},
      {"string(true)", R"("true")"},
      {"string(b'abc')", R"("abc")"},
      {"string(b'\\xff')", "error 6: invalid UTF-8 in bytes, cannot convert to string"},
      {"bool('true')", "true"},
      {"bool('yes')", "error 4: type conversion error from 'string' to 'bool'"},
      {"type(1) == int", "true"},
      {"type(object.spec.ratio) == double", "true"},
      {"type('a') == string && type(type(1)) == type", "true"},
      {"type(null) == null_type", "true"},
      {"int(object.spec.containers)", "error 3: no such overload: int(list)"},
      {"dyn(1) + 1", "2"},
  };
  run(kRows);
}

TEST(Cel, Libraries) {
  constexpr Row kRows[] = {
      {"quantity('500m').isLessThan(quantity('1'))", "true"},
      {"quantity('1Gi').isGreaterThan(quantity('1G'))", "true"},
      {"quantity('1k').asInteger()", "1000"},
      {"quantity('1').compareTo(quantity('1000m'))", "0"},
      {"quantity('1') == quantity('1000m')", "true"},
      {"quantity('500m').isInteger()", "false"},
      {"quantity('500m').asInteger()", "error 26: cannot convert value to integer"},
      {"quantity('500m').asApproximateFloat()", "0.5"},
      {"string(quantity('500m').add(quantity('1500m')))", R"("2")"},
      {"quantity('5').sub(1).asInteger()", "4"},
      {"quantity(2).asInteger()", "2"},
      {"quantity('1x')",
       "error 8: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"},
      {"isQuantity('1x')", "false"},
      {"quantity('-1').sign()", "-1"},
      {"object.?metadata.?name.orValue('none')", R"("p")"},
      {"object.?nope.x.y.orValue('none')", R"("none")"},
      {"object.metadata.labels[?'zz'].orValue('none')", R"("none")"},
      {"object.metadata.labels[?'a'].hasValue()", "true"},
      {"object.?nope.value()", "error 18: optional.none() dereference"},
      {"optional.of(1).or(optional.of(2)).value()", "1"},
      {"optional.none().or(optional.of(2)).value()", "2"},
      {"optional.ofNonZeroValue('').hasValue()", "false"},
      {"object.?metadata.name.optMap(n, n + '!').orValue('')", R"("p!")"},
      {"[?object.?nope, ?optional.of(1)]", "[1]"},
      {"{?'a': object.?nope, 'b': 1}", R"({"b":1})"},
      {"[?1]", "compile 2: expected type 'optional_type(int)' but found 'int'"},
      {"[3, 1, 2].sort()", "[1,2,3]"},
      {"[1, 2].sum() + [1, 2, 3].max() + [4, 5].min()", "10"},
      {"[].max()", "error 6: max called on empty list"},
      {"[1, 2, 2, 1.0].distinct()", "[1,2]"},
      {"[1, 2, 3].slice(1, 3)", "[2,3]"},
      {"[1, 2].slice(1, 3)", "error 12: cannot slice(1, 3), list is length 2"},
      {"[[1], [2, 3]].flatten()", "[1,2,3]"},
      {"[1, 2, 1].indexOf(1) + [1, 2, 1].lastIndexOf(1)", "2"},
      {"[1, 2].isSorted()", "true"},
      {"lists.range(3)", "[0,1,2]"},
      {"math.greatest(1, 2.5, 2)", "2.5"},
      {"math.least([3, 1])", "1"},
      {"math.ceil(1.2)", "2"},
      {"math.greatest(1)", "1"},
      {"math.greatest(1, 2, 3, 4u, 0.5)", "4"},
      {"math.least('a', 1)", "compile 10: found no matching overload for 'math.@min' applied to '(string, int)'"},
      {"math.sign(-3) + math.bitAnd(6, 3) + math.bitShiftLeft(1, 3) + math.bitNot(-1)", "9"},
      {"math.bitShiftRight(1, 64)", "0"},
      {"math.bitShiftLeft(1, -1)", "error 17: math.bitShiftLeft() negative offset: -1"},
      {"base64.decode('aGVsbG8') == b'hello'", "true"},
      {"1e-400", "0"},
      {"1e400", "compile 0: invalid double literal"},
      {"math.foo(1)", "compile 0: undeclared reference to 'math'"},
      {"sets.contains([1, 2], [2])", "true"},
      {"sets.intersects([1], [2])", "false"},
      {"base64.encode(b'abc')", R"("YWJj")"},
  };
  run(kRows);
}

TEST(Cel, AllCheckProblemsAreReported) {
  const auto program = Program::compile("objekt.a && 'a' + 1 == nope(2)", environment());
  ASSERT_FALSE(program.has_value());
  EXPECT_EQ(program.error().size(), 3u);
}

TEST(Cel, CostIsBounded) {
  EXPECT_EQ(evaluate("lists.range(1000).all(a, lists.range(1000).all(b, lists.range(1000).all(c, true)))", 100'000),
            "error 21: operation cancelled: actual cost limit exceeded");
  EXPECT_EQ(evaluate("[1, 2, 3].all(x, x > 0)", 5), "error 13: operation cancelled: actual cost limit exceeded");
  EXPECT_EQ(evaluate("lists.range(9223372036854775807).size() > 0"),
            "error 40: operation cancelled: actual cost limit exceeded");
  // An exhausted budget is not absorbed.
  EXPECT_EQ(evaluate("lists.range(2000000).size() > 0 || true").substr(0, 5), "error");
  std::string doubling = "'aaaaaaaaaaaaaaaa'";
  for (int i = 0; i < 40; ++i)
    doubling = "cel.bind(s" + std::to_string(i) + ", " + doubling + ", s" + std::to_string(i) + " + s" +
               std::to_string(i) + ")";
  EXPECT_NE(evaluate(doubling).find("cost limit exceeded"), std::string::npos);
}

TEST(Cel, DepthIsBounded) {
  for (const auto& [open, close] : {std::pair{"(", ")"}, {"[", "]"}, {"-(", ")"}, {"size(", ")"}, {"{1:", "}"}}) {
    std::string source;
    for (int i = 0; i < 100'00; ++i) source += open;
    source += "1";
    for (int i = 0; i < 100'00; ++i) source += close;
    EXPECT_NE(evaluate(source).find("recursion limit exceeded"), std::string::npos) << open;
  }
  std::string chain = "1";
  for (int i = 0; i < 10'000; ++i) chain += "+1";
  EXPECT_NE(evaluate(chain).find("recursion limit exceeded"), std::string::npos);
  std::string moderate = "1";
  for (int i = 0; i < 200; ++i) moderate += "+1";
  EXPECT_EQ(evaluate(moderate), "201");
  EXPECT_NE(evaluate(std::string(100'001, ' ') + "1").find("exceeds limit"), std::string::npos);
}

TEST(Cel, TypesAreBounded) {
  std::string doubling = "x0";
  for (int i = 40; i > 0; --i)
    doubling = "cel.bind(x" + std::to_string(i) + ", {x" + std::to_string(i - 1) + ": x" + std::to_string(i - 1) +
               "}, " + doubling + ")";
  EXPECT_NE(evaluate("cel.bind(x0, 1, " + doubling + ")").find("too large"), std::string::npos);
}

TEST(Cel, PlacesCountCharacters) {
  EXPECT_EQ(place_of("ab\ncü x", 7).line, 2);
  EXPECT_EQ(place_of("ab\ncü x", 7).column, 4);
}

TEST(Cel, ValuesAreWrittenBack) {
  const schema::Document document = schema::Document::parse_json(kPodObject).value();
  auto program = Program::compile("{'c': object.spec.containers, 'r': object.spec.ratio}", environment());
  ASSERT_TRUE(program.has_value());
  schema::Document out;
  ASSERT_TRUE(write(program->evaluate(ObjectActivation(document)), out.root()).has_value());
  EXPECT_TRUE(out["c"].equals(document["spec"]["containers"]));
  EXPECT_FALSE(write(Value::map({{Value::integer(1), Value()}}), out.root()).has_value());
  EXPECT_FALSE(write(Value::floating(std::numeric_limits<double>::infinity()), out.root()).has_value());
}

}  // namespace
}  // namespace sublet::patches::cel
