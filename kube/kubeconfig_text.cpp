#include "kube/kubeconfig_text.h"

#include <algorithm>

namespace sublet::kube {
namespace {

constexpr std::string_view kNewFile = "apiVersion: v1\nkind: Config\npreferences: {}\n";

// --- the edit on the parsed form ---

/// A copy in which every alias has become a node of its own: assigning to one would change all that share it.
YAML::Node unshared(const YAML::Node& node) {
  YAML::Node out(node.Type());
  if (node.IsScalar()) out = YAML::Node(node.Scalar());
  if (node.IsMap())
    for (const auto& member : node) out.force_insert(unshared(member.first), unshared(member.second));
  if (node.IsSequence())
    for (const auto& item : node) out.push_back(unshared(item));
  out.SetTag(node.Tag());
  return out;
}

YAML::Node without_entry(const YAML::Node& sequence, const std::string& name) {
  YAML::Node out(YAML::NodeType::Sequence);
  for (const auto& item : sequence)
    if (yaml_member(item, "name") != name) out.push_back(item);
  return out;
}

YAML::Node with_entry(const YAML::Node& sequence, const KubeconfigEdit::Entry& entry) {
  YAML::Node out(YAML::NodeType::Sequence);
  bool placed = false;
  if (sequence.IsSequence())
    for (const auto& item : sequence) {
      const bool here = yaml_member(item, "name") == entry.name;
      if (!here) out.push_back(item);
      if (here && !std::exchange(placed, true)) out.push_back(entry.node);
    }
  if (!placed) out.push_back(entry.node);
  return out;
}

YAML::Node edited(YAML::Node root, const KubeconfigEdit& edit) {
  for (const auto& entry : edit.erase)
    if (kubeconfig_entry(root, entry.section, entry.name).IsDefined())
      root[entry.section] = without_entry(root[entry.section], entry.name);
  for (const auto& entry : edit.put) {
    const YAML::Node changed = with_entry(root[entry.section], entry);
    root[entry.section] = changed;
  }
  if (edit.current_context) root[kCurrentContext] = text_node(*edit.current_context);
  return root;
}

/// Map equality without regard to the order of the top-level keys: new ones may be added at another place.
bool same_config(const YAML::Node& a, const YAML::Node& b) {
  if (!a.IsMap() || !b.IsMap() || a.size() != b.size()) return false;
  return std::all_of(a.begin(), a.end(), [&](const auto& member) {
    const YAML::Node other = b[member.first.Scalar()];
    return other.IsDefined() && yaml_equal(member.second, other);
  });
}

// --- the edit on the text ---

/// A cut that this class cannot make safely; the caller writes the parsed form instead.
struct CannotCut {};

class TextEditor {
 public:
  TextEditor(const std::string& text, const YAML::Node& root) : root_(root) {
    line_end_ = text.find("\r\n") != std::string::npos ? "\r\n" : "\n";
    for (std::size_t start = 0; start < text.size();) {
      const std::size_t end = std::min(text.find('\n', start), text.size() - 1) + 1;
      lines_.push_back(text.substr(start, end - start));
      start = end;
    }
    if (!lines_.empty() && lines_.back().back() != '\n') lines_.back() += line_end_;
    for (const auto& member : root) keys_.push_back({member.first.Scalar(), line_of(member.first), member.second});
  }

  void put(const KubeconfigEdit::Entry& entry) {
    const Key* key = find(entry.section);
    if (!key) return append(entry.section + ":\n" + item_text(entry, 0));
    if (!key->value.IsSequence() || key->value.size() == 0) {
      if (key->value.IsDefined() && !key->value.IsNull() && !key->value.IsSequence()) throw CannotCut{};
      return replace({key->line, key->line + 1}, entry.section + ":\n" + item_text(entry, 0));
    }
    if (is_flow(*key)) return replace_section(*key, with_entry(key->value, entry));
    const int indent = dash_column(*key, 0);
    for (std::size_t i = 0; i < key->value.size(); ++i)
      if (yaml_member(key->value[i], "name") == entry.name)
        return replace(item_range(*key, i), item_text(entry, indent));
    const Range last = item_range(*key, key->value.size() - 1);
    replace({last.end, last.end}, item_text(entry, indent));
  }

  void erase(const KubeconfigEdit::Entry& entry) {
    const Key* key = find(entry.section);
    if (!key || !key->value.IsSequence()) return;
    if (is_flow(*key)) return replace_section(*key, without_entry(key->value, entry.name));
    std::size_t erased = 0;
    for (std::size_t i = 0; i < key->value.size(); ++i) {
      if (yaml_member(key->value[i], "name") != entry.name) continue;
      replace(item_range(*key, i), "");
      ++erased;
    }
    if (erased > 0 && erased == key->value.size()) replace({key->line, key->line + 1}, entry.section + ": []\n");
  }

  void set_current(const std::string& name) {
    const std::string line = std::string(kCurrentContext) + ": " + yaml_scalar(name) + "\n";
    const Key* key = find(kCurrentContext);
    if (!key) return append(line);
    replace({key->line, key->line + 1}, line);
  }

  std::string text() {
    // From the bottom up, so that line numbers stay true; what goes in before a line comes after that line's own cut.
    std::ranges::sort(cuts_, std::greater<>(),
                      [](const Cut& cut) { return std::pair(cut.range.begin, cut.range.end); });
    for (const Cut& cut : cuts_) {
      const auto at = lines_.erase(lines_.begin() + static_cast<std::ptrdiff_t>(cut.range.begin),
                                   lines_.begin() + static_cast<std::ptrdiff_t>(cut.range.end));
      if (!cut.text.empty()) lines_.insert(at, cut.text);
    }
    std::string out;
    for (const std::string& line : lines_) out += line;
    return out + tail_;
  }

 private:
  struct Range {
    std::size_t begin, end;
  };
  struct Cut {
    Range range;
    std::string text;
  };
  struct Key {
    std::string name;
    std::size_t line;
    YAML::Node value;
  };

  static std::size_t line_of(const YAML::Node& node) {
    if (node.Mark().is_null()) throw CannotCut{};
    return static_cast<std::size_t>(node.Mark().line);
  }

  const Key* find(const std::string& name) const {
    const auto found = std::ranges::find(keys_, name, &Key::name);
    return found == keys_.end() ? nullptr : &*found;
  }

  /// Blank, or a comment alone.
  static bool is_idle(const std::string& line) {
    const std::size_t first = line.find_first_not_of(" \t\r\n");
    return first == std::string::npos || line[first] == '#';
  }

  /// Line behind the section's last: that of the next key, or the end of the text.
  std::size_t section_end(const Key& key) const {
    std::size_t end = lines_.size();
    for (const Key& other : keys_)
      if (other.line > key.line) end = std::min(end, other.line);
    return end;
  }

  static bool is_flow(const Key& key) { return key.value.Style() == YAML::EmitterStyle::Flow; }

  /// A list in brackets has no lines of its own to cut: it is written anew, and all that is around it stays.
  void replace_section(const Key& key, const YAML::Node& list) {
    Range range{key.line, section_end(key)};
    while (range.end > range.begin + 1 && is_idle(lines_.at(range.end - 1))) --range.end;
    replace(range, key.name + ":" + (list.size() == 0 ? " []\n" : "\n" + yaml_text(unshared(list), 0)));
  }

  int dash_column(const Key& key, std::size_t item) const {
    if (is_flow(key)) throw CannotCut{};
    const std::string& line = lines_.at(line_of(key.value[item]));
    const std::size_t column = line.find_first_not_of(' ');
    if (column == std::string::npos || line.compare(column, 2, "- ") != 0) throw CannotCut{};
    return static_cast<int>(column);
  }

  /// The item's lines, without blank lines and comments that follow it.
  Range item_range(const Key& key, std::size_t item) const {
    dash_column(key, item);
    Range out{line_of(key.value[item]), item + 1 < key.value.size() ? line_of(key.value[item + 1]) : section_end(key)};
    while (out.end > out.begin + 1 && is_idle(lines_.at(out.end - 1))) --out.end;
    return out;
  }

  static std::string item_text(const KubeconfigEdit::Entry& entry, int indent) {
    YAML::Node list(YAML::NodeType::Sequence);
    list.push_back(entry.node);
    return yaml_text(list, indent);
  }

  std::string with_line_ends(const std::string& text) const {
    std::string out;
    for (const char c : text) c == '\n' ? out += line_end_ : out += c;
    return out;
  }
  void replace(Range range, const std::string& text) { cuts_.push_back({range, with_line_ends(text)}); }
  void append(const std::string& text) { tail_ += with_line_ends(text); }

  const YAML::Node root_;
  std::string line_end_;
  std::vector<std::string> lines_;
  std::vector<Key> keys_;
  std::vector<Cut> cuts_;
  std::string tail_;
};

std::optional<std::string> cut_in(const std::string& text, const YAML::Node& root, const KubeconfigEdit& edit) {
  try {
    TextEditor editor(text, root);
    for (const auto& entry : edit.erase) editor.erase(entry);
    for (const auto& entry : edit.put) editor.put(entry);
    if (edit.current_context) editor.set_current(*edit.current_context);
    return editor.text();
  } catch (const CannotCut&) {
    return std::nullopt;
  } catch (const std::exception&) {  // .at() and yaml-cpp: a layout that the marks do not describe
    return std::nullopt;
  }
}

}  // namespace

YAML::Node text_node(const std::string& text) {
  YAML::Node out(text);
  out.SetTag("!");
  return out;
}

std::string yaml_member(const YAML::Node& node, const std::string& key) {
  if (!node.IsMap()) return {};
  const YAML::Node member = node[key];
  return member.IsDefined() && member.IsScalar() ? member.Scalar() : std::string();
}

YAML::Node kubeconfig_entry(const YAML::Node& root, const std::string& section, const std::string& name) {
  const YAML::Node none(YAML::NodeType::Undefined);
  if (!root.IsMap()) return none;
  const YAML::Node list = root[section];
  if (!list.IsDefined() || !list.IsSequence()) return none;
  for (const auto& item : list)
    if (yaml_member(item, "name") == name) return item;
  return none;
}

namespace {

/// A file that says nothing yet, turned into one that can be edited. Its comments stay when they can.
std::string begun(const std::string& text, const std::string& path) {
  const std::string separator = text.empty() || text.back() == '\n' ? "" : "\n";
  std::string out = text + separator + std::string(kNewFile);
  const auto root = load_yaml(out, path);
  return root && root->IsMap() ? out : std::string(kNewFile);  // "null", "---\n...": nothing to keep
}

}  // namespace

Result<std::string> edit_kubeconfig(const std::string& original, const KubeconfigEdit& edit, const std::string& path) {
  std::string text = original;
  auto root = load_yaml(text, path);
  if (root && root->IsNull()) {
    text = begun(original, path);
    root = load_yaml(text, path);
  }
  if (!root) return fail(root.error());
  if (!root->IsMap()) return bad_request(path + " is no kubeconfig: a mapping is expected");

  for (const auto& entry : edit.put)
    if (const YAML::Node section = (*root)[entry.section];
        section.IsDefined() && !section.IsNull() && !section.IsSequence())
      return bad_request(path + ": " + entry.section + " is no list");

  std::optional<std::string> cut = cut_in(text, *root, edit);
  const YAML::Node wanted = edited(unshared(*root), edit);
  if (cut) {
    const auto outcome = load_yaml(*cut, path);
    if (outcome && same_config(wanted, *outcome)) return *cut;
  }
  std::string anew = yaml_text(wanted);
  const auto outcome = load_yaml(anew, path);
  if (outcome && same_config(wanted, *outcome)) return anew;
  return bad_request(path + " has contents that cannot be kept while it is changed; nothing was changed");
}

}  // namespace sublet::kube
