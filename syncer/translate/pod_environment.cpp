#include "syncer/translate/pod_environment.h"

#include "syncer/translate/metadata.h"
#include "syncer/translate/names.h"

namespace sublet::syncer {

using schema::Document;
using schema::Value;

std::vector<std::pair<std::string, std::string>> api_server_variables(const TranslateContext& context) {
  const std::string &host = context.api_server_host, &port = context.api_server_port;
  const std::string url = "tcp://" + host + ":" + port, port_name = "KUBERNETES_PORT_" + port + "_TCP";
  return {
      {"KUBERNETES_PORT", url},          {port_name, url},
      {port_name + "_ADDR", host},       {port_name + "_PORT", port},
      {port_name + "_PROTO", "tcp"},     {"KUBERNETES_SERVICE_HOST", host},
      {"KUBERNETES_SERVICE_PORT", port}, {"KUBERNETES_SERVICE_PORT_HTTPS", port},
  };
}

std::string host_environment_name(const TranslateContext& context) {
  return host_environment_name(context.virtual_cluster);
}

Document make_host_environment(const TranslateContext& context) {
  Document config_map = Document::object();
  Value root = config_map.root();
  root.put("apiVersion", "v1");
  root.put("kind", "ConfigMap");
  Value metadata = root.object("metadata");
  metadata.put("name", host_environment_name(context));
  metadata.put("namespace", context.host_namespace);
  mark_as_ours(context, {"default", "kubernetes", context.virtual_cluster_uid, kEnvironmentKind}, metadata);
  Value data = root.object("data");
  for (const auto& [name, value] : api_server_variables(context)) data.put(name, value);
  return config_map;
}

}  // namespace sublet::syncer
