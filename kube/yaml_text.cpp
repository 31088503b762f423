#include "kube/yaml_text.h"

#include <algorithm>
#include <cctype>

#include "sublet/schema/document.h"

namespace sublet::kube {
namespace {

constexpr std::string_view kQuotedTag = "!";  // yaml-cpp's tag of a quoted or block scalar
constexpr std::string_view kStringTag = "tag:yaml.org,2002:str";

bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool is_reserved_word(std::string_view text) {
  static constexpr std::string_view kWords[] = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"};
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return std::ranges::find(kWords, lower) != std::end(kWords);
}

bool digit(char c) { return c >= '0' && c <= '9'; }
bool plain_character(char c) {
  return letter(c) || digit(c) || std::string_view("-_./:@+=").find(c) != std::string_view::npos;
}

/// Starts with a letter or '/', so it is no number, and has nothing in it that means something to YAML.
bool plain_is_safe(std::string_view text) {
  if (text.empty() || !(letter(text.front()) || text.front() == '/') || text.back() == ':') return false;
  return !is_reserved_word(text) && std::ranges::all_of(text, plain_character);
}

bool is_quoted(const YAML::Node& node) { return node.Tag() == kQuotedTag || node.Tag() == kStringTag; }

/// A scalar that was plain (a number, a word) and may stay so: nothing in it means something to YAML in block style.
bool plain_may_stay(std::string_view text) {
  const bool starts_well = !text.empty() && (letter(text[0]) || digit(text[0]) || text[0] == '/' || text[0] == '.' ||
                                             ((text[0] == '-' || text[0] == '+') && text.size() > 1 && digit(text[1])));
  return starts_well && text.back() != ':' && std::ranges::all_of(text, plain_character);
}

/// A plain scalar that no reader takes for a number, a boolean or null: quoting it changes nothing.
bool is_string_unquoted(std::string_view text) { return plain_is_safe(text) || !plain_may_stay(text); }

std::string scalar_text(const YAML::Node& node) {
  const std::string& text = node.Scalar();
  return !is_quoted(node) && plain_may_stay(text) ? text : yaml_scalar(text);
}

void append_node(std::string& out, const YAML::Node& node, int indent, bool first_line_open);

void append_child(std::string& out, const YAML::Node& child, int indent) {
  const bool container = (child.IsMap() || child.IsSequence()) && child.size() > 0;
  if (!container) {
    out += ' ';
    append_node(out, child, 0, true);
    return;
  }
  out += '\n';
  append_node(out, child, child.IsSequence() ? indent : indent + 2, false);
}

/// `first_line_open`: the text so far ends where the node's first line goes on ("- ").
void append_node(std::string& out, const YAML::Node& node, int indent, bool first_line_open) {
  const std::string margin(static_cast<std::size_t>(indent), ' ');
  if (node.IsMap() && node.size() > 0) {
    for (const auto& member : node) {
      if (!std::exchange(first_line_open, false)) out += margin;
      out += scalar_text(member.first) + ":";
      append_child(out, member.second, indent);
    }
  } else if (node.IsSequence() && node.size() > 0) {
    for (const auto& item : node) {
      if (!std::exchange(first_line_open, false)) out += margin;
      out += "- ";
      append_node(out, item, indent + 2, true);
    }
  } else {
    if (!first_line_open) out += margin;
    out += node.IsMap() ? "{}" : node.IsSequence() ? "[]" : node.IsScalar() ? scalar_text(node) : "null";
    out += '\n';
  }
}

}  // namespace

std::string yaml_scalar(std::string_view text) {
  if (plain_is_safe(text)) return std::string(text);
  std::string out;
  schema::append_json_string(out, text);  // every JSON string is a double-quoted YAML scalar
  return out;
}

std::string yaml_text(const YAML::Node& node, int indent) {
  std::string out;
  append_node(out, node, indent, false);
  return out;
}

bool yaml_equal(const YAML::Node& a, const YAML::Node& b) {
  if (a.Type() != b.Type() || a.size() != b.size()) return false;
  if (a.IsScalar()) {
    if (a.Scalar() != b.Scalar()) return false;
    return is_quoted(a) == is_quoted(b) || is_string_unquoted(a.Scalar());
  }
  for (auto left = a.begin(), right = b.begin(); left != a.end(); ++left, ++right) {
    if (a.IsMap() && !(yaml_equal(left->first, right->first) && yaml_equal(left->second, right->second))) return false;
    if (a.IsSequence() && !yaml_equal(*left, *right)) return false;
  }
  return true;
}

namespace {

constexpr int kNestingMax = 64;
constexpr int kNodesMax = 1'000'000;

/// False for a node that is too deep or too large once its aliases are followed; one that contains itself is both.
bool within_limits(const YAML::Node& node, int depth, int& nodes_left) {
  if (depth > kNestingMax || --nodes_left < 0) return false;
  if (node.IsMap())
    return std::all_of(node.begin(), node.end(), [&](const auto& member) {
      return within_limits(member.first, depth + 1, nodes_left) && within_limits(member.second, depth + 1, nodes_left);
    });
  return !node.IsSequence() || std::all_of(node.begin(), node.end(), [&](const auto& item) {
    return within_limits(item, depth + 1, nodes_left);
  });
}

}  // namespace

Result<YAML::Node> load_yaml(const std::string& text, const std::string& path) {
  try {
    YAML::Node root = YAML::Load(text);
    int nodes_left = kNodesMax;
    if (!within_limits(root, 0, nodes_left))
      return bad_request(path + ": nested too deep, or an anchor contains its own alias");
    return root;
  } catch (const YAML::Exception& error) {
    const std::string line = error.mark.is_null() ? "" : ":" + std::to_string(error.mark.line + 1);
    return bad_request(path + line + ": " + error.msg);
  }
}

}  // namespace sublet::kube
