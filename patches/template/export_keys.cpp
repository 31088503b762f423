#include "patches/template/export_keys.h"

#include <algorithm>

#include "patches/template/custom_keys.h"
#include "patches/template/reader.h"

namespace sublet::patches {
namespace {

bool is_url(std::string_view text) {
  constexpr std::string_view kScheme = "https://";
  if (!text.starts_with(kScheme) || text.size() == kScheme.size()) return false;
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f && c != '"' && c != '\\'; });
}

// Names of roles have colons, too.
bool is_role(std::string_view text) {
  return std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
           c == ':' || c == '_';
  });
}

void read_account(const YamlNode& node, const std::string& key, ExportedAccount& account, Problems& problems) {
  MapReader reader(node, key, problems);
  const auto word = [&](const char* name, std::string_view form) {
    std::string text = reader.text(name);
    if (const std::string problem = text.empty() ? "" : word_problem(text, form); !problem.empty())
      problems.add(node.mark, reader.path(name), problem);
    return text;
  };
  account.name = word("name", "name");
  account.tenant_namespace = word("namespace", "name");
  account.cluster_role = word("clusterRole", "role");
  if (account.name.empty() && !node.children.empty())
    problems.add(node.mark, reader.path("name"), "is missing: which account the rest is about");
  reader.finish();
}

}  // namespace

std::string word_problem(std::string_view text, std::string_view form) {
  if (form == "url") return is_url(text) ? "" : "must be an address such as https://api.example.com:6443";
  if (form == "role") return is_role(text) ? "" : "must be the name of a ClusterRole";
  if (form == "host" && text.starts_with("*.")) text.remove_prefix(2);
  if (is_dns_name(text)) return "";
  return form == "host" ? "must be a host name, such as api.example.com"
                        : "must be a name: lower-case letters, digits, '-' and '.'";
}

void read_exports(const YamlNode& node, const std::string& key, std::vector<ExportedKubeconfig>& exports,
                  Problems& problems) {
  if (!node.is_list() && !node.is_null())
    return problems.add(node.mark, key, "must be a list, not " + std::string(node.kind_text()));
  for (std::size_t i = 0; i < node.children.size(); ++i) {
    const YamlNode& item = node.children[i];
    MapReader reader(item, key + '[' + std::to_string(i) + ']', problems);
    ExportedKubeconfig wanted;
    const auto word = [&](const char* name, std::string_view form) {
      std::string text = reader.text(name);
      if (const std::string problem = text.empty() ? "" : word_problem(text, form); !problem.empty())
        problems.add(item.mark, reader.path(name), problem);
      return text;
    };
    wanted.secret_name = word("name", "name");
    wanted.secret_namespace = word("namespace", "name");
    wanted.context = word("context", "name");
    wanted.server = word("server", "url");
    wanted.insecure = reader.flag("insecure");
    if (const YamlNode* account = reader.take("serviceAccount"))
      read_account(*account, reader.path("serviceAccount"), wanted.account, problems);
    if (wanted.secret_name.empty() && wanted.secret_namespace.empty())
      problems.add(item.mark, reader.path("name"), "is missing: which Secret is written, and in which namespace");
    reader.finish();
    exports.push_back(std::move(wanted));
  }
}

}  // namespace sublet::patches
