#include "patches/cel/parser.h"

#include <algorithm>

#include "patches/cel/macros.h"
#include "patches/cel/text.h"

namespace sublet::patches::cel {

namespace {

constexpr std::string_view kReservedIdentifiers[] = {"as",        "break",  "const",  "continue", "else", "for",
                                                     "function",  "if",     "import", "let",      "loop", "package",
                                                     "namespace", "return", "var",    "void",     "while"};

struct BinaryOperator {
  std::string_view symbol;
  int precedence;
  std::string_view function;
};

constexpr BinaryOperator kBinaryOperators[] = {
    {"==", 1, "_==_"}, {"!=", 1, "_!=_"}, {"<", 1, "_<_"}, {"<=", 1, "_<=_"}, {">", 1, "_>_"}, {">=", 1, "_>=_"},
    {"in", 1, "@in"},  {"+", 2, "_+_"},   {"-", 2, "_-_"}, {"*", 3, "_*_"},   {"/", 3, "_/_"}, {"%", 3, "_%_"},
};

constexpr std::string_view kOperand =
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";
// Behind a bracket that an optional item may follow.
constexpr std::string_view kIndexOperand =
    "{'[', '{', '(', '.', '-', '!', '?', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, "
    "IDENTIFIER}";
constexpr std::string_view kArgument =
    "{'[', '{', '(', ')', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, "
    "IDENTIFIER}";
constexpr std::string_view kTooDeep = "expression recursion limit exceeded: 250";

class Parser {
 public:
  Parser(std::vector<Token> tokens, const Environment& environment)
      : tokens_(std::move(tokens)), environment_(environment) {}

  tl::expected<NodePtr, std::vector<Problem>> run() {
    NodePtr node = expression();
    if (!stopped_ && token().kind != TokenKind::end) unexpected("<EOF>");
    if (maker_.exceeded() && problems_.empty()) problems_.push_back({0, std::string(kTooDeep)});
    if (!problems_.empty()) return tl::unexpected(std::move(problems_));
    return node;
  }

 private:
  const Token& token() const { return tokens_[at_]; }
  bool accept(std::string_view symbol) {
    if (stopped_ || !token().is(symbol)) return false;
    ++at_;
    return true;
  }
  void expect(std::string_view symbol) {
    if (!accept(symbol)) unexpected("'" + std::string(symbol) + "'");
  }
  void fail(int offset, std::string message) { problems_.push_back({offset, std::move(message)}); }
  void stop(int offset, std::string message) {
    if (!stopped_) fail(offset, std::move(message));
    stopped_ = true;
  }
  void unexpected(std::string_view wanted);
  NodePtr make(Op op, int offset) {
    if (maker_.exceeded()) stop(offset, std::string(kTooDeep));
    return maker_.make(op, offset);
  }

  NodePtr expression();
  NodePtr logical(bool any);
  NodePtr balanced(Op op, std::vector<NodePtr>& terms, const std::vector<int>& offsets, std::size_t low,
                   std::size_t high);
  NodePtr binary(int precedence);
  NodePtr unary();
  NodePtr member(NodePtr operand);
  NodePtr member_access(NodePtr operand, int offset);
  NodePtr index_access(NodePtr operand, int offset);
  NodePtr primary();
  NodePtr literal();
  NodePtr name();
  NodePtr list();
  NodePtr map();
  NodePtr message(NodePtr name);
  std::vector<NodePtr> arguments();
  NodePtr call(NodePtr receiver, const Token& function);

  std::vector<Token> tokens_;
  const Environment& environment_;
  NodeMaker maker_;
  std::size_t at_ = 0;
  int depth_ = 0;
  bool stopped_ = false;
  std::vector<Problem> problems_;
};

bool starts_operand(const Token& token) {
  if (token.kind != TokenKind::symbol) return token.kind == TokenKind::identifier || token.kind == TokenKind::literal;
  return std::string_view("[{(.-!").find(token.text[0]) != std::string_view::npos && token.text.size() == 1;
}

// In ANTLR's words, which clients of Kubernetes know.
void Parser::unexpected(std::string_view wanted) {
  const bool at_end = token().kind == TokenKind::end;
  if (environment_.library() == Library::templates) {
    std::string plain = at_end ? "unexpected end of the expression" : "unexpected '" + std::string(token().raw) + "'";
    if (wanted.size() == 3) plain += ", expected " + std::string(wanted);
    stop(token().offset, std::move(plain));
    return;
  }
  const std::string shown = at_end ? "<EOF>" : std::string(token().raw);
  if (at_end && wanted.size() == 3 && wanted != "':'") {
    stop(token().offset, "Syntax error: missing " + std::string(wanted) + " at '<EOF>'");
    return;
  }
  // One token too many, when what comes behind it could stand here.
  const Token& next = tokens_[std::min(at_ + 1, tokens_.size() - 1)];
  const bool operand = wanted == kOperand || wanted == kIndexOperand;
  const bool extraneous =
      !at_end && (wanted == "<EOF>" ? next.kind == TokenKind::end : operand && starts_operand(next));
  stop(token().offset, std::string("Syntax error: ") + (extraneous ? "extraneous" : "mismatched") + " input '" + shown +
                           "' expecting " + std::string(wanted));
}

NodePtr Parser::expression() {
  if (++depth_ > kSyntaxDepthMax) stop(token().offset, std::string(kTooDeep));
  NodePtr node = stopped_ ? make(Op::literal, 0) : logical(true);
  if (const int offset = token().offset; accept("?")) {
    NodePtr yes = logical(true);
    expect(":");
    NodePtr no = expression();
    node = maker_.conditional(offset, std::move(node), std::move(yes), std::move(no));
  }
  --depth_;
  return node;
}

// a || b || c is one balanced tree, as cel-go has it: long chains stay flat.
NodePtr Parser::logical(bool any) {
  std::vector<NodePtr> terms;
  std::vector<int> offsets;
  do {
    terms.push_back(any ? logical(false) : binary(1));
    if (!stopped_ && token().is(any ? "||" : "&&")) offsets.push_back(token().offset);
  } while (accept(any ? "||" : "&&"));
  if (terms.size() == 1 || stopped_) return std::move(terms[0]);
  return balanced(any ? Op::logical_or : Op::logical_and, terms, offsets, 0, offsets.size() - 1);
}

NodePtr Parser::balanced(Op op, std::vector<NodePtr>& terms, const std::vector<int>& offsets, std::size_t low,
                         std::size_t high) {
  const std::size_t middle = (low + high + 1) / 2;
  NodePtr left = middle == low ? std::move(terms[middle]) : balanced(op, terms, offsets, low, middle - 1);
  NodePtr right = middle == high ? std::move(terms[middle + 1]) : balanced(op, terms, offsets, middle + 1, high);
  NodePtr node = make(op, offsets[middle]);
  maker_.adopt(*node, std::move(left));
  maker_.adopt(*node, std::move(right));
  return node;
}

NodePtr Parser::binary(int precedence) {
  NodePtr left = unary();
  while (!stopped_) {
    const auto* found = std::find_if(std::begin(kBinaryOperators), std::end(kBinaryOperators),
                                     [&](const BinaryOperator& o) { return token().is(o.symbol); });
    if (found == std::end(kBinaryOperators) || found->precedence < precedence) break;
    const int offset = token().offset;
    ++at_;
    NodePtr right = binary(found->precedence + 1);
    NodePtr node = make(Op::call, offset);
    node->name = found->function;
    maker_.adopt(*node, std::move(left));
    maker_.adopt(*node, std::move(right));
    left = std::move(node);
  }
  return left;
}

// Signs come in rows of one kind; two of them are none.
NodePtr Parser::unary() {
  const int offset = token().offset;
  for (const auto& [symbol, function] : {std::pair{"!", "!_"}, std::pair{"-", "-_"}}) {
    std::size_t count = 0;
    while (token().is(symbol)) {
      const Token& next = tokens_[at_ + 1];
      const bool number = function[0] == '-' && next.kind == TokenKind::literal &&
                          (next.literal.is(Kind::integer) || next.literal.is(Kind::floating));
      if (number) break;
      ++at_;
      ++count;
    }
    if (count == 0) continue;
    NodePtr operand = member(primary());
    if (count % 2 == 0) return operand;
    NodePtr node = make(Op::call, offset);
    node->name = function;
    maker_.adopt(*node, std::move(operand));
    return node;
  }
  return member(primary());
}

NodePtr Parser::member(NodePtr operand) {
  while (!stopped_) {
    const int offset = token().offset;
    if (accept("."))
      operand = member_access(std::move(operand), offset);
    else if (accept("["))
      operand = index_access(std::move(operand), offset);
    else
      break;
  }
  return operand;
}

NodePtr Parser::member_access(NodePtr operand, int offset) {
  const bool optional = accept("?");
  const Token& field = token();
  if (field.kind != TokenKind::identifier && field.kind != TokenKind::quoted_identifier) {
    if (environment_.library() == Library::templates)
      unexpected("");
    else if (field.kind == TokenKind::end)
      stop(field.offset, "Syntax error: no viable alternative at input '.'");
    else
      stop(field.offset, "Syntax error: mismatched input '" + std::string(field.raw) + "' expecting IDENTIFIER");
    return operand;
  }
  ++at_;
  if (field.kind == TokenKind::quoted_identifier && environment_.library() == Library::kubernetes)
    fail(field.offset - 1, "unsupported syntax: '`'");
  if (!optional && field.kind == TokenKind::identifier && token().is("(")) return call(std::move(operand), field);
  NodePtr node = make(Op::select, offset);
  node->name = field.text;
  node->name_offset = field.offset;
  node->optional = optional;
  maker_.adopt(*node, std::move(operand));
  return node;
}

NodePtr Parser::index_access(NodePtr operand, int offset) {
  NodePtr node = make(Op::index, offset);
  node->optional = accept("?");
  maker_.adopt(*node, std::move(operand));
  maker_.adopt(*node, expression());
  expect("]");
  return node;
}

NodePtr Parser::primary() {
  const Token& first = token();
  if (stopped_) return make(Op::literal, first.offset);
  const bool number = first.is("-") && tokens_[at_ + 1].kind == TokenKind::literal &&
                      (tokens_[at_ + 1].literal.is(Kind::integer) || tokens_[at_ + 1].literal.is(Kind::floating));
  if (first.kind == TokenKind::literal || number) return literal();
  if (first.kind == TokenKind::identifier || first.is(".")) return name();
  if (accept("(")) {
    NodePtr node = expression();
    expect(")");
    return node;
  }
  if (accept("[")) return list();
  if (accept("{")) return map();
  const bool indexed = at_ > 0 && tokens_[at_ - 1].is("[");
  unexpected(indexed ? kIndexOperand : kOperand);
  return make(Op::literal, first.offset);
}

// A literal, or a minus and a number.
NodePtr Parser::literal() {
  const int offset = token().offset;
  const bool negative = accept("-");
  Value value = token().literal;
  ++at_;
  if (value.is(Kind::integer)) {
    if (value.as_int() == INT64_MIN && !negative) fail(offset, "invalid int literal");
    if (negative && value.as_int() != INT64_MIN) value = Value::integer(-value.as_int());
  } else if (negative && value.is(Kind::floating)) {
    value = Value::floating(-value.as_double());
  }
  NodePtr node = make(Op::literal, offset);
  node->literal = std::move(value);
  return node;
}

NodePtr Parser::name() {
  const int start = token().offset;
  const bool rooted = accept(".");  // names the root scope
  const Token& identifier = token();
  if (identifier.kind != TokenKind::identifier) {
    stop(identifier.offset, "Syntax error: no viable alternative at input '.'");
    return make(Op::literal, identifier.offset);
  }
  if (std::find(std::begin(kReservedIdentifiers), std::end(kReservedIdentifiers), identifier.text) !=
      std::end(kReservedIdentifiers))
    fail(start, "reserved identifier: " + std::string(identifier.text));
  ++at_;
  if (token().is("(")) return call(nullptr, identifier);
  NodePtr node = make(Op::identifier, identifier.offset);
  node->name = (rooted ? "." : "") + std::string(identifier.text);
  return message(std::move(node));
}

// `a.b.Name{field: value}`: whether there is such a message is the checker's to say.
NodePtr Parser::message(NodePtr name) {
  std::size_t ahead = at_;
  std::string text = name->name;
  while (tokens_[ahead].is(".") && tokens_[ahead + 1].kind == TokenKind::identifier) {
    text += "." + std::string(tokens_[ahead + 1].text);
    ahead += 2;
  }
  if (!tokens_[ahead].is("{")) return name;
  at_ = ahead + 1;
  NodePtr node = make(Op::message, tokens_[ahead].offset);
  node->name = text;
  while (!stopped_ && !accept("}")) {
    node->optional_items.push_back(accept("?"));
    if (token().kind != TokenKind::identifier && token().kind != TokenKind::quoted_identifier) {
      unexpected("{'}', ',', '?', IDENTIFIER, ESC_IDENTIFIER}");
      break;
    }
    node->fields.emplace_back(token().text);
    ++at_;
    expect(":");
    maker_.adopt(*node, expression());
    if (!token().is("}")) expect(",");
  }
  return node;
}

NodePtr Parser::list() {
  NodePtr node = make(Op::list, tokens_[at_ - 1].offset);
  while (!stopped_ && !accept("]")) {
    node->optional_items.push_back(accept("?"));
    maker_.adopt(*node, expression());
    if (!stopped_ && !token().is("]") && !accept(",")) unexpected("{']', ','}");
  }
  return node;
}

NodePtr Parser::map() {
  NodePtr node = make(Op::map, tokens_[at_ - 1].offset);
  while (!stopped_ && !accept("}")) {
    node->optional_items.push_back(accept("?"));
    maker_.adopt(*node, expression());
    node->entry_offsets.push_back(token().offset);
    expect(":");
    maker_.adopt(*node, expression());
    if (!stopped_ && !token().is("}") && !accept(",")) unexpected("{'}', ','}");
  }
  return node;
}

std::vector<NodePtr> Parser::arguments() {
  std::vector<NodePtr> nodes;
  expect("(");
  if (accept(")")) return nodes;
  if (token().kind == TokenKind::end) unexpected(kArgument);
  do {
    nodes.push_back(expression());
  } while (accept(","));
  if (!accept(")")) unexpected("{')', ','}");
  return nodes;
}

NodePtr Parser::call(NodePtr receiver, const Token& function) {
  const int offset = token().offset;  // of the bracket
  const std::string name(function.text);
  const int name_offset = function.offset;
  std::vector<NodePtr> given = arguments();
  if (stopped_) return make(Op::literal, offset);
  if (NodePtr expanded = expand_macro(environment_, maker_, name, offset, receiver, given, problems_)) {
    if (maker_.exceeded()) stop(offset, std::string(kTooDeep));
    return expanded;
  }
  NodePtr node = make(Op::call, offset);
  node->name = name;
  node->name_offset = name_offset;
  node->is_method = receiver != nullptr;
  if (receiver) maker_.adopt(*node, std::move(receiver));
  for (NodePtr& argument : given) maker_.adopt(*node, std::move(argument));
  return node;
}

}  // namespace

tl::expected<NodePtr, std::vector<Problem>> parse(std::string_view source, const Environment& environment) {
  const auto refuse = [](std::string message) { return tl::unexpected(std::vector<Problem>{{0, std::move(message)}}); };
  if (source.size() > kSourceMax)
    return refuse("expression code point size exceeds limit: size: " + std::to_string(source.size()) + ", limit " +
                  std::to_string(kSourceMax));
  if (!valid_utf8(source)) return refuse("the expression is not valid UTF-8");
  Tokens read = tokenize(source);
  // Somebody who writes a template needs one place to look at.
  if (environment.library() == Library::templates && !read.problems.empty()) return tl::unexpected(read.problems);
  auto root = Parser(std::move(read.tokens), environment).run();
  if (read.problems.empty()) return root;
  if (!root) read.problems.insert(read.problems.end(), root.error().begin(), root.error().end());
  return tl::unexpected(std::move(read.problems));
}

std::string_view function_of(const Node& node) {
  switch (node.op) {
    case Op::index:
      return node.optional ? "_[?_]" : "_[_]";
    case Op::select:
      return "_?._";
    case Op::conditional:
      return "_?_:_";
    case Op::logical_and:
      return "_&&_";
    case Op::logical_or:
      return "_||_";
    default:
      return node.name;
  }
}

}  // namespace sublet::patches::cel
