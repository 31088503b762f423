// parse_yaml(): YAML text, which may be hostile, to an untyped document.
//
// yaml-cpp reads the syntax and calls back; what scalars mean, which keys are allowed and how merge keys work is
// decided here as kubectl's go-yaml v2 and sigs.k8s.io/yaml decide it. Aliases are expanded within a budget, because a
// page of YAML can name a billion nodes.
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <istream>
#include <streambuf>
#include <unordered_map>

#include "schema/object_shaper.h"
#include "sublet/schema/engine.h"
#include "sublet/schema/utf8.h"
#include "sublet/schema/yaml_lines.h"
#include "sublet/schema/yaml_scalar.h"

namespace sublet::schema {

using detail::Node;

namespace {

constexpr std::uint64_t kAliasBudget = 4u << 20;  // bytes of JSON that aliases may add, roughly
constexpr std::uint64_t kNodeCost = 16;
constexpr std::uint32_t kScannedMembersMax = 24;
constexpr std::string_view kTagPrefix = "tag:yaml.org,2002:";

struct YamlFailure {
  std::string message;
};

/// A view as stream, so that the text is not copied.
class ViewBuffer : public std::streambuf {
 public:
  explicit ViewBuffer(std::string_view text) {
    char* start = const_cast<char*>(text.data());  // a get area is never written
    setg(start, start, start + text.size());
  }
};

class YamlBuilder final : public YAML::EventHandler {
 public:
  YamlBuilder(Arena& arena, Node* root, ParseNotes* notes) : arena_(arena), root_(root), notes_(notes) {}

  bool empty() const { return !filled_; }
  const YAML::Mark& start_mark() const { return start_; }
  void note_lines(std::vector<std::string>* lines) { lines_ = lines; }

  void OnDocumentStart(const YAML::Mark& mark) override { start_ = mark; }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark&, YAML::anchor_t anchor) override { scalar("", anchor, true, {}); }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    line_ = mark.line + 1;
    // yaml-cpp 0.7 turns the escapes \N and \_ into single bytes instead of U+0085 and U+00A0.
    if (!is_utf8(text)) return scalar(repair_utf8(text, latin1), anchor, false, tag);
    scalar(text, anchor, tag == "?" || tag.empty(), tag);
  }

  void OnAlias(const YAML::Mark&, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) throw YamlFailure{"anchor value contains itself"};
    if (expects_key()) {
      if (found->second->kind == NodeKind::object || found->second->kind == NodeKind::array)
        throw YamlFailure{"invalid map key"};
      return take_key(key_text(found->second), false);
    }
    Node* node = arena_.new_node();
    copy(node, found->second, frames_.size());
    place(node);
  }

  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    start(NodeKind::array, anchor);
  }
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t anchor, YAML::EmitterStyle::value) override {
    start(NodeKind::object, anchor);
  }
  void OnSequenceEnd() override { end(); }
  void OnMapEnd() override { end(); }

 private:
  struct Frame {
    Node* node;
    YAML::anchor_t anchor;
    bool has_key = false;
    bool merge = false;  // the pending key is <<
    int line = 0;        // of the pending key
    std::string_view key;
    std::unordered_map<std::string_view, Node*> members;  // used only when there are many
  };

  static std::string latin1(unsigned char byte) {
    return {static_cast<char>(0xc0 | byte >> 6), static_cast<char>(0x80 | (byte & 0x3f))};
  }

  bool expects_key() const {
    return !frames_.empty() && frames_.back().node->kind == NodeKind::object && !frames_.back().has_key;
  }

  void scalar(const std::string& text, YAML::anchor_t anchor, bool plain, const std::string& tag) {
    Node value;
    const bool is_merge = plain && text == "<<" && expects_key();
    if (expects_key() && plain) {
      // A key is never a JSON number: it keeps the float form.
      const YamlScalar key = resolve_yaml_scalar(text);
      if (key.kind == YamlScalar::Kind::floating && !anchor)
        return take_key(arena_.store(format_go_float(key.floating, 32)), false);
    }
    fill(&value, text, plain, tag);
    if (expects_key()) {
      if (anchor) remember(anchor, clone_scalar(value));
      return is_merge ? take_key("<<", true) : take_key(key_text(&value), false);
    }
    Node* node = clone_scalar(value);
    if (anchor) remember(anchor, node);
    place(node);
  }

  Node* clone_scalar(const Node& value) {
    Node* node = arena_.new_node();
    *node = value;
    return node;
  }

  void fill(Node* node, const std::string& text, bool plain, const std::string& tag) {
    const std::string_view short_tag = std::string_view(tag).starts_with(kTagPrefix)
                                           ? std::string_view(tag).substr(kTagPrefix.size())
                                           : std::string_view();
    const bool typed = short_tag == "int" || short_tag == "float" || short_tag == "bool" || short_tag == "null";
    if (short_tag == "binary") {
      const auto bytes = base64_decode(text);
      if (!bytes) throw YamlFailure{"!!binary value contains invalid base64 data"};
      if (!is_utf8(*bytes)) throw YamlFailure{"!!binary value is not UTF-8"};
      return set_static_text(node, arena_.store(*bytes));
    }
    if (!plain && !typed) return set_static_text(node, arena_.store(text));
    const YamlScalar value = resolve_yaml_scalar(text);
    if (typed) check_tag(short_tag, value, text);
    switch (value.kind) {
      case YamlScalar::Kind::string:
        return set_static_text(node, arena_.store(text));
      case YamlScalar::Kind::null:
        return clear_node(node, NodeKind::null);
      case YamlScalar::Kind::boolean:
        clear_node(node, NodeKind::boolean);
        node->boolean = value.integer != 0;
        return;
      case YamlScalar::Kind::integer:
        clear_node(node, NodeKind::integer);
        node->integer = value.integer;
        return;
      case YamlScalar::Kind::floating:
        return fill_float(node, value.floating);
    }
  }

  static void check_tag(std::string_view tag, const YamlScalar& value, const std::string& text) {
    using Kind = YamlScalar::Kind;
    const bool fits = (tag == "int" && value.kind == Kind::integer) || (tag == "bool" && value.kind == Kind::boolean) ||
                      (tag == "null" && value.kind == Kind::null) ||
                      (tag == "float" && (value.kind == Kind::floating || value.kind == Kind::integer));
    if (!fits) throw YamlFailure{"cannot decode `" + text + "` as a !!" + std::string(tag)};
  }

  /// The float goes through JSON on its way to the server: what needs no point there arrives as an integer.
  static void fill_float(Node* node, double value) {
    if (!std::isfinite(value))
      throw YamlFailure{"unsupported value: " + std::string(std::isnan(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf")};
    std::string text;
    append_json_float(text, value);
    std::int64_t integer = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), integer);
    const bool whole = error == std::errc() && end == text.data() + text.size();
    clear_node(node, whole ? NodeKind::integer : NodeKind::floating);
    if (whole)
      node->integer = integer;
    else
      node->floating = value;
  }

  std::string_view key_text(const Node* key) {
    switch (key->kind) {
      case NodeKind::string:
        return text_of(key);
      case NodeKind::integer:
        return arena_.store(std::to_string(key->integer));
      case NodeKind::boolean:
        return key->boolean ? "true" : "false";
      case NodeKind::floating:
        return arena_.store(format_go_float(key->floating, 32));
      default:
        throw YamlFailure{"unsupported map key"};
    }
  }

  void take_key(std::string_view key, bool merge) {
    frames_.back().key = key;
    frames_.back().line = line_;
    frames_.back().has_key = true;
    frames_.back().merge = merge;
  }

  void start(NodeKind kind, YAML::anchor_t anchor) {
    if (expects_key()) throw YamlFailure{"invalid map key"};
    if (frames_.size() >= static_cast<std::size_t>(kDepthMax)) throw YamlFailure{"exceeded max depth"};
    Node* node = arena_.new_node();
    node->kind = kind;
    Frame frame;
    frame.node = node;
    frame.anchor = anchor;
    frames_.push_back(std::move(frame));
  }

  void end() {
    const Frame frame = std::move(frames_.back());
    frames_.pop_back();
    if (frame.anchor) remember(frame.anchor, frame.node);
    place(frame.node);
  }

  void remember(YAML::anchor_t anchor, Node* node) { anchors_[anchor] = node; }

  /// A finished value goes to where the parser stands.
  void place(Node* node) {
    if (frames_.empty()) {
      *root_ = *node;
      filled_ = true;
      return;
    }
    Frame& frame = frames_.back();
    if (frame.node->kind == NodeKind::array) return detail::link_last(frame.node, node);
    frame.has_key = false;
    if (frame.merge) return merge(frame, node);
    name_node(node, frame.key);
    put(frame, node, true);
  }

  /// Members of a merged mapping (or of several, the first being the strongest), in the order of go-yaml: what comes
  /// later in the text wins.
  void merge(Frame& frame, Node* value) {
    if (value->kind == NodeKind::object) return merge_members(frame, value);
    if (value->kind != NodeKind::array) throw YamlFailure{"map merge requires map or sequence of maps as the value"};
    std::vector<Node*> sources;
    for (Node* item = value->first; item; item = item->next) sources.push_back(item);
    for (auto source = sources.rbegin(); source != sources.rend(); ++source) {
      if ((*source)->kind != NodeKind::object)
        throw YamlFailure{"map merge requires map or sequence of maps as the value"};
      merge_members(frame, *source);
    }
  }

  void merge_members(Frame& frame, Node* source) {
    for (Node* member = source->first; member;) {
      Node* const next = member->next;
      put(frame, member, false);
      member = next;
    }
  }

  /// Adds a member, or replaces the one of the same name.
  void put(Frame& frame, Node* node, bool note) {
    Node* old = find(frame, key_of(node));
    if (!old) {
      detail::link_last(frame.node, node);
      if (!frame.members.empty()) frame.members.emplace(key_of(node), node);
      return;
    }
    if (note) note_duplicate(key_of(node));
    Node* const next = old->next;
    *old = *node;
    old->next = next;
  }

  static Node* find(Frame& frame, std::string_view key) {
    if (frame.node->size < kScannedMembersMax) {
      for (Node* member = frame.node->first; member; member = member->next)
        if (key_of(member) == key) return member;
      return nullptr;
    }
    if (frame.members.empty())
      for (Node* member = frame.node->first; member; member = member->next)
        frame.members.emplace(key_of(member), member);
    const auto found = frame.members.find(key);
    return found == frame.members.end() ? nullptr : found->second;
  }

  void note_duplicate(std::string_view key) {
    if (lines_) {
      std::string line = "line " + std::to_string(frames_.back().line) + ": key ";
      append_json_string(line, key);
      lines_->push_back(line + " already set in map");
    }
    if (!notes_) return;
    std::string path;
    for (std::size_t i = 0; i + 1 < frames_.size(); ++i) {
      const Frame& frame = frames_[i];
      if (frame.node->kind == NodeKind::array) {
        path += '[' + std::to_string(frame.node->size) + ']';
      } else {
        if (!path.empty()) path += '.';
        path += frame.key;
      }
    }
    if (!path.empty()) path += '.';
    notes_->duplicate_fields.push_back(path.append(key));
  }

  /// A copy of an anchored value; texts are shared with it.
  void copy(Node* to, const Node* from, std::size_t depth) {
    if (depth > static_cast<std::size_t>(kDepthMax)) throw YamlFailure{"exceeded max depth"};
    expanded_ += kNodeCost + from->key_size + (from->kind == NodeKind::string ? from->size : 0);
    if (expanded_ > kAliasBudget) throw YamlFailure{"document contains excessive aliasing"};
    const Node own = *to;
    *to = *from;
    to->next = own.next;
    to->key = own.key;
    to->key_size = own.key_size;
    if (from->kind != NodeKind::object && from->kind != NodeKind::array) return;
    clear_node(to, from->kind);
    for (const Node* child = from->first; child; child = child->next) {
      Node* mine = arena_.new_node();
      name_node(mine, key_of(child));
      copy(mine, child, depth + 1);
      detail::link_last(to, mine);
    }
  }

  Arena& arena_;
  Node* root_;
  ParseNotes* notes_;
  std::vector<std::string>* lines_ = nullptr;
  int line_ = 0;  // of the last scalar
  bool filled_ = false;
  YAML::Mark start_;
  std::uint64_t expanded_ = 0;
  std::vector<Frame> frames_;
  std::unordered_map<YAML::anchor_t, Node*> anchors_;  // of finished values
};

/// What go-yaml's reader refuses before any syntax.
std::string reader_problem(std::string_view text) {
  if (!is_utf8(text)) return "yaml: invalid leading UTF-8 octet";
  const bool control = std::any_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r') || byte == 0x7f;
  });
  return control ? "yaml: control characters are not allowed" : "";
}

/// Calls `take` with each document that holds anything, until the text ends or `take` returns false.
template <class Take>
std::string for_each_document(std::string_view text, ParseNotes* notes, Take take,
                              std::vector<std::string>* lines = nullptr) {
  if (std::string problem = reader_problem(text); !problem.empty()) return problem;
  try {
    ViewBuffer buffer(text);
    std::istream stream(&buffer);
    YAML::Parser parser(stream);
    int previous_start = -1;
    while (parser) {
      Document document;
      YamlBuilder builder(*document.root().arena(), document.root().node(), notes);
      builder.note_lines(lines);
      if (!parser.HandleNextDocument(builder)) break;
      // A stray "]" or "," is an empty document to yaml-cpp, again and again.
      if (builder.start_mark().pos == previous_start)
        return "yaml: line " + std::to_string(builder.start_mark().line + 1) + ": did not find expected node content";
      previous_start = builder.start_mark().pos;
      if (!builder.empty() && !take(std::move(document))) break;
    }
  } catch (const YamlFailure& failure) {
    return "yaml: " + failure.message;
  } catch (const YAML::Exception& error) {
    return "yaml: line " + std::to_string(error.mark.line + 1) + ": " + error.msg;
  }
  return {};
}

}  // namespace

Result<Document> parse_yaml(std::string_view text, ParseNotes* notes) {
  std::optional<Document> first;
  bool more = false;
  const std::string problem = for_each_document(text, notes, [&](Document document) {
    more = first.has_value();
    if (!more) first = std::move(document);
    return !more;
  });
  if (!problem.empty()) return bad_request("error converting YAML to JSON: " + problem);
  if (more) return bad_request("error converting YAML to JSON: yaml: expected one document, found more");
  return first ? std::move(*first) : Document();
}

std::vector<std::string> yaml_duplicate_lines(std::string_view text) {
  std::vector<std::string> lines;
  (void)for_each_document(
      text, nullptr, [](const Document&) { return false; }, &lines);
  return lines;
}

Result<std::vector<Document>> parse_yaml_stream(std::string_view text, ParseNotes* notes) {
  std::vector<Document> documents;
  const std::string problem = for_each_document(text, notes, [&](Document document) {
    if (!document.root().is_null()) documents.push_back(std::move(document));
    return true;
  });
  if (!problem.empty()) return bad_request("error converting YAML to JSON: " + problem);
  return documents;
}

Result<Document> decode_yaml(std::string_view text, Type type, DecodeNotes* notes) {
  ParseNotes parse_notes;
  auto document = parse_yaml(text, notes ? &parse_notes : nullptr);
  if (!document) return document;
  if (auto outcome = conform(document->root(), type, notes); !outcome) return fail(outcome.error());
  if (notes) notes->duplicate_fields = std::move(parse_notes.duplicate_fields);
  return document;
}

}  // namespace sublet::schema
