#include "patches/template/path.h"

#include <algorithm>
#include <charconv>

#include "sublet/base/nearest.h"

namespace sublet::patches {

using schema::Value;

namespace {

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '$';
}

// One spelling of a path and, for each of its bytes, where it stands in the scalar.
struct Spelling {
  std::string text;
  std::vector<std::size_t> origin;
};

// The end of a bracket that opens at `from`: its "]". Nested brackets and quotes inside are skipped.
std::size_t closing_bracket(std::string_view text, std::size_t from) {
  int depth = 0;
  for (std::size_t i = from + 1; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\'' || c == '"') {
      for (++i; i < text.size() && text[i] != c; ++i)
        if (text[i] == '\\') ++i;
    } else if (c == '[') {
      ++depth;
    } else if (c == ']' && depth-- == 0) {
      return i;
    }
  }
  return std::string_view::npos;
}

// Resolves {a,b} outside of brackets. At most this many spellings.
constexpr std::size_t kSpellingsMax = 64;

std::optional<std::size_t> find_alternatives(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '{') return i;
    if (text[i] != '[') continue;
    i = closing_bracket(text, i);
    if (i == std::string_view::npos) break;
  }
  return std::nullopt;
}

bool spell(Spelling spelling, std::vector<Spelling>& out) {
  const auto open = find_alternatives(spelling.text);
  if (!open) {
    out.push_back(std::move(spelling));
    return out.size() <= kSpellingsMax;
  }
  const std::size_t close = spelling.text.find('}', *open);
  if (close == std::string::npos) return false;
  for (std::size_t at = *open + 1; at <= close;) {
    std::size_t end = spelling.text.find_first_of(",}", at);
    Spelling one;
    const auto take = [&](std::size_t from, std::size_t to) {
      one.text.append(spelling.text, from, to - from);
      one.origin.insert(one.origin.end(), spelling.origin.begin() + static_cast<std::ptrdiff_t>(from),
                        spelling.origin.begin() + static_cast<std::ptrdiff_t>(to));
    };
    take(0, *open);
    take(at, end);
    take(close + 1, spelling.text.size());
    if (!spell(std::move(one), out)) return false;
    at = end + 1;
  }
  return true;
}

std::string_view form_text(Shape::Form form) {
  static constexpr std::string_view kTexts[] = {"anything", "an object", "a map", "a list", "a scalar"};
  return kTexts[static_cast<std::size_t>(form)];
}

}  // namespace

// --- parsing ---------------------------------------------------------------------------------------------------------

class Path::Parser {
 public:
  Parser(const Spelling& spelling, const YamlNode& scalar, const cel::Environment& environment, const std::string& key,
         Problems& problems)
      : text_(spelling.text),
        origin_(spelling.origin),
        scalar_(scalar),
        environment_(environment),
        key_(key),
        problems_(problems) {}

  std::optional<Path> run() {
    Path path;
    path.text_ = text_;
    const std::size_t before = problems_.size();
    while (at_ < text_.size() && problems_.size() == before) path.segments_.push_back(segment(path.segments_.empty()));
    if (path.segments_.empty() && problems_.size() == before) fail(0, "the path is empty");
    if (problems_.size() != before) return std::nullopt;
    return path;
  }

 private:
  std::size_t origin(std::size_t at) const { return at < origin_.size() ? origin_[at] : scalar_.text.size(); }
  void fail(std::size_t at, std::string message) {
    problems_.add_inside(scalar_, origin(at), key_, std::move(message));
  }

  Segment segment(bool first) {
    if (text_[at_] == '.' && !first) ++at_;
    if (at_ < text_.size() && text_[at_] == '[') return bracket();
    const std::size_t start = at_;
    while (at_ < text_.size() && is_name_char(text_[at_])) ++at_;
    Segment out;
    out.offset = origin(start);
    if (at_ == start) {
      fail(start, at_ < text_.size() ? std::string("unexpected '") + text_[at_] +
                                           "' in the path; a key with such characters stands in brackets: [a.b/c]"
                                     : "the path ends with a dot");
      at_ = text_.size();
      return out;
    }
    out.name =
        ValueForm::parse_text(text_.substr(start, at_ - start), scalar_, out.offset, environment_, key_, problems_);
    return out;
  }

  Segment bracket() {
    const std::size_t start = at_ + 1;
    const std::size_t end = closing_bracket(text_, at_);
    Segment out;
    out.offset = origin(start);
    if (end == std::string_view::npos) {
      fail(at_, "the bracket is not closed");
      at_ = text_.size();
      return out;
    }
    at_ = end + 1;
    fill(out, text_.substr(start, end - start), start);
    return out;
  }

  void fill(Segment& out, std::string_view inside, std::size_t start) {
    if (inside.empty()) return fail(start, "the bracket is empty");
    if (inside == "*") {
      out.type = Segment::Type::each;
    } else if (inside.front() == '?') {
      out.type = Segment::Type::filter;
      auto program = compile_expression(inside.substr(1), scalar_, out.offset + 1, environment_, key_, problems_);
      if (!program) return;
      if (!cel_bool(program->type())) return fail(start, "the condition in brackets must be a bool");
      out.filter.push_back(std::move(*program));
    } else if (inside.front() == '\'' || inside.front() == '"') {
      quoted(out, inside, start);
    } else if (inside.find_first_not_of("0123456789") == std::string_view::npos) {
      out.type = Segment::Type::index;
      if (std::from_chars(inside.data(), inside.data() + inside.size(), out.index).ec != std::errc())
        fail(start, "the index is too large");
    } else if (const auto equals = inside.find('='); equals != std::string_view::npos && !inside.starts_with("${")) {
      match(out, inside, start, equals);
    } else {
      out.name = ValueForm::parse_text(inside, scalar_, out.offset, environment_, key_, problems_);
    }
  }

  static bool cel_bool(cel::Kind kind) { return kind == cel::Kind::boolean || kind == cel::Kind::dyn; }

  void quoted(Segment& out, std::string_view inside, std::size_t start) {
    if (inside.size() < 2 || inside.back() != inside.front()) return fail(start, "the quotes are not closed");
    out.name = ValueForm::parse_text(inside.substr(1, inside.size() - 2), scalar_, out.offset + 1, environment_, key_,
                                     problems_);
  }

  void match(Segment& out, std::string_view inside, std::size_t start, std::size_t equals) {
    out.type = Segment::Type::match;
    out.field = inside.substr(0, equals);
    std::string_view value = inside.substr(equals + 1);
    std::size_t shift = equals + 1;
    if (value.size() >= 2 && (value.front() == '\'' || value.front() == '"') && value.back() == value.front()) {
      value = value.substr(1, value.size() - 2);
      ++shift;
    }
    if (out.field.empty() || !std::all_of(out.field.begin(), out.field.end(), is_name_char))
      return fail(start, "a selector is [member=value]; a key with '=' stands in quotes");
    out.name = ValueForm::parse_text(value, scalar_, out.offset + shift, environment_, key_, problems_);
  }

  std::string_view text_;
  const std::vector<std::size_t>& origin_;
  const YamlNode& scalar_;
  const cel::Environment& environment_;
  const std::string& key_;
  Problems& problems_;
  std::size_t at_ = 0;
};

Shape Path::shape(std::string_view kind) const {
  Shape shape = Shape::of_kind(kind);
  for (const Segment& segment : segments_) {
    const bool member = segment.type == Segment::Type::member;
    const auto next =
        member ? (segment.name.fixed() ? shape.member(segment.name.fixed_value().as_text()) : shape.element())
               : shape.element();
    if (!next) return {};
    shape = *next;
  }
  return shape;
}

std::vector<Path> Path::parse(const YamlNode& scalar, const std::vector<std::string>& kinds,
                              const cel::Environment& environment, const std::string& key, Problems& problems) {
  std::vector<Path> paths;
  if (!scalar.is_string()) {
    problems.add(scalar.mark, key,
                 "a path is a string such as spec.runtimeClassName, not " + std::string(scalar.kind_text()));
    return paths;
  }
  Spelling whole{scalar.text, {}};
  for (std::size_t i = 0; i < scalar.text.size(); ++i) whole.origin.push_back(i);
  std::vector<Spelling> spellings;
  if (!spell(std::move(whole), spellings)) {
    problems.add(scalar.mark, key,
                 "alternatives are {a,b}, and at most " + std::to_string(kSpellingsMax) + " paths in all");
    return paths;
  }
  for (const Spelling& spelling : spellings) {
    auto path = Parser(spelling, scalar, environment, key, problems).run();
    if (!path) return {};
    for (const std::string& kind : kinds) {
      Shape shape = Shape::of_kind(kind);
      std::string where;
      for (const Segment& segment : path->segments_) {
        const bool member = segment.type == Segment::Type::member;
        const std::string name =
            member && segment.name.fixed() ? std::string(segment.name.fixed_value().as_text()) : "";
        const auto next = member && segment.name.fixed() ? shape.member(name) : shape.element();
        if (!next) {
          const std::string at = where.empty() ? kind : where;
          std::string message;
          if (member && shape.form() == Shape::Form::record)
            message = kind + " has no field \"" + (where.empty() ? name : where + '.' + name) + "\"" +
                      suggestion(name, shape.field_names());
          else if (member && shape.form() == Shape::Form::list)
            message = at + " is a list: select items with [*], [name=...] or [?...] first";
          else
            message = at + " is " + std::string(form_text(shape.form())) + ": nothing can be selected from it";
          problems.add_inside(scalar, segment.offset, key, std::move(message));
          return {};
        }
        if (const std::string problem = member ? shape.key_problem(name) : "";
            !problem.empty() && segment.name.fixed()) {
          problems.add_inside(scalar, segment.offset, key, problem);
          return {};
        }
        shape = *next;
        where += member ? (where.empty() ? "" : ".") + name : "[]";
      }
    }
    paths.push_back(std::move(*path));
  }
  return paths;
}

std::vector<std::string_view> Path::members() const {
  std::vector<std::string_view> names;
  for (const Segment& segment : segments_) names.push_back(segment.name.fixed_value().as_text());
  return names;
}

bool Path::plain() const {
  return std::all_of(segments_.begin(), segments_.end(), [](const Segment& segment) {
    return segment.type == Segment::Type::member && segment.name.fixed();
  });
}

Value Path::read(const Value& object) const {
  Value at = object;
  for (const Segment& segment : segments_) at = at[segment.name.fixed_value().as_text()];
  return at;
}

// --- finding ---------------------------------------------------------------------------------------------------------

class Path::Finder {
 public:
  Finder(const Path& path, bool create, ObjectScope& scope) : path_(path), create_(create), scope_(scope) {}

  Result<std::vector<Target>> run(Value object, Shape shape) {
    Target root;
    root.current = object;
    root.shape = shape;
    if (auto done = descend(root, 0); !done) return fail(done.error());
    return std::move(targets_);
  }

 private:
  Outcome descend(const Target& at, std::size_t depth) {
    if (depth == path_.segments_.size()) {
      targets_.push_back(at);
      return {};
    }
    const Segment& segment = path_.segments_[depth];
    return segment.type == Segment::Type::member ? member(at, segment, depth) : elements(at, segment, depth);
  }

  tl::unexpected<Status> misfit(const Target& at, std::string_view wanted) const {
    return bad_request(path_.text() + ": " + (at.key.empty() ? "the object" : at.key) + " is not " +
                       std::string(wanted));
  }

  Outcome member(const Target& at, const Segment& segment, std::size_t depth) {
    scope_.focus(at.focus);
    const cel::Value name = segment.name.evaluate_text(scope_);
    if (name.is_error()) return bad_request(path_.text() + ": " + name.failure().message);
    Value container = at.current;
    if (container.missing() || container.is_null()) {
      if (!create_) return {};
      container = make_map(at);
    }
    if (!container.is_object()) return misfit(at, "a map");
    Target next;
    next.grandparent = at.parent;
    next.parent = container;
    next.key = name.as_text();
    next.current = container[next.key];
    if (create_ && next.current.missing())
      if (const std::string problem = at.shape.key_problem(next.key); !problem.empty())
        return bad_request(path_.text() + ": " + problem);
    next.focus = at.focus;
    next.shape = at.shape.member(next.key).value_or(Shape());
    return descend(next, depth + 1);
  }

  static Value make_map(const Target& at) {
    Value made = at.current;
    if (made.missing()) made = Value(at.parent).put(at.key, false);
    made.make_object();
    return made;
  }

  Outcome elements(const Target& at, const Segment& segment, std::size_t depth) {
    const Value container = at.current;
    if (container.missing() || container.is_null()) return {};
    if (!container.is_array() && !container.is_object()) return misfit(at, "a list");
    std::int64_t position = 0;
    for (Value element : container) {
      Target next;
      next.grandparent = at.parent;
      next.parent = container;
      next.key = element.key();
      next.current = element;
      next.shape = at.shape.element().value_or(Shape());
      next.focus.item = cel::Value::of(element);
      next.focus.key = container.is_array() ? cel::Value::integer(position) : cel::Value::borrowed(element.key());
      auto selected = selects(segment, next, static_cast<std::size_t>(position));
      ++position;
      if (!selected) return fail(selected.error());
      if (!*selected) continue;
      if (auto done = descend(next, depth + 1); !done) return done;
    }
    return {};
  }

  Result<bool> selects(const Segment& segment, const Target& target, std::size_t position) {
    switch (segment.type) {
      case Segment::Type::each:
        return true;
      case Segment::Type::index:
        return segment.index == position;
      case Segment::Type::match: {
        const cel::Value wanted = segment.name.evaluate_text(scope_);
        if (wanted.is_error()) return bad_request(path_.text() + ": " + wanted.failure().message);
        const auto text = scalar_text(cel::Value::of(target.current[segment.field]));
        return text && *text == wanted.as_text();
      }
      default:
        break;
    }
    scope_.focus(target.focus);
    const cel::Value holds = segment.filter[0].evaluate(scope_);
    if (holds.is_error()) return bad_request(path_.text() + ": " + holds.failure().message);
    if (!holds.is(cel::Kind::boolean)) return bad_request(path_.text() + ": the condition in brackets is not a bool");
    return holds.as_bool();
  }

  const Path& path_;
  bool create_;
  ObjectScope& scope_;
  std::vector<Target> targets_;
};

Result<std::vector<Target>> Path::find(Value object, bool create, ObjectScope& scope, std::string_view kind) const {
  return Finder(*this, create, scope).run(object, Shape::of_kind(kind));
}

}  // namespace sublet::patches
