// A user's kubeconfig in whatever state: adding a context either fails with a reason, or leaves a file that parses,
// holds the new entry, and still holds every entry that was there.
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>

#include "kube/kubeconfig_text.h"

namespace {

using namespace sublet::kube;

std::multiset<std::string> names(const YAML::Node& root, const char* section) {
  std::multiset<std::string> out;
  if (!root.IsMap()) return out;
  const YAML::Node list = root[section];
  if (!list.IsDefined() || !list.IsSequence()) return out;
  for (const auto& item : list) out.insert(yaml_member(item, "name"));
  return out;
}

KubeconfigEdit addition() {
  KubeconfigEdit edit;
  for (const auto& [section, key] : {std::pair("clusters", "cluster"), std::pair("contexts", "context")}) {
    YAML::Node body(YAML::NodeType::Map), entry(YAML::NodeType::Map);
    body["server"] = text_node("https://127.0.0.1:1");
    entry[key] = body;
    entry["name"] = text_node("sublet-new");
    edit.put.push_back({section, "sublet-new", entry});
  }
  edit.current_context = "sublet-new";
  return edit;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto before = load_yaml(text, "config");
  const auto edited = edit_kubeconfig(text, addition(), "config");
  if (!edited) return 0;
  const auto after = load_yaml(*edited, "config");
  if (!before || !after) std::abort();
  if (yaml_member(*after, "current-context") != "sublet-new") std::abort();
  for (const char* section : {"clusters", "contexts"}) {
    auto wanted = names(*before, section);
    wanted.erase("sublet-new");
    wanted.insert("sublet-new");
    if (names(*after, section) != wanted) std::abort();
  }
  if (names(*after, "users") != names(*before, "users")) std::abort();
  return 0;
}
