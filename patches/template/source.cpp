#include "patches/template/source.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "patches/cel/text.h"
#include "sublet/patches/cel.h"
#include "sublet/schema/yaml_scalar.h"

namespace sublet::patches {

using schema::NodeKind;

const YamlNode* YamlNode::find(std::string_view name) const {
  for (const YamlNode& child : children)
    if (child.key == name) return &child;
  return nullptr;
}

namespace {

void fill(schema::Value value, const YamlNode& node) {
  switch (node.kind) {
    case NodeKind::null:
      return value.set_null();
    case NodeKind::boolean:
      return value.set(node.boolean);
    case NodeKind::integer:
      return value.set(node.integer);
    case NodeKind::floating:
      return value.set(node.floating);
    case NodeKind::string:
      return value.set(node.text);
    case NodeKind::array:
      value.make_array();
      for (const YamlNode& item : node.children) fill(value.push(false), item);
      return;
    case NodeKind::object:
      value.make_object();
      for (const YamlNode& member : node.children) fill(value.add_member(member.key), member);
      return;
  }
}

}  // namespace

schema::Document document_of(const YamlNode& node) {
  schema::Document document;
  fill(document.root(), node);
  return document;
}

std::string_view YamlNode::kind_text() const {
  static constexpr std::string_view kTexts[] = {"null",     "a boolean", "an integer", "a number",
                                                "a string", "a list",    "a map"};
  return kTexts[static_cast<std::size_t>(kind)];
}

namespace {

constexpr std::size_t kNodesMax = 20'000;
constexpr std::size_t kNestingMax = 64;
constexpr std::size_t kTemplateBytesMax = 1 << 20;

struct ReadFailure {
  Mark mark;
  std::string message;
};

Mark mark_of(const YAML::Mark& mark) { return {mark.line + 1, mark.column + 1}; }

class TreeBuilder final : public YAML::EventHandler {
 public:
  explicit TreeBuilder(YamlNode& root) : root_(root) {}

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    YamlNode node;
    node.mark = mark_of(mark);
    finish(std::move(node), anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) throw ReadFailure{mark_of(mark), "the anchor contains itself"};
    YamlNode node = found->second;
    count(node, mark_of(mark), depth());
    place(std::move(node));
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override;
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(NodeKind::array, mark, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(NodeKind::object, mark, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Frame {
    YamlNode node;
    YAML::anchor_t anchor = 0;
    bool has_key = false;
    std::string key;
    Mark key_mark;
  };

  std::size_t depth() const { return frames_.size(); }

  void count(const YamlNode& node, Mark mark, std::size_t at) {
    if (++nodes_ > kNodesMax)
      throw ReadFailure{mark, "the file has more than " + std::to_string(kNodesMax) + " values"};
    if (at > kNestingMax) throw ReadFailure{mark, "the file is nested too deep"};
    for (const YamlNode& child : node.children) count(child, mark, at + 1);
  }

  void open(NodeKind kind, const YAML::Mark& mark, YAML::anchor_t anchor) {
    YamlNode node;
    node.kind = kind;
    node.mark = mark_of(mark);
    count(node, node.mark, depth() + 1);
    frames_.push_back({std::move(node), anchor, false, {}, {}});
  }

  void close() {
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    if (frame.anchor) anchors_[frame.anchor] = frame.node;
    place(std::move(frame.node));
  }

  void finish(YamlNode node, YAML::anchor_t anchor) {
    count(node, node.mark, depth());
    if (anchor) anchors_[anchor] = node;
    place(std::move(node));
  }

  void place(YamlNode node) {
    if (frames_.empty()) {
      root_ = std::move(node);
      return;
    }
    Frame& frame = frames_.back();
    if (frame.node.is_map() && !frame.has_key) return take_key(frame, node);
    if (frame.node.is_map()) {
      node.key = std::move(frame.key);
      node.key_mark = frame.key_mark;
      frame.has_key = false;
    }
    frame.node.children.push_back(std::move(node));
  }

  static void take_key(Frame& frame, const YamlNode& node) {
    if (!node.is_scalar()) throw ReadFailure{node.mark, "a key must be a scalar"};
    if (frame.node.find(node.text)) throw ReadFailure{node.mark, "the key \"" + node.text + "\" is here twice"};
    if (node.text == "<<" && !node.quoted) throw ReadFailure{node.mark, "merge keys (<<) are not supported"};
    frame.has_key = true;
    frame.key = node.text;
    frame.key_mark = node.mark;
  }

  YamlNode& root_;
  std::vector<Frame> frames_;
  std::map<YAML::anchor_t, YamlNode> anchors_;
  std::size_t nodes_ = 0;
};

void TreeBuilder::OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                           const std::string& text) {
  YamlNode node;
  node.kind = NodeKind::string;
  node.mark = mark_of(mark);
  node.text = text;
  node.quoted = tag == "!";
  if (!node.quoted && tag != "?" && !tag.empty())
    throw ReadFailure{node.mark, "tags such as " + tag + " are not supported"};
  if (!node.quoted) {
    const schema::YamlScalar value = schema::resolve_yaml_scalar(text);
    static constexpr NodeKind kKinds[] = {NodeKind::string, NodeKind::null, NodeKind::boolean, NodeKind::integer,
                                          NodeKind::floating};
    node.kind = kKinds[static_cast<std::size_t>(value.kind)];
    node.integer = value.integer;
    node.floating = node.kind == NodeKind::integer ? static_cast<double>(value.integer) : value.floating;
    node.boolean = value.integer != 0;
    // Only these are booleans here: what looks like a name (on, y, no) stays one.
    static constexpr std::string_view kBooleans[] = {"true", "True", "TRUE", "false", "False", "FALSE"};
    if (node.is_boolean() && std::find(std::begin(kBooleans), std::end(kBooleans), text) == std::end(kBooleans))
      node.kind = NodeKind::string;
  }
  finish(std::move(node), anchor);
}

// The start of a line of the file, 1-based.
std::string_view line_of(std::string_view text, int line) {
  for (; line > 1; --line) {
    const auto end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  return text.substr(0, text.find('\n'));
}

}  // namespace

void Problems::add_inside(const YamlNode& scalar, std::size_t offset, std::string key, std::string message) {
  const cel::Place inside = cel::place_of(scalar.text, static_cast<int>(offset));
  const std::string_view line = line_of(text_, scalar.mark.line);
  const auto at = static_cast<std::size_t>(scalar.mark.column - 1);
  const char first = at < line.size() ? line[at] : '\0';
  Mark mark = scalar.mark;
  if (first == '|' || first == '>') {
    // A literal block keeps its lines; their indentation is what the first one has.
    const std::string_view block_line = line_of(text_, scalar.mark.line + 1);
    const auto indent = static_cast<int>(std::min(block_line.find_first_not_of(' '), block_line.size()));
    mark = {scalar.mark.line + (first == '|' ? inside.line : 1), indent + (first == '|' ? inside.column : 1)};
  } else if (inside.line == 1 && scalar.text.find('\n') == std::string::npos) {
    mark.column += inside.column - 1 + (scalar.quoted ? 1 : 0);
  }
  add(mark, std::move(key), std::move(message));
}

std::vector<TemplateProblem> Problems::sorted() const {
  std::vector<TemplateProblem> sorted = list_;
  std::stable_sort(sorted.begin(), sorted.end(), [](const TemplateProblem& a, const TemplateProblem& b) {
    return std::pair(a.mark.line, a.mark.column) < std::pair(b.mark.line, b.mark.column);
  });
  return sorted;
}

std::string Problems::line(const TemplateProblem& problem) const {
  return file_name_ + ':' + std::to_string(problem.mark.line) + ':' + std::to_string(problem.mark.column) + ": " +
         (problem.key.empty() ? "" : problem.key + ": ") + problem.message;
}

std::vector<std::string> Problems::lines() const {
  std::vector<std::string> lines;
  for (const TemplateProblem& problem : sorted()) lines.push_back(line(problem));
  return lines;
}

Status Problems::status() const {
  Status status;
  status.reason = Reason::invalid;
  for (const TemplateProblem& problem : sorted()) {
    if (!status.message.empty()) status.message += '\n';
    status.message += line(problem);
    status.causes.push_back({"FieldValueInvalid", problem.message, problem.key});
  }
  return status;
}

bool read_yaml(std::string_view text, YamlNode& root, Problems& problems) {
  if (text.size() > kTemplateBytesMax) {
    problems.add({}, "", "the file is larger than " + std::to_string(kTemplateBytesMax) + " bytes");
    return false;
  }
  if (!cel::valid_utf8(text)) {
    problems.add({}, "", "the file is not valid UTF-8");
    return false;
  }
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    TreeBuilder builder(root);
    if (!parser.HandleNextDocument(builder)) return true;  // nothing but comments
    YamlNode second;
    TreeBuilder rest(second);
    if (parser.HandleNextDocument(rest) && !second.is_null()) {
      problems.add(second.mark, "", "the file holds more than one YAML document");
      return false;
    }
  } catch (const ReadFailure& failure) {
    problems.add(failure.mark, "", failure.message);
    return false;
  } catch (const YAML::Exception& error) {
    problems.add(mark_of(error.mark), "", "this is not YAML: " + error.msg);
    return false;
  }
  return true;
}

}  // namespace sublet::patches
