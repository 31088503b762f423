#include <gtest/gtest.h>

#include <limits>
#include <span>

#include "patches/cel/program.h"

namespace sublet::patches::cel {
namespace {

// The variables of all expressions here.
constexpr const char* kObject = R"({
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
  const schema::Document document = schema::Document::parse_json(kObject).value();
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
      {"9223372036854775808", "compile 0: the number is too large for an int"},
      {"1 - 9223372036854775808", "compile 4: the number is too large for an int"},
      {"18446744073709551615u == 18446744073709551615u", "true"},
      {"99999999999999999999", "compile 0: the number is too large"},
      {"1.5", "1.5"},
      {"-.5", "-0.5"},
      {"1e3", "1000"},
      {"12.5e-1", "1.25"},
      {"1e", "compile 0: a number's exponent has no digits"},
      {"12abc", "compile 0: invalid number"},
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
      {R"('\u12')", "compile 1: an escape sequence needs 4 hexadecimal digits"},
      {R"('\ud800')", "compile 1: the escape sequence is not a Unicode character"},
      {R"('\q')", "compile 1: invalid escape sequence"},
      {"'abc", "compile 0: the string is not closed"},
      {"'ab\nc'", "compile 0: the string is not closed"},
      {"[1, 'a', [true],]", R"([1,"a",[true]])"},
      {"{'a': 1, 'b': {'c': [2]}}", R"({"a":1,"b":{"c":[2]}})"},
      {"{1: 'x', 2u: 'y', true: 'z'}[2]", R"("y")"},
      {"{'a': 1, 'a': 2}", "error 9: the map has the key \"a\" twice"},
      {"{1: 1, 1u: 2}", "error 7: the map has the key 1 twice"},
      {"{1.5: 1}", "error 1: a map cannot have a key of type double"},
      {"[]", "[]"},
      {"{}", "{}"},
      {"1 // a comment\n + 1", "2"},
      {"", "compile 0: unexpected end of the expression"},
      {"1 +", "compile 3: unexpected end of the expression"},
      {"1 1", "compile 2: unexpected '1'"},
      {"(1", "compile 2: unexpected end of the expression, expected ')'"},
      {"[1", "compile 2: unexpected end of the expression, expected ','"},
      {"1 ? 2", "compile 5: unexpected end of the expression, expected ':'"},
      {"a #", "compile 2: unexpected character '#'"},
      {"for", "compile 0: 'for' is a reserved word"},
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
      {"1 + 1.0", "compile 2: found no matching overload for '_+_' applied to (int, double)"},
      {"1 + 'a'", "compile 2: found no matching overload for '_+_' applied to (int, string)"},
      {"object.spec.priority + 'a'", "error 21: found no matching overload for '_+_' applied to (int, string)"},
      {"-'a'", "compile 0: found no matching overload for '-_' applied to (string)"},
      {"!true", "false"},
      {"!!true", "true"},
      {"--1", "1"},
      {"!1", "compile 0: found no matching overload for '!_' applied to (int)"},
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
      {"1 < 'a'", "error 2: values of type int and string cannot be ordered"},
      {"'a' > 1", "error 4: values of type string and int cannot be ordered"},
      {"[1] < [2]", "error 4: values of type list and list cannot be ordered"},
      {"2 in [1, 2]", "true"},
      {"2.0 in [1, 2]", "true"},
      {"'a' in {'a': 1}", "true"},
      {"'b' in object.metadata.labels", "false"},
      {"'kai.scheduler/queue' in object.metadata.labels", "true"},
      {"1 in 'a'", "compile 2: found no matching overload for '@in' applied to (int, string)"},
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
      {"object.spec.priority ? 1 : 2", "error 21: the condition of ?: is a int, not a bool"},
      {"object.spec.priority || false", "error 12: an operand of && or || is a int, not a bool"},
      {"object.spec.priority || true", "true"},
      {"1 || true", "compile 0: an operand of || must be a bool, not a int"},
      {"'a' ? 1 : 2", "compile 0: the condition of ?: must be a bool, not a string"},
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
      {"object.spec.containers['x']", "error 22: a list is indexed by an int, not by a string"},
      {"object.nope.x", "error 7: no such key: nope"},
      {"object.metadata.name.x", "error 21: a string has no elements"},
      {"has(object.metadata.name)", "true"},
      {"has(object.metadata.nope)", "false"},
      {"has(object.nope.x)", "error 11: no such key: nope"},
      {"has(object.metadata.annotations)", "true"},
      {"object.metadata.annotations == null", "true"},
      {"has({'a': 1}.a)", "true"},
      {"has(object)", "compile 0: the argument of has() must be a field selection such as object.spec.nodeName"},
      {"params.queue", R"("qualified")"},
      {"params.queu", "compile 7: there is no parameter 'queu' (did you mean \"queue\"?)"},
      {"objekt.metadata", "compile 0: undeclared reference to 'objekt' (did you mean \"object\"?)"},
      {"params.queue.size()", "9"},
      {"'a'.b", "compile 4: a string has no fields"},
      {"1[0]", "compile 1: a int cannot be indexed"},
      {"[1]['a']", "compile 4: a list is indexed by an int, not by a string"},
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
      {"[1].all(x, x)", "error 4: the condition of all() is a int, not a bool"},
      {"[1].all(x, 'a')", "compile 11: the condition of all() must be a bool, not a string"},
      {"1.all(x, true)", "compile 2: the receiver of all() must be a list or a map, not a int"},
      {"'a'.all(x, true)", "compile 4: the receiver of all() must be a list or a map, not a string"},
      {"object.metadata.name.all(x, true)", "error 21: the receiver of all() is a string, not a list or a map"},
      {"[1].all(x.y, true)", "compile 10: the argument of all() must be a simple name"},
      {"[1].all(x, x, x, x)", "compile 8: undeclared reference to 'x'"},
      {"[1].transformList(x, x, 1)", "compile 21: the two variables of transformList() must differ"},
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
      {"'a' + 'b'.matches('b')", "compile 4: found no matching overload for '_+_' applied to (string, bool)"},
      {"'x'.matches('(')", "compile 12: invalid regular expression: missing ): ("},
      {"'x'.matches(object.metadata.name + '(')", "error 4: invalid regular expression: missing ): p("},
      {"'p'.matches(object.metadata.name)", "true"},
      {"size('Grüße')", "5"},
      {"object.spec.umlaut.size()", "7"},
      {"'a,b,,c'.split(',')", R"(["a","b","","c"])"},
      {"'a,b,c'.split(',', 2)", R"(["a","b,c"])"},
      {"'a,b'.split(',', 0)", "[]"},
      {"'üx'.split('')", R"(["ü","x"])"},
      {"['a', 'b'].join('-')", R"("a-b")"},
      {"['a', 'b'].join()", R"("ab")"},
      {"[1].join()", "error 4: join() needs a list of strings, found int"},
      {"'aXbX'.replace('X', '--')", R"("a--b--")"},
      {"'aXbX'.replace('X', '', 1)", R"("abX")"},
      {"'ab'.replace('', '_')", R"("_a_b_")"},
      {"'AbÜ'.lowerAscii()", R"("abÜ")"},
      {"'ab'.upperAscii()", R"("AB")"},
      {"'  a b\\n'.trim()", R"("a b")"},
      {"'\\u00a0x\\u3000'.trim()", R"("x")"},
      {"'Grüße'.substring(2)", R"("üße")"},
      {"'Grüße'.substring(2, 3)", R"("ü")"},
      {"'abc'.substring(2, 1)", "error 6: substring range [2, 1) is out of the string's 3 characters"},
      {"'abc'.substring(4)", "error 6: substring range [4, 3) is out of the string's 3 characters"},
      {"'Grüße'.charAt(2)", R"("ü")"},
      {"'abc'.charAt(3)", R"("")"},
      {"'abc'.charAt(4)", "error 6: index 4 is out of the string"},
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
      {"'abc'.indexOf('a', 9)", "error 6: index 9 is out of the string"},
      {"strings.quote('a\\n\"b')", "\"\\\"a\\\\n\\\\\\\"b\\\"\""},
      {"'%d'.format(['a'])", "error 5: format() cannot write a string with %d"},
      {"'%d'.format([])", "error 5: format() found more verbs than values"},
      {"'%'.format([])", "error 4: format() found an unfinished % at the end"},
      {"'a'.startWith('b')", "compile 4: there is no function 'startWith' (did you mean \"startsWith\"?)"},
      {"startsWith('a', 'b')", "compile 0: found no matching overload for 'startsWith' applied to (string, string)"},
      {"'a'.startsWith(1)", "compile 4: found no matching overload for 'startsWith' applied to string.(int)"},
  };
  run(kRows);
}

TEST(Cel, Conversions) {
  constexpr Row kRows[] = {
      {"int('42')", "42"},
      {"int('4x')", "error 0: '4x' is not a valid int"},
      {"int('')", "error 0: '' is not a valid int"},
      {"int(1.9)", "1"},
      {"int(-1.9)", "-1"},
      {"int(1e19)", "error 0: the value is out of the range of int"},
      {"int(18446744073709551615u)", "error 0: the value is out of the range of int"},
      {"uint(-1)", "error 0: the value is out of the range of uint"},
      {"uint('7') == 7u", "true"},
      {"double('0.5')", "0.5"},
      {"double('50%')", "error 0: '50%' is not a valid double"},
      {"double(' 0.5')", "error 0: ' 0.5' is not a valid double"},
      {"double('1e-1')", "0.1"},
      {"string(0.5)", R"("0.5")"},
      {"string(1.0)", R"("1")"},
      {"string(12)", R"("12")"},
      {"string(true)", R"("true")"},
      {"string(b'abc')", R"("abc")"},
      {"string(b'\\xff')", "error 0: the bytes are not valid UTF-8"},
      {"bool('true')", "true"},
      {"bool('yes')", "error 0: 'yes' is not a valid bool"},
      {"type(1) == int", "true"},
      {"type(object.spec.ratio) == double", "true"},
      {"type('a') == string && type(type(1)) == type", "true"},
      {"type(null) == null_type", "true"},
      {"int(object.spec.containers)", "error 0: found no matching overload for 'int' applied to (list)"},
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
      {"quantity('500m').asInteger()", "error 17: the quantity cannot be represented as an int"},
      {"quantity('500m').asApproximateFloat()", "0.5"},
      {"string(quantity('500m').add(quantity('1500m')))", R"("2")"},
      {"quantity('5').sub(1).asInteger()", "4"},
      {"quantity(2).asInteger()", "2"},
      {"quantity('1x')", "error 0: '1x' is not a valid quantity"},
      {"isQuantity('1x')", "false"},
      {"quantity('-1').sign()", "-1"},
      {"object.?metadata.?name.orValue('none')", R"("p")"},
      {"object.?nope.x.y.orValue('none')", R"("none")"},
      {"object.metadata.labels[?'zz'].orValue('none')", R"("none")"},
      {"object.metadata.labels[?'a'].hasValue()", "true"},
      {"object.?nope.value()", "error 13: optional.none() has no value"},
      {"optional.of(1).or(optional.of(2)).value()", "1"},
      {"optional.none().or(optional.of(2)).value()", "2"},
      {"optional.ofNonZeroValue('').hasValue()", "false"},
      {"object.?metadata.name.optMap(n, n + '!').orValue('')", R"("p!")"},
      {"[?object.?nope, ?optional.of(1)]", "[1]"},
      {"{?'a': object.?nope, 'b': 1}", R"({"b":1})"},
      {"[?1]", "error 2: an item marked with ? must be an optional value"},
      {"[3, 1, 2].sort()", "[1,2,3]"},
      {"[1, 2].sum() + [1, 2, 3].max() + [4, 5].min()", "10"},
      {"[].max()", "error 3: min() or max() of an empty list"},
      {"[1, 2, 2, 1.0].distinct()", "[1,2]"},
      {"[1, 2, 3].slice(1, 3)", "[2,3]"},
      {"[1, 2].slice(1, 3)", "error 7: slice range [1, 3) is out of the list's 2 items"},
      {"[[1], [2, 3]].flatten()", "[1,2,3]"},
      {"[1, 2, 1].indexOf(1) + [1, 2, 1].lastIndexOf(1)", "2"},
      {"[1, 2].isSorted()", "true"},
      {"lists.range(3)", "[0,1,2]"},
      {"math.greatest(1, 2.5, 2)", "2.5"},
      {"math.least([3, 1])", "1"},
      {"math.ceil(1.2)", "2"},
      {"math.greatest(1)", "1"},
      {"math.greatest(1, 2, 3, 4u, 0.5)", "4"},
      {"math.least('a', 1)", "error 5: math.least() and math.greatest() take numbers"},
      {"math.sign(-3) + math.bitAnd(6, 3) + math.bitShiftLeft(1, 3) + math.bitNot(-1)", "9"},
      {"math.bitShiftRight(1, 64)", "0"},
      {"math.bitShiftLeft(1, -1)", "error 5: a shift by a negative number of bits"},
      {"base64.decode('aGVsbG8') == b'hello'", "true"},
      {"1e-400", "0"},
      {"1e400", "compile 0: invalid number"},
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
  EXPECT_EQ(evaluate("lists.range(1000).all(a, lists.range(1000).all(b, lists.range(1000).all(c, true)))"),
            "error 18: the expression exceeds its cost limit");
  EXPECT_EQ(evaluate("[1, 2, 3].all(x, x > 0)", 5), "error 10: the expression exceeds its cost limit");
  EXPECT_EQ(evaluate("lists.range(9223372036854775807).size() > 0"), "error 40: the expression exceeds its cost limit");
  // An exhausted budget is not absorbed.
  EXPECT_EQ(evaluate("lists.range(2000000).size() > 0 || true").substr(0, 5), "error");
  std::string doubling = "'aaaaaaaaaaaaaaaa'";
  for (int i = 0; i < 40; ++i)
    doubling = "cel.bind(s" + std::to_string(i) + ", " + doubling + ", s" + std::to_string(i) + " + s" +
               std::to_string(i) + ")";
  EXPECT_NE(evaluate(doubling).find("exceeds its cost limit"), std::string::npos);
}

TEST(Cel, DepthIsBounded) {
  for (const auto& [open, close] :
       {std::pair{"(", ")"}, {"[", "]"}, {"-(", ")"}, {"!", ""}, {"size(", ")"}, {"{1:", "}"}}) {
    std::string source;
    for (int i = 0; i < 100'00; ++i) source += open;
    source += "1";
    for (int i = 0; i < 100'00; ++i) source += close;
    EXPECT_NE(evaluate(source).find("nested too deep"), std::string::npos) << open;
  }
  std::string chain = "1";
  for (int i = 0; i < 10'000; ++i) chain += "+1";
  EXPECT_NE(evaluate(chain).find("nested too deep"), std::string::npos);
  std::string moderate = "1";
  for (int i = 0; i < 200; ++i) moderate += "+1";
  EXPECT_EQ(evaluate(moderate), "201");
  EXPECT_NE(evaluate(std::string(70'000, ' ') + "1").find("longer than"), std::string::npos);
}

TEST(Cel, PlacesCountCharacters) {
  EXPECT_EQ(place_of("ab\ncü x", 7).line, 2);
  EXPECT_EQ(place_of("ab\ncü x", 7).column, 4);
}

TEST(Cel, ValuesAreWrittenBack) {
  const schema::Document document = schema::Document::parse_json(kObject).value();
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
