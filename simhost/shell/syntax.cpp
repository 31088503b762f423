#include "simhost/shell/syntax.h"

#include <cctype>

namespace sublet::simhost::shell {
namespace {

constexpr int kDepth = 64;  // of what is nested

bool is_name_start(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool is_name(char c) { return is_name_start(c) || std::isdigit(static_cast<unsigned char>(c)); }
bool is_operator(char c) { return std::string_view(";&|<>()\n").find(c) != std::string_view::npos; }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/// The text of a word that is one unquoted literal: the only form in which reserved words count.
std::string_view literal(const Word& word) {
  const bool plain = word.parts.size() == 1 && word.parts[0].kind == Part::Kind::text && !word.parts[0].quoted;
  return plain ? std::string_view(word.parts[0].text) : std::string_view();
}

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  for (const std::string_view known : words)
    if (word == known) return true;
  return false;
}

/// Recursive descent over the text. The first mistake is kept, and everything unwinds.
class Parser {
 public:
  Parser(std::string_view text, int depth) : text_(text), depth_(depth) {}

  Result<Script> all() {
    Script out = list({});
    if (good() && at_ < text_.size()) mistake("unexpected '" + std::string(1, text_[at_]) + "'");
    if (!good()) return bad_request(std::move(error_));
    return out;
  }

 private:
  bool good() const { return error_.empty(); }
  void mistake(const std::string& what) {
    if (!good()) return;
    int line = 1;
    for (const char c : text_.substr(0, at_)) line += c == '\n';
    error_ = "line " + std::to_string(line) + ": " + what;
  }
  bool ended() const { return at_ >= text_.size(); }
  bool starts(std::string_view what) const { return text_.substr(at_).starts_with(what); }
  bool take(std::string_view what) {
    if (!starts(what)) return false;
    at_ += what.size();
    return true;
  }
  void skip_blanks() {
    while (!ended()) {
      if (is_blank(text_[at_])) {
        ++at_;
      } else if (starts("\\\n")) {
        at_ += 2;
      } else if (text_[at_] == '#') {
        while (!ended() && text_[at_] != '\n') ++at_;
      } else {
        return;
      }
    }
  }
  void skip_lines() {
    for (skip_blanks(); !ended() && (text_[at_] == '\n' || (text_[at_] == ';' && !starts(";;"))); skip_blanks()) ++at_;
  }
  /// The reserved word that comes next, without taking it.
  std::string_view peek_word() const {
    std::size_t end = at_;
    while (end < text_.size() && !is_blank(text_[end]) && !is_operator(text_[end])) ++end;
    return text_.substr(at_, end - at_);
  }
  bool take_word(std::string_view word) {
    skip_lines();
    if (peek_word() != word) return false;
    at_ += word.size();
    return true;
  }
  void expect_word(std::string_view word) {
    if (!take_word(word)) mistake("'" + std::string(word) + "' is missing");
  }

  // --- scripts ---

  Script list(std::initializer_list<std::string_view> ends) {
    Script out;
    auto after = Step::After::always;
    while (good()) {
      skip_lines();
      if (ended() || starts(")") || starts(";;") || is_one_of(peek_word(), ends)) break;
      Step step{after, false, pipeline()};
      after = Step::After::always;
      skip_blanks();
      if (take("&&")) {
        after = Step::After::success;
      } else if (take("||")) {
        after = Step::After::failure;
      } else if (!starts(";;") && take("&")) {
        step.background = true;
      } else if (!ended() && !starts(";") && !starts("\n") && !starts(")")) {
        mistake("unexpected '" + std::string(peek_word()) + "'");
      }
      out.steps.push_back(std::move(step));
    }
    return out;
  }
  std::shared_ptr<Script> body(std::initializer_list<std::string_view> ends) {
    return std::make_shared<Script>(list(ends));
  }

  Pipeline pipeline() {
    Pipeline out;
    if (peek_word() == "!") {
      ++at_;
      out.negated = true;
    }
    do {
      skip_lines();
      out.commands.push_back(command());
      skip_blanks();
    } while (good() && !starts("||") && take("|"));
    return out;
  }

  Command command() {
    Command out;
    if (++depth_ > kDepth) mistake("nested too deeply");
    skip_blanks();
    const std::string_view word = peek_word();
    if (!good()) {
    } else if (take("(")) {
      out.kind = Command::Kind::subshell;
      out.branches.push_back({.body = body({})});
      skip_lines();
      if (!take(")")) mistake("')' is missing");
    } else if (word == "{") {
      ++at_;
      out.kind = Command::Kind::group;
      out.branches.push_back({.body = body({"}"})});
      expect_word("}");
    } else if (take_reserved(word, "if")) {
      condition(out);
    } else if (take_reserved(word, "while") || take_reserved(word, "until")) {
      loop(out, word == "until");
    } else if (take_reserved(word, "for")) {
      for_each(out);
    } else if (take_reserved(word, "case")) {
      choice(out);
    } else {
      simple(out);
    }
    --depth_;
    while (good() && out.kind != Command::Kind::simple && redirection(out)) {
    }
    return out;
  }
  bool take_reserved(std::string_view word, std::string_view reserved) {
    if (word != reserved) return false;
    at_ += reserved.size();
    return true;
  }

  void condition(Command& out) {
    out.kind = Command::Kind::condition;
    do {
      Command::Branch branch;
      branch.condition = body({"then"});
      expect_word("then");
      branch.body = body({"elif", "else", "fi"});
      out.branches.push_back(std::move(branch));
    } while (good() && take_word("elif"));
    if (take_word("else")) out.branches.push_back({.body = body({"fi"})});
    expect_word("fi");
  }
  void loop(Command& out, bool until) {
    out.kind = Command::Kind::loop;
    out.until = until;
    Command::Branch branch;
    branch.condition = body({"do"});
    expect_word("do");
    branch.body = body({"done"});
    expect_word("done");
    out.branches.push_back(std::move(branch));
  }
  void for_each(Command& out) {
    out.kind = Command::Kind::for_each;
    skip_blanks();
    while (!ended() && is_name(text_[at_])) out.name += text_[at_++];
    if (take_word("in")) {
      for (skip_blanks(); good() && !ended() && !is_operator(text_[at_]); skip_blanks()) out.words.push_back(word());
    } else {
      Part all{.kind = Part::Kind::variable, .quoted = true, .text = "@"};
      out.words.push_back({{std::move(all)}});
    }
    expect_word("do");
    out.branches.push_back({.body = body({"done"})});
    expect_word("done");
  }
  void choice(Command& out) {
    out.kind = Command::Kind::choice;
    skip_blanks();
    out.words.push_back(word());
    expect_word("in");
    while (good() && !take_word("esac")) {
      Command::Branch branch;
      take("(");
      do {
        skip_blanks();
        branch.patterns.push_back(word());
        skip_blanks();
      } while (good() && take("|"));
      if (!take(")")) mistake("')' is missing after a pattern of case");
      branch.body = body({"esac"});
      skip_lines();
      take(";;");
      if (ended()) mistake("'esac' is missing");
      out.branches.push_back(std::move(branch));
    }
  }

  void simple(Command& out) {
    for (skip_blanks(); good() && !ended(); skip_blanks()) {
      if (redirection(out)) continue;
      if (!good() || ended()) break;
      if (is_operator(text_[at_])) break;
      if (out.words.empty() && assignment(out)) continue;
      out.words.push_back(word());
      if (out.words.size() == 1 && literal(out.words[0]) == "[[") return test_words(out);
      if (out.words.size() == 1 && function(out)) return;
    }
    if (good() && out.words.empty() && out.assignments.empty() && out.redirections.empty())
      mistake(ended() ? "a command is missing" : "unexpected '" + std::string(1, text_[at_]) + "'");
  }
  bool function(Command& out) {
    const std::string_view name = literal(out.words[0]);
    if (name.empty() || !is_name_start(name[0])) return false;
    const std::size_t back = at_;
    skip_blanks();
    if (!take("(")) return at_ = back, false;
    skip_blanks();
    if (!take(")")) mistake("')' is missing after the name of a function");
    out.kind = Command::Kind::function;
    out.name = std::string(name);
    out.words.clear();
    skip_lines();
    auto script = std::make_shared<Script>();
    script->steps.push_back({Step::After::always, false, {false, {command()}}});
    out.branches.push_back({.body = std::move(script)});
    return true;
  }
  bool assignment(Command& out) {
    std::size_t end = at_;
    while (end < text_.size() && is_name(text_[end])) ++end;
    if (end == at_ || !is_name_start(text_[at_]) || end >= text_.size() || text_[end] != '=') return false;
    Assignment assigned{std::string(text_.substr(at_, end - at_)), {}};
    at_ = end + 1;
    if (!ended() && text_[at_] == '(') mistake("arrays are not understood");
    if (!ended() && !is_blank(text_[at_]) && !is_operator(text_[at_])) assigned.value = word();
    out.assignments.push_back(std::move(assigned));
    return true;
  }
  /// Between [[ and ]] operators are words.
  void test_words(Command& out) {
    for (;;) {
      while (!ended() && (is_blank(text_[at_]) || text_[at_] == '\n')) ++at_;
      if (!good() || ended()) return mistake("']]' is missing");
      bool taken = false;
      for (const std::string_view operation : {"&&", "||", "<", ">", "(", ")"}) {
        if (taken || !take(operation)) continue;
        out.words.push_back({{Part{.text = std::string(operation)}}});
        taken = true;
      }
      if (taken) continue;
      if (is_operator(text_[at_])) return mistake("']]' is missing");
      out.words.push_back(word());
      if (literal(out.words.back()) == "]]") return;
    }
  }

  bool redirection(Command& out) {
    skip_blanks();
    std::size_t end = at_;
    int descriptor = -1;
    if (end < text_.size() && text_[end] >= '0' && text_[end] <= '2') descriptor = text_[end++] - '0';
    if (descriptor < 0 && starts("&>")) descriptor = 3, ++end;
    if (end >= text_.size() || (text_[end] != '<' && text_[end] != '>')) return false;
    const bool reads = text_[end] == '<';
    at_ = end + 1;
    if (starts("<")) return mistake("here-documents are not understood"), false;
    if (starts("(")) return mistake("process substitution is not understood"), false;
    Redirection to{reads ? Redirection::Kind::read : Redirection::Kind::write, descriptor, {}};
    if (descriptor < 0) to.descriptor = reads ? 0 : 1;
    if (take(">")) to.kind = Redirection::Kind::append;
    if (take("&")) to.kind = Redirection::Kind::duplicate;
    skip_blanks();
    if (ended() || is_operator(text_[at_])) return mistake("the target of a redirection is missing"), false;
    to.target = word();
    out.redirections.push_back(std::move(to));
    return good();
  }

  // --- words ---

  Word word() {
    Word out;
    while (good() && !ended() && !is_blank(text_[at_]) && !is_operator(text_[at_])) part(out, false);
    return out;
  }
  static void add_text(Word& out, std::string_view text, bool quoted) {
    if (out.parts.empty() || out.parts.back().kind != Part::Kind::text || out.parts.back().quoted != quoted)
      out.parts.push_back({.quoted = quoted});
    out.parts.back().text += text;
  }
  void part(Word& out, bool quoted) {
    const char c = text_[at_];
    if (c == '$') {
      dollar(out, quoted);
    } else if (c == '`') {
      backquoted(out, quoted);
    } else if (c == '\\') {
      escaped(out, quoted);
    } else if (c == '\'' && !quoted) {
      const std::size_t end = text_.find('\'', ++at_);
      if (end == std::string_view::npos) return mistake("a quote is not closed");
      add_text(out, text_.substr(at_, end - at_), true);
      at_ = end + 1;
    } else if (c == '"' && !quoted) {
      ++at_;
      add_text(out, "", true);
      while (good() && !ended() && text_[at_] != '"') part(out, true);
      if (!take("\"")) mistake("a quote is not closed");
    } else {
      add_text(out, text_.substr(at_++, 1), quoted);
    }
  }
  void escaped(Word& out, bool quoted) {
    if (++at_ >= text_.size()) return add_text(out, "\\", true);
    const char c = text_[at_++];
    if (c == '\n') return;
    // Between double quotes a backslash is one but before these.
    if (quoted && std::string_view("$`\"\\").find(c) == std::string_view::npos) add_text(out, "\\", true);
    add_text(out, std::string(1, c), true);
  }
  void dollar(Word& out, bool quoted) {
    if (starts("$((")) return arithmetic(out, quoted);
    if (starts("$(")) {
      const std::size_t first = at_ + 2;
      const std::size_t end = closing(first, '(', ')');
      if (end == std::string_view::npos) return mistake("'$(' is not closed");
      at_ = end + 1;
      return substitution(out, text_.substr(first, end - first), quoted);
    }
    if (starts("${")) return braced(out, quoted);
    ++at_;
    std::string name;
    if (!ended() && (std::string_view("?#@*$!-").find(text_[at_]) != std::string_view::npos ||
                     std::isdigit(static_cast<unsigned char>(text_[at_])))) {
      name = text_[at_++];
    } else {
      while (!ended() && is_name(text_[at_])) name += text_[at_++];
    }
    if (name.empty()) return add_text(out, "$", quoted);
    out.parts.push_back({.kind = Part::Kind::variable, .quoted = quoted, .text = std::move(name)});
  }
  void braced(Word& out, bool quoted) {
    const std::size_t first = at_ + 2;
    const std::size_t end = closing(first, '{', '}');
    if (end == std::string_view::npos) return mistake("'${' is not closed");
    std::string_view inside = text_.substr(first, end - first);
    Part made{.kind = Part::Kind::variable, .quoted = quoted};
    if (inside.starts_with('#') && inside.size() > 1) {
      made.operation = "#";
      inside.remove_prefix(1);
    }
    std::size_t name = 0;
    while (name < inside.size() && is_name(inside[name])) ++name;
    if (name == 0 && !inside.empty()) name = 1;  // $@ and its like
    made.text = std::string(inside.substr(0, name));
    inside.remove_prefix(name);
    if (!inside.empty()) {
      for (const std::string_view operation : {":-", ":+", "-", "+"})
        if (made.operation.empty() && inside.starts_with(operation)) made.operation = std::string(operation);
      if (made.operation.empty() || made.operation == "#")
        return mistake("'${" + made.text + std::string(inside) + "}' is not understood");
      Parser inner(inside.substr(made.operation.size()), depth_ + 1);
      made.operand = std::make_shared<Word>();
      while (inner.good() && !inner.ended()) inner.part(*made.operand, quoted);
      if (!inner.good()) return mistake(inner.error_);
    }
    at_ = end + 1;
    out.parts.push_back(std::move(made));
  }
  void arithmetic(Word& out, bool quoted) {
    const std::size_t first = at_ + 3;
    const std::size_t end = closing(first, '(', ')');
    if (end == std::string_view::npos || text_.substr(end, 2) != "))") return mistake("'$((' is not closed");
    out.parts.push_back(
        {.kind = Part::Kind::arithmetic, .quoted = quoted, .text = std::string(text_.substr(first, end - first))});
    at_ = end + 2;
  }
  void backquoted(Word& out, bool quoted) {
    const std::size_t end = text_.find('`', at_ + 1);
    if (end == std::string_view::npos) return mistake("a backquote is not closed");
    const std::string_view inside = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    substitution(out, inside, quoted);
  }
  void substitution(Word& out, std::string_view inside, bool quoted) {
    if (depth_ >= kDepth) return mistake("nested too deeply");
    auto script = Parser(inside, depth_ + 1).all();
    if (!script) return mistake(script.error().message);
    out.parts.push_back(
        {.kind = Part::Kind::command, .quoted = quoted, .script = std::make_shared<Script>(std::move(*script))});
  }
  /// Where the bracket that was opened before `first` closes; quotes hide brackets.
  std::size_t closing(std::size_t first, char open, char close) const {
    int depth = 1;
    char quote = 0;
    for (std::size_t i = first; i < text_.size(); ++i) {
      const char c = text_[i];
      if (c == '\\') {
        ++i;
      } else if (quote != 0) {
        if (c == quote) quote = 0;
      } else if (c == '\'' || c == '"') {
        quote = c;
      } else if (c == open) {
        ++depth;
      } else if (c == close && --depth == 0) {
        return i;
      }
    }
    return std::string_view::npos;
  }

  const std::string_view text_;
  std::size_t at_ = 0;
  int depth_;
  std::string error_;
};

}  // namespace

Result<Script> parse(std::string_view script) { return Parser(script, 0).all(); }

bool is_incomplete(const Status& error) {
  return error.message.ends_with(" is missing") || error.message.ends_with(" is not closed");
}

}  // namespace sublet::simhost::shell
