#include "sublet/cluster/virtual_cluster.h"

#include "sublet/base/host_port.h"
#include "sublet/schema/document.h"

namespace sublet::cluster {
namespace {

using schema::Document;
using schema::Value;

constexpr std::int64_t kFormat = 1;

Outcome check_format(const Value& format) {
  if (format.integer() == kFormat) return {};
  const bool later = format.integer() > kFormat;
  return bad_request("format " + format.to_json() + " is not known to this version of sublet, which knows 1" +
                     (later ? "; a later one wrote it: use that one" : ""));
}

}  // namespace

std::string VirtualCluster::to_json() const {
  Document document = Document::object();
  Value root = document.root();
  root.put("format", kFormat);
  root.put("name", name);
  root.put("uid", uid);
  root.put("hostNamespace", host_namespace);
  root.put("hostContext", host_context);
  if (!host_kubeconfig.empty()) root.put("hostKubeconfig", host_kubeconfig);
  root.put("embeddedHost", embedded_host);
  root.put("created", created);
  root.put("listen", listen);
  root.put("hostServiceAccount", host_service_account);
  root.put("templateFile", template_file);
  if (lenient) root.put("lenient", true);
  if (deleting) root.put("deleting", true);
  Value values = root.object("parameters");
  for (const auto& [key, value] : parameters) values.put(key, value);
  if (quota.given()) {
    Value limits = root.object("quota");
    if (quota.objects) limits.put("objects", *quota.objects);
    if (quota.bytes) limits.put("bytes", *quota.bytes);
  }
  if (pod_access.given()) {
    Value access = root.object("podAccess");
    access.put("address", pod_access.address);
    access.put("listen", pod_access.listen);
    access.put("dnsPort", pod_access.dns_port);
    access.put("serviceAddress", pod_access.service_address);
  }
  return root.to_pretty_json() + "\n";
}

Result<VirtualCluster> VirtualCluster::from_json(std::string_view json) {
  const auto document = Document::parse_json(json);
  if (!document) return fail(document.error());
  const Value root = document->root();
  if (auto known = check_format(root["format"]); !known) return fail(known.error());
  VirtualCluster cluster;
  cluster.name = root["name"].string();
  cluster.uid = root["uid"].string();
  cluster.host_namespace = root["hostNamespace"].string();
  cluster.host_context = root["hostContext"].string();
  cluster.host_kubeconfig = root["hostKubeconfig"].string();
  cluster.embedded_host = root["embeddedHost"].boolean();
  cluster.created = root["created"].string();
  cluster.listen = root["listen"].string();
  cluster.host_service_account = root["hostServiceAccount"].string();
  cluster.template_file = root["templateFile"].string();
  cluster.lenient = root["lenient"].boolean();
  cluster.deleting = root["deleting"].boolean();
  for (const auto& [key, limit] :
       {std::pair("objects", &cluster.quota.objects), std::pair("bytes", &cluster.quota.bytes)})
    if (const Value quota = root["quota"]; quota.has(key)) *limit = quota[key].integer();
  const Value access = root["podAccess"];
  cluster.pod_access = {access["address"].string(), access["listen"].string(),
                        static_cast<int>(access["dnsPort"].integer()), access["serviceAddress"].string()};
  for (const Value parameter : root["parameters"]) cluster.parameters.emplace(parameter.key(), parameter.text());
  for (const auto& [key, value] :
       {std::pair("name", &cluster.name), std::pair("uid", &cluster.uid),
        std::pair("hostNamespace", &cluster.host_namespace), std::pair("listen", &cluster.listen)})
    if (value->empty()) return bad_request(std::string("key ") + key + " is missing");
  return cluster;
}

int VirtualCluster::listen_port() const { return parse_port(split_host_port(listen).port.value_or("")).value_or(0); }

Result<syncer::TranslateContext> translate_context(const VirtualCluster& cluster) {
  syncer::TranslateContext context;
  context.virtual_cluster = cluster.name;
  context.virtual_cluster_uid = cluster.uid;
  context.host_namespace = cluster.host_namespace;
  context.host_service_account = cluster.host_service_account;
  const HostPort listen = split_host_port(cluster.listen);
  context.api_server_host = listen.host;
  context.api_server_port = listen.port.value_or("");
  if (const std::string& service = cluster.pod_access.service_address; !service.empty()) {
    context.api_server_host = context.dns_service_ip = service;
    context.api_server_port = "443";
  }
  std::vector<std::string> left_out;  // reported by create
  const std::string file = cluster.template_file.empty() ? "template.yaml" : cluster.template_file;
  auto made = cluster.template_text.empty()
                  ? Result<patches::Template>(patches::Template::none())
                  : patches::Template::load(cluster.template_text, file, {}, cluster.lenient ? &left_out : nullptr);
  if (!made) return fail(made.error());
  auto resolved = made->resolve(cluster.parameters, cluster.name, cluster.host_namespace);
  if (!resolved) return fail(resolved.error());
  context.resolved_template = *resolved;
  if (!syncer::config_of(context).cluster_dns) context.dns_service_ip.clear();
  return context;
}

std::string syncer_account(const VirtualCluster& cluster) { return "sublet-syncer-" + cluster.name; }

std::string syncer_user(const VirtualCluster& cluster) {
  return "system:serviceaccount:" + cluster.host_namespace + ":" + syncer_account(cluster);
}

std::string host_selector(const VirtualCluster& cluster) {
  return std::string(syncer::kLabelTenantUid) + "=" + cluster.uid;
}

}  // namespace sublet::cluster
