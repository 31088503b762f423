#include "patches/template/mapping_keys.h"

#include <algorithm>

namespace sublet::patches {
namespace {

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= 253 && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
  });
}

}  // namespace

bool parse_mapping(std::string_view from, std::string_view to, HostMapping& mapping) {
  const auto halves = [](std::string_view text) {
    const std::size_t slash = text.find('/');
    return slash == std::string_view::npos ? std::pair(text, std::string_view("*"))
                                           : std::pair(text.substr(0, slash), text.substr(slash + 1));
  };
  const auto [host_namespace, host_name] = halves(from);
  const auto [tenant_namespace, tenant_name] = halves(to);
  const bool all = host_name == "*";
  if (!from.empty() && from.find('/') == std::string_view::npos) return false;
  if (!host_namespace.empty() && !is_name(host_namespace)) return false;
  if (!is_name(tenant_namespace) || (!all && !is_name(host_name)) || all != (tenant_name == "*")) return false;
  if (!all && !is_name(tenant_name)) return false;
  if (!from.empty() && to.find('/') == std::string_view::npos) return false;
  mapping.host_namespace = host_namespace;
  mapping.tenant_namespace = tenant_namespace;
  if (!all) {
    mapping.host_name = host_name;
    mapping.tenant_name = tenant_name;
  }
  return true;
}

void read_mappings(const YamlNode& node, const std::string& key, std::string_view kind,
                   std::vector<HostMapping>& mappings, Problems& problems) {
  if (!node.is_map() && !node.is_null())
    return problems.add(node.mark, key, "must be a map of \"namespace/name\", not " + std::string(node.kind_text()));
  for (const YamlNode& child : node.children) {
    HostMapping mapping;
    if (!child.is_string() || !parse_mapping(child.key, child.text, mapping)) {
      problems.add(child.key_mark, key + "." + child.key,
                   "must be one of \"namespace/name\": \"namespace/name\", \"namespace/*\": \"namespace/*\", "
                   "\"/name\": \"namespace/name\", \"\": \"namespace/*\" (the virtual cluster's own namespace)");
      continue;
    }
    mapping.kind = kind;
    mapping.key = "Host" + mapping.kind + "." + mapping.host_namespace + "." + mapping.host_name;
    mappings.push_back(std::move(mapping));
  }
}

}  // namespace sublet::patches
