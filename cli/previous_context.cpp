#include "cli/previous_context.h"

#include <filesystem>

#include "cli/context_name.h"
#include "sublet/base/files.h"
#include "sublet/cluster/local_driver.h"
#include "sublet/schema/document.h"

namespace sublet::cli {
namespace {

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

}  // namespace

Outcome remember_context(const std::string& kubeconfig, const std::string& context) {
  if (context.starts_with(kContextPrefix)) return {};
  if (auto made = make_private_folder(cluster::default_state_folder()); !made) return made;
  schema::Document document = load();
  document.root().put(key_of(kubeconfig), context);
  return write_private_file(file_path(), document.root().to_pretty_json());
}

std::string take_previous_context(const std::string& kubeconfig) {
  schema::Document document = load();
  const std::string key = key_of(kubeconfig);
  std::string context = document[key].string();
  if (document.root().erase(key)) (void)write_private_file(file_path(), document.root().to_pretty_json());
  return context;
}

}  // namespace sublet::cli
