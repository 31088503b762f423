#include "patches/cel/parser.h"

#include <algorithm>
#include <optional>

#include "patches/cel/text.h"

namespace sublet::patches::cel {

namespace {

constexpr std::string_view kReserved[] = {"as",        "break",  "const",  "continue", "else", "for",
                                          "function",  "if",     "import", "let",      "loop", "package",
                                          "namespace", "return", "var",    "void",     "while"};

struct BinaryOperator {
  std::string_view symbol;
  int precedence;
  Op op;
  std::string_view function;  // for Op::call
};

constexpr BinaryOperator kBinaryOperators[] = {
    {"||", 1, Op::logical_or, ""}, {"&&", 2, Op::logical_and, ""}, {"==", 3, Op::call, "_==_"},
    {"!=", 3, Op::call, "_!=_"},   {"<", 3, Op::call, "_<_"},      {"<=", 3, Op::call, "_<=_"},
    {">", 3, Op::call, "_>_"},     {">=", 3, Op::call, "_>=_"},    {"in", 3, Op::call, "@in"},
    {"+", 4, Op::call, "_+_"},     {"-", 4, Op::call, "_-_"},      {"*", 5, Op::call, "_*_"},
    {"/", 5, Op::call, "_/_"},     {"%", 5, Op::call, "_%_"},
};

struct MacroForm {
  std::string_view name;
  std::size_t arguments;
  std::size_t variables;  // leading arguments that are names
  Macro macro;
};

// Macros on a receiver, `range.name(variable..., steps...)`. A name and count that is not here is a plain call.
constexpr MacroForm kMacroForms[] = {
    {"all", 2, 1, Macro::all},
    {"all", 3, 2, Macro::all},
    {"exists", 2, 1, Macro::exists},
    {"exists", 3, 2, Macro::exists},
    {"exists_one", 2, 1, Macro::exists_one},
    {"exists_one", 3, 2, Macro::exists_one},
    {"existsOne", 2, 1, Macro::exists_one},
    {"existsOne", 3, 2, Macro::exists_one},
    {"map", 2, 1, Macro::map},
    {"map", 3, 1, Macro::map},
    {"filter", 2, 1, Macro::filter},
    {"transformList", 3, 2, Macro::transform_list},
    {"transformList", 4, 2, Macro::transform_list},
    {"transformMap", 3, 2, Macro::transform_map},
    {"transformMap", 4, 2, Macro::transform_map},
    {"optMap", 2, 1, Macro::opt_map},
    {"optFlatMap", 2, 1, Macro::opt_flat_map},
};

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  tl::expected<NodePtr, Problem> run() {
    NodePtr node = expression();
    if (!problem_ && token().kind != TokenKind::end) unexpected();
    if (problem_) return tl::unexpected(*problem_);
    return node;
  }

 private:
  const Token& token() const { return tokens_[at_]; }
  bool accept(std::string_view symbol) {
    if (problem_ || !token().is(symbol)) return false;
    ++at_;
    return true;
  }
  void expect(std::string_view symbol) {
    if (!accept(symbol)) unexpected(symbol);
  }
  void fail(int offset, std::string message) {
    if (!problem_) problem_ = Problem{offset, std::move(message)};
  }
  void unexpected(std::string_view wanted = {});
  static NodePtr make(Op op, int offset) {
    auto node = std::make_unique<Node>();
    node->op = op;
    node->offset = offset;
    return node;
  }

  // Hangs a child into a node. Nothing taller than the cap is ever built, so it can be walked and destroyed.
  void adopt(const NodePtr& node, NodePtr child) {
    node->height = std::max(node->height, child->height + 1);
    if (node->height > kTreeHeightMax) {
      fail(node->offset, "the expression is nested too deep");
      return;
    }
    node->children.push_back(std::move(child));
  }

  NodePtr expression();
  NodePtr binary(int precedence);
  NodePtr unary();
  NodePtr member(NodePtr operand);
  NodePtr member_access(NodePtr operand);
  NodePtr index_access(NodePtr operand);
  NodePtr primary();
  NodePtr literal();
  NodePtr name();
  NodePtr list();
  NodePtr map();
  std::vector<NodePtr> arguments();
  NodePtr call(NodePtr receiver, std::string name, int offset);
  NodePtr comprehension(const MacroForm& form, NodePtr range, std::vector<NodePtr> arguments, int offset);
  NodePtr has(std::vector<NodePtr> arguments, int offset);
  NodePtr bind(std::vector<NodePtr> arguments, int offset);

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::optional<Problem> problem_;
};

void Parser::unexpected(std::string_view wanted) {
  std::string message = token().kind == TokenKind::end ? "unexpected end of the expression"
                                                       : "unexpected '" + std::string(token().text) + "'";
  if (!wanted.empty()) message += ", expected '" + std::string(wanted) + "'";
  fail(token().offset, std::move(message));
}

NodePtr Parser::expression() {
  if (++depth_ > kSyntaxDepthMax) fail(token().offset, "the expression is nested too deep");
  NodePtr node = problem_ ? make(Op::literal, 0) : binary(1);
  if (const int offset = token().offset; accept("?")) {
    NodePtr conditional = make(Op::conditional, offset);
    adopt(conditional, std::move(node));
    adopt(conditional, binary(1));
    expect(":");
    adopt(conditional, expression());
    node = std::move(conditional);
  }
  --depth_;
  return node;
}

NodePtr Parser::binary(int precedence) {
  NodePtr left = unary();
  while (!problem_) {
    const auto* found = std::find_if(std::begin(kBinaryOperators), std::end(kBinaryOperators),
                                     [&](const BinaryOperator& o) { return token().is(o.symbol); });
    if (found == std::end(kBinaryOperators) || found->precedence < precedence) break;
    NodePtr node = make(found->op, token().offset);
    node->name = found->function;
    ++at_;
    adopt(node, std::move(left));
    adopt(node, binary(found->precedence + 1));
    left = std::move(node);
  }
  return left;
}

NodePtr Parser::unary() {
  const int offset = token().offset;
  for (const auto& [symbol, function] : {std::pair{"!", "!_"}, std::pair{"-", "-_"}}) {
    if (!accept(symbol)) continue;
    const bool number = function[0] == '-' && token().kind == TokenKind::literal && token().literal.is_numeric();
    if (number) --at_;
    if (number) break;
    if (++depth_ > kSyntaxDepthMax) fail(offset, "the expression is nested too deep");
    NodePtr node = make(Op::call, offset);
    node->name = function;
    adopt(node, problem_ ? make(Op::literal, 0) : unary());
    --depth_;
    return node;
  }
  return member(primary());
}

NodePtr Parser::member(NodePtr operand) {
  while (!problem_) {
    if (accept("."))
      operand = member_access(std::move(operand));
    else if (accept("["))
      operand = index_access(std::move(operand));
    else
      break;
  }
  return operand;
}

NodePtr Parser::member_access(NodePtr operand) {
  const bool optional = accept("?");
  const Token& field = token();
  if (field.kind != TokenKind::identifier && field.kind != TokenKind::quoted_identifier) {
    unexpected("field name");
    return operand;
  }
  ++at_;
  if (!optional && field.kind == TokenKind::identifier && token().is("("))
    return call(std::move(operand), std::string(field.text), field.offset);
  NodePtr node = make(Op::select, field.offset);
  node->name = field.text;
  node->optional = optional;
  adopt(node, std::move(operand));
  return node;
}

NodePtr Parser::index_access(NodePtr operand) {
  NodePtr node = make(Op::index, tokens_[at_ - 1].offset);
  node->optional = accept("?");
  adopt(node, std::move(operand));
  adopt(node, expression());
  expect("]");
  return node;
}

NodePtr Parser::primary() {
  const Token& first = token();
  if (first.kind == TokenKind::literal || first.is("-")) return literal();
  if (first.kind == TokenKind::identifier || first.is(".")) return name();
  if (accept("(")) {
    NodePtr node = expression();
    expect(")");
    return node;
  }
  if (accept("[")) return list();
  if (accept("{")) return map();
  unexpected();
  return make(Op::literal, first.offset);
}

// A literal, or a minus and a number.
NodePtr Parser::literal() {
  NodePtr node = make(Op::literal, token().offset);
  const bool negative = accept("-");
  Value value = token().literal;
  ++at_;
  constexpr std::int64_t kSmallest = INT64_MIN;
  if (value.is(Kind::integer)) {
    if (value.as_int() == kSmallest && !negative) fail(node->offset, "the number is too large for an int");
    if (negative && value.as_int() != kSmallest) value = Value::integer(-value.as_int());
  } else if (negative && value.is(Kind::floating)) {
    value = Value::floating(-value.as_double());
  } else if (negative) {
    fail(node->offset, "an unsigned number cannot be negated");
  }
  node->literal = std::move(value);
  return node;
}

NodePtr Parser::name() {
  accept(".");  // a leading dot names the root scope, which is the only one here
  const Token& identifier = token();
  if (identifier.kind != TokenKind::identifier) {
    unexpected("identifier");
    return make(Op::literal, identifier.offset);
  }
  if (std::find(std::begin(kReserved), std::end(kReserved), identifier.text) != std::end(kReserved))
    fail(identifier.offset, "'" + std::string(identifier.text) + "' is a reserved word");
  ++at_;
  if (token().is("(")) return call(nullptr, std::string(identifier.text), identifier.offset);
  NodePtr node = make(Op::identifier, identifier.offset);
  node->name = identifier.text;
  if (token().is("{")) fail(token().offset, "messages cannot be constructed; use a map {'key': value}");
  return node;
}

NodePtr Parser::list() {
  NodePtr node = make(Op::list, tokens_[at_ - 1].offset);
  while (!problem_ && !accept("]")) {
    node->optional_items.push_back(accept("?"));
    adopt(node, expression());
    if (!token().is("]")) expect(",");
  }
  return node;
}

NodePtr Parser::map() {
  NodePtr node = make(Op::map, tokens_[at_ - 1].offset);
  while (!problem_ && !accept("}")) {
    node->optional_items.push_back(accept("?"));
    adopt(node, expression());
    expect(":");
    adopt(node, expression());
    if (!token().is("}")) expect(",");
  }
  return node;
}

std::vector<NodePtr> Parser::arguments() {
  std::vector<NodePtr> nodes;
  expect("(");
  if (accept(")")) return nodes;
  do {
    nodes.push_back(expression());
  } while (accept(","));
  expect(")");
  return nodes;
}

NodePtr Parser::call(NodePtr receiver, std::string function, int offset) {
  std::vector<NodePtr> given = arguments();
  if (problem_) return make(Op::literal, offset);
  if (!receiver && function == "has") return has(std::move(given), offset);
  if (receiver) {
    if (receiver->op == Op::identifier && receiver->name == "cel" && function == "bind")
      return bind(std::move(given), offset);
    for (const MacroForm& form : kMacroForms)
      if (form.name == function && form.arguments == given.size())
        return comprehension(form, std::move(receiver), std::move(given), offset);
  }
  NodePtr node = make(Op::call, offset);
  node->name = std::move(function);
  node->is_method = receiver != nullptr;
  if (receiver) adopt(node, std::move(receiver));
  for (NodePtr& argument : given) adopt(node, std::move(argument));
  return node;
}

NodePtr Parser::comprehension(const MacroForm& form, NodePtr range, std::vector<NodePtr> given, int offset) {
  NodePtr node = make(Op::comprehension, offset);
  node->macro = form.macro;
  node->name = form.name;
  for (std::size_t i = 0; i < form.variables; ++i) {
    if (given[i]->op != Op::identifier)
      fail(given[i]->offset, "the argument of " + node->name + "() must be a simple name");
    node->variables.push_back(given[i]->name);
  }
  if (form.variables == 2 && node->variables[0] == node->variables[1])
    fail(given[1]->offset, "the two variables of " + node->name + "() must differ");
  adopt(node, std::move(range));
  for (std::size_t i = form.variables; i < given.size(); ++i) adopt(node, std::move(given[i]));
  return node;
}

NodePtr Parser::has(std::vector<NodePtr> given, int offset) {
  if (given.size() != 1 || given[0]->op != Op::select || given[0]->optional) {
    fail(offset, "the argument of has() must be a field selection such as object.spec.nodeName");
    return make(Op::literal, offset);
  }
  given[0]->op = Op::has;
  return std::move(given[0]);
}

NodePtr Parser::bind(std::vector<NodePtr> given, int offset) {
  if (given.size() != 3 || given[0]->op != Op::identifier) {
    fail(offset, "cel.bind() takes a name, a value and an expression");
    return make(Op::literal, offset);
  }
  NodePtr node = make(Op::comprehension, offset);
  node->macro = Macro::bind;
  node->name = "bind";
  node->variables.push_back(given[0]->name);
  adopt(node, std::move(given[1]));
  adopt(node, std::move(given[2]));
  return node;
}

}  // namespace

tl::expected<NodePtr, Problem> parse(std::string_view source) {
  if (source.size() > kSourceMax)
    return tl::unexpected(Problem{0, "the expression is longer than " + std::to_string(kSourceMax) + " bytes"});
  if (!valid_utf8(source)) return tl::unexpected(Problem{0, "the expression is not valid UTF-8"});
  auto tokens = tokenize(source);
  if (!tokens) return tl::unexpected(std::move(tokens.error()));
  return Parser(std::move(*tokens)).run();
}

}  // namespace sublet::patches::cel
