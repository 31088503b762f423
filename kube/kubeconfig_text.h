// Editing a kubeconfig as text: entries are put, erased, and the current context set, and nothing else changes.
//
// The edit is cut into the text, so that comments, order, unknown keys and the spelling of all other entries stay byte
// for byte. The outcome is parsed again and compared with the same edit made on the parsed form; where cutting is not
// possible (JSON, flow style, odd layout) that form is written anew instead. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kube/yaml_text.h"
#include "sublet/base/status.h"

namespace sublet::kube {

inline constexpr const char* kCurrentContext = "current-context";

/// A string for a node that a kubeconfig entry is built of.
YAML::Node text_node(const std::string& text);

struct KubeconfigEdit {
  struct Entry {
    std::string section;  // "clusters", "contexts", "users"
    std::string name;
    YAML::Node node;  // the whole entry to put; undefined for erasing
  };
  std::vector<Entry> put, erase;  // at most one of each per section
  std::optional<std::string> current_context;
};

/// `path` is for messages.
Result<std::string> edit_kubeconfig(const std::string& text, const KubeconfigEdit& edit, const std::string& path);

/// The entry of that name in a section; undefined when there is none.
YAML::Node kubeconfig_entry(const YAML::Node& root, const std::string& section, const std::string& name);
/// A string member, "" when missing or no scalar.
std::string yaml_member(const YAML::Node& node, const std::string& key);

}  // namespace sublet::kube
