#include "cli/previous_context.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "sublet/base/files.h"
#include "sublet/cluster/state_folder.h"
#include "sublet/kube/kubeconfig.h"
#include "sublet/schema/document.h"

namespace sublet::cli {
namespace {

// By kubeconfig file, the oldest first. An earlier version stored a single string.
std::string file_path() { return cluster::default_state_folder() + "/previous-contexts.json"; }

schema::Document load() {
  const auto text = read_file(file_path());
  if (text)
    if (auto document = schema::Document::parse_json(*text); document && document->root().is_object())
      return std::move(*document);
  return schema::Document::object();
}

std::string key_of(const std::string& kubeconfig) {
  return std::filesystem::absolute(kubeconfig).lexically_normal().string();
}

std::vector<std::string> contexts_of(const schema::Value& kept) {
  if (kept.is_string()) return {kept.string()};
  std::vector<std::string> out;
  for (const schema::Value context : kept) out.push_back(context.string());
  return out;
}

Outcome save(schema::Document& document, const std::string& key, const std::vector<std::string>& contexts) {
  document.root().erase(key);
  if (!contexts.empty()) {
    schema::Value kept = document.root().array(key);
    for (const std::string& context : contexts) kept.push(context);
  }
  return write_private_file(file_path(), document.root().to_pretty_json());
}

}  // namespace

Outcome remember_context(const std::string& kubeconfig, const std::string& current, const std::string& next) {
  if (current == next) return {};
  if (auto made = make_private_folder(cluster::default_state_folder()); !made) return made;
  schema::Document document = load();
  const std::string key = key_of(kubeconfig);
  auto contexts = contexts_of(document[key]);
  std::erase_if(contexts, [&](const std::string& context) { return context == current || context == next; });
  if (!current.empty()) contexts.push_back(current);
  return save(document, key, contexts);
}

std::string take_previous_context(const std::string& kubeconfig) {
  schema::Document document = load();
  const std::string key = key_of(kubeconfig);
  auto contexts = contexts_of(document[key]);
  if (contexts.empty()) return "";
  const auto there = kube::kubeconfig_contexts(kubeconfig).value_or(std::vector<std::string>());
  const std::string leaving = kube::kubeconfig_current_context(kubeconfig).value_or("");
  std::string previous;
  while (previous.empty() && !contexts.empty()) {
    if (contexts.back() != leaving && std::ranges::find(there, contexts.back()) != there.end())
      previous = contexts.back();
    contexts.pop_back();
  }
  (void)save(document, key, contexts);
  return previous;
}

}  // namespace sublet::cli
