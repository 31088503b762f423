#include "syncer/translate/rewrites.h"

#include <algorithm>
#include <array>
#include <optional>

#include "sublet/kube/selectors.h"
#include "sublet/net/digest.h"
#include "sublet/podsecurity/check_pod.h"
#include "sublet/syncer/node_names.h"
#include "syncer/translate/metadata.h"
#include "syncer/translate/names.h"
#include "syncer/translate/overruled.h"
#include "syncer/translate/pod_environment.h"
#include "syncer/translate/reserved_keys.h"
#include "syncer/translate/variables.h"

// Map of this file: metadata, references, tenant facts in containers, selectors, bounds, what the template allows, what
// comes back, pod-wide steps.

namespace sublet::syncer {

using schema::Value;

void written_after_rows(Translation&, Value, Value) {}

// --- metadata ------------------------------------------------------------------------------------------------------

void give_labels_and_annotations(Translation&, Value metadata) {
  metadata.object("labels");
  metadata.object("annotations");
}

void rewrite_object_name(Translation& translation, Value, Value field) {
  field.set(translation.host_name_of(translation.tenant_name()));
}

void rewrite_object_namespace(Translation& translation, Value, Value field) {
  field.set(translation.context().host_namespace);
}

// --- references ----------------------------------------------------------------------------------------------------

namespace {

void rewrite_name(Translation& translation, Value field, std::string_view kind, bool optional) {
  const std::string tenant_name = field.string();
  if (tenant_name.empty()) return;  // the API server has refused it where a name is required
  translation.refer(kind, tenant_name, optional);
  field.set(translation.host_name_of(tenant_name));
}

}  // namespace

void rewrite_config_map_name(Translation& translation, Value parent, Value field) {
  rewrite_name(translation, field, "ConfigMap", parent["optional"].boolean());
}

void rewrite_secret_name(Translation& translation, Value parent, Value field) {
  rewrite_name(translation, field, "Secret", parent["optional"].boolean());
}

void rewrite_pull_secret_name(Translation& translation, Value, Value field) {
  rewrite_name(translation, field, "Secret", true);
}

// The kubelet would ask the host for a token of the host. The syncer asks the tenant instead and keeps it in a Secret.
void rewrite_token_projection(Translation& translation, Value parent, Value field) {
  constexpr int kExpirationDefault = 3600;
  const std::string path = field["path"].string();
  TokenRequest token;
  token.service_account = translation.tenant().path("spec.serviceAccountName").string("default");
  token.audience = field["audience"].string();
  token.expiration_seconds = static_cast<int>(field["expirationSeconds"].integer(kExpirationDefault));
  const Value metadata = translation.tenant()["metadata"];
  const std::string uid = metadata["uid"].string();
  token.batch = token_batch(metadata["creationTimestamp"].text(), uid);
  token.secret_name =
      host_token_secret_name(token.batch, translation.tenant_namespace(), translation.context().virtual_cluster);
  token.secret_key = uid + ".token-" + std::to_string(translation.tokens.size());
  parent.erase("serviceAccountToken");
  Value secret = parent.object("secret");
  secret.clear();
  secret.put("name", token.secret_name);
  Value item = secret.array("items").push_object();
  item.put("key", token.secret_key);
  item.put("path", path);
  translation.tokens.push_back(std::move(token));
}

// --- tenant facts in containers ------------------------------------------------------------------------------------

namespace {

// `metadata.labels['key']` -> key; strict: exactly this form.
std::optional<std::string> subscript(std::string_view path, std::string_view map) {
  if (!path.starts_with(map) || !path.substr(map.size()).starts_with("['") || !path.ends_with("']"))
    return std::nullopt;
  const std::string_view key = path.substr(map.size() + 2, path.size() - map.size() - 4);
  if (key.empty() || key.find('\'') != std::string_view::npos) return std::nullopt;
  return std::string(key);
}

// What the tenant's API says for a downward-API path; nullopt: the path is the host's to answer (status, node).
std::optional<std::string> tenant_fact(const Translation& translation, std::string_view path) {
  const Value metadata = translation.tenant()["metadata"];
  if (path == "metadata.name" || path == "metadata.namespace" || path == "metadata.uid")
    return metadata[path.substr(path.find('.') + 1)].string();
  if (path == "spec.nodeName" && translation.nodes().are_pseudo()) {
    std::string node = only_node(translation.tenant());
    if (!node.empty()) return node;
  }
  if (path == "spec.serviceAccountName") return translation.tenant().path("spec.serviceAccountName").string();
  if (const auto key = subscript(path, "metadata.labels")) return metadata["labels"][*key].string();
  if (const auto key = subscript(path, "metadata.annotations")) return metadata["annotations"][*key].string();
  return std::nullopt;
}

constexpr std::array<std::string_view, 7> kHostFacts{"spec.nodeName", "status.hostIP", "status.hostIPs",
                                                     "status.podIP",  "status.podIPs", "spec.restartPolicy",
                                                     "status.phase"};

constexpr std::array<std::string_view, 3> kNodeFacts{"spec.nodeName", "status.hostIP", "status.hostIPs"};

// The kubelet expands $(NAME) in a literal value; a fact must come out as it is.
std::string unexpanded(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '$' ? "$$" : std::string(1, c);
  return out;
}

// Go's strconv.Quote, near enough for label and annotation values as the kubelet prints them.
std::string kubelet_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\r':
        out += "\\r";
        break;
      default:
        out += c;
    }
  }
  return out + "\"";
}

// The file that the downward API shows for all labels or annotations: sorted key="value" lines.
std::string map_lines(const Value& map) {
  std::vector<std::pair<std::string, std::string>> entries;
  for (const Value entry : map) entries.emplace_back(entry.key(), entry.text());
  std::sort(entries.begin(), entries.end());
  std::string lines;
  for (const auto& [key, value] : entries) lines += (lines.empty() ? "" : "\n") + key + "=" + kubelet_quoted(value);
  return lines;
}

constexpr std::string_view kAskForVariables = "; its template can allow it (allow.pods.variables)";

std::string annotation_path(std::string_view key) { return "metadata.annotations['" + std::string(key) + "']"; }

}  // namespace

void leave_out_steering_variables(Translation& translation, Value parent, Value field) {
  field.retain([&](const Value& variable) {
    const std::string_view name = variable["name"].text();
    if (!steers(name) || translation.allowed().variables.match(name)) return true;
    translation.warn("variable " + std::string(name) +
                     " picks devices or loads code, which is the platform's to do; it is left out" +
                     std::string(kAskForVariables));
    return false;
  });
  if (field.empty()) parent.erase("env");
}

// What stands behind it is known only when the ConfigMap or Secret crosses, and there without the prefix.
void refuse_steering_prefix(Translation& translation, Value, Value field) {
  if (!field.text().empty() && could_steer(field.text(), translation.allowed().variables))
    translation.deny("variables that begin with \"" + field.string() +
                     "\" can pick devices or load code, which is the platform's to do" + std::string(kAskForVariables));
}

// Who takes all keys as variables gets none of these.
void leave_out_steering_keys(Translation& translation, Value, Value field) {
  field.retain([&](const Value& entry) {
    if (!steers(entry.key()) || translation.allowed().variables.match(entry.key())) return true;
    translation.warn(
        "key " + std::string(entry.key()) +
        " would be a variable that picks devices or loads code where a container takes all keys by envFrom; "
        "it does not cross to the host" +
        std::string(kAskForVariables));
    return false;
  });
}

void answer_variable(Translation& translation, Value variable) {
  const std::string path = variable["valueFrom"]["fieldRef"]["fieldPath"].string();
  const auto fact = path.empty() ? std::nullopt : tenant_fact(translation, path);
  if (!fact) return;
  variable.erase("valueFrom");
  variable.put("value", unexpanded(*fact));
}

void refuse_field_path(Translation& translation, Value, Value field) {
  if (translation.nodes().are_pseudo() && std::ranges::find(kNodeFacts, field.text()) != kNodeFacts.end())
    return translation.deny(
        "fieldPath " + field.string() +
        " would be answered by the node, with its name or address on the host, which this virtual cluster does not "
        "tell (sync.fromHost.nodes.pseudoNames); spec.nodeName is answered for pods that can only go to one node, as a "
        "DaemonSet's do");
  if (std::find(kHostFacts.begin(), kHostFacts.end(), field.text()) == kHostFacts.end())
    translation.deny("fieldPath " + field.string() + " is not offered");
}

// A file must follow later changes of labels and annotations, so the fact travels as an annotation on the host pod;
// whose pod it is stands there anyway.
void rewrite_volume_field_path(Translation& translation, Value parent, Value field) {
  const std::string path = field.string();
  const Value metadata = translation.tenant()["metadata"];
  if (path == "metadata.labels" || path == "metadata.annotations") {
    const std::string map = path.substr(path.find('.') + 1);
    field.set(annotation_path(translation.carry_annotation("sublet.dev/tenant-" + map, map_lines(metadata[map]))));
    return;
  }
  if (path == "metadata.namespace") return field.set("metadata.labels['" + std::string(kLabelTenantNamespace) + "']");
  if (path == "metadata.name") return field.set(annotation_path(kAnnotationTenantName));
  if (path == "metadata.uid") return field.set(annotation_path(kAnnotationTenantUid));
  if (const auto fact = tenant_fact(translation, path)) {
    const std::string key = std::string(kFactPrefix) + net::sha256_hex(path, 16);
    field.set(annotation_path(translation.carry_annotation(key, *fact)));
    return;
  }
  refuse_field_path(translation, parent, field);
}

// --- selectors -----------------------------------------------------------------------------------------------------

// All pods of all tenants' namespaces may share a host namespace: narrow every selector to the virtual cluster, and to
// the namespaces that the term means. A term without labelSelector matches nothing, and stays so.
void rewrite_affinity_term(Translation& translation, Value term) {
  Value labels = term["labelSelector"];
  const Value selector = term["namespaceSelector"];
  if (!labels.is_object()) return;
  translate_label_selector(labels);
  narrow_to_virtual_cluster(translation, labels);
  if (!selector["matchLabels"].empty() || !selector["matchExpressions"].empty())
    return translation.deny(
        "a namespaceSelector with labels cannot be translated to the host; list the namespaces by name",
        "namespaceSelector");
  if (selector) return;  // empty selector: every namespace of the tenant
  Value expression = labels.array("matchExpressions").push_object();
  expression.put("key", kLabelTenantNamespace);
  expression.put("operator", "In");
  Value values = expression.array("values");
  for (const Value name : term["namespaces"]) values.push(name.text());
  if (values.empty()) values.push(translation.tenant_namespace());
}

void rewrite_own_namespace_selector(Translation& translation, Value, Value field) {
  translate_label_selector(field);
  narrow_to_own_namespace(translation, field);
}

void rewrite_service_selector(Translation& translation, Value, Value field) {
  if (field.empty()) return;  // endpoints are managed by hand
  translate_label_map(field);
  field.put(kLabelTenantUid, translation.context().virtual_cluster_uid);
  field.put(kLabelTenantNamespace, translation.tenant_namespace());
}

void rewrite_label_keys(Translation&, Value, Value field) { translate_label_keys(field); }

// --- bounds --------------------------------------------------------------------------------------------------------

namespace {
constexpr std::int64_t kGraceSecondsMax = 3600;

// Those of the Pod Security Standards' baseline before 1.32.
constexpr std::array<std::string_view, 10> kSysctls{
    "kernel.shm_rmid_forced",       "net.ipv4.ip_local_port_range", "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.tcp_syncookies",      "net.ipv4.ping_group_range",    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.tcp_keepalive_time",  "net.ipv4.tcp_fin_timeout",     "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes"};
}  // namespace

// An endless grace period would keep host objects, and the quota they hold, for ever.
void clamp_grace_period(Translation& translation, Value, Value field) {
  if (field.integer() <= kGraceSecondsMax) return;
  translation.warn("cut to " + std::to_string(kGraceSecondsMax) + " seconds");
  field.set(kGraceSecondsMax);
}

// Nodes that the platform keeps for itself stay closed; a toleration of everything would open all of them.
void clamp_tolerations(Translation& translation, Value parent, Value field) {
  field.retain([&](const Value& toleration) {
    const std::string_view key = toleration["key"].text();
    if (!key.empty() && translation.allowed().tolerations.match(key)) return true;
    translation.warn("a toleration of " + (key.empty() ? std::string("every taint") : std::string(key)) +
                     " does not cross to the host, where taints are the platform's; its template can allow it "
                     "(allow.pods.tolerations)");
    return false;
  });
  for (const Value toleration : field) find_named_value(translation, toleration, toleration["value"]);
  if (field.empty()) parent.erase("tolerations");
}

std::vector<std::pair<std::string, std::string>> shown_nodes(const TranslateContext& context) {
  std::vector<std::pair<std::string, std::string>> labels;
  if (!context.resolved_template) return labels;
  const auto selector = kube::LabelSelector::parse(context.resolved_template->config().nodes_selector);
  if (!selector) return labels;  // load() has made the text
  for (const kube::SelectorRequirement& label : selector->requirements())
    labels.emplace_back(label.key, label.values.at(0));
  return labels;
}

namespace {
void refuse_node_key(Translation& translation, std::string_view key, std::string_view member) {
  if (translation.allowed().node_labels.match(key)) return;
  for (const auto& shown : shown_nodes(translation.context()))
    if (shown.first == key) return;
  translation.deny("nodes are not chosen by " + std::string(key) + " in this virtual cluster, but by " +
                       translation.allowed().node_labels.words() +
                       "; the platform's template can allow it (allow.pods.nodeLabels)",
                   member);
}
}  // namespace

// Elsewhere no node that the tenant sees could run the pod.
void keep_to_shown_nodes(Translation& translation, Value parent, Value field) {
  find_chosen_nodes(translation, parent, field);
  const bool hidden = translation.nodes().are_pseudo();
  for (const auto& [key, value] : shown_nodes(translation.context())) {
    if (!field.has(key) || field[key].text() == value) continue;
    // Whose name the tenant means only the syncer can tell, and what the template says is the host's.
    if (hidden && NodeNames::names_nodes(key) && !translation.context().node_names) continue;
    translation.deny(
        "this virtual cluster has only nodes with " + (hidden ? "another value of " + key : key + "=" + value), key);
  }
  for (const Value label : field) refuse_node_key(translation, label.key(), label.key());
}

void refuse_node_label(Translation& translation, Value, Value field) { refuse_node_key(translation, field.text(), ""); }

void put_shown_nodes(const Translation& translation, Value host_object) {
  for (const auto& [key, value] : shown_nodes(translation.context()))
    host_object.object("spec").object("nodeSelector").put(key, value);
}

// A tenant pod has a node name once the host's scheduler chose it; at create it would get around that scheduler.
void refuse_node_name(Translation& translation, Value parent, Value field) {
  if (translation.operation() == Operation::create && !field.text().empty())
    translation.deny("pods are placed by the host's scheduler; use nodeSelector or affinity instead");
  parent.erase("nodeName");
}

void refuse_mount_propagation(Translation& translation, Value, Value field) {
  if (field.text() == "Bidirectional") translation.deny("Bidirectional mount propagation reaches into the node");
}

void refuse_foreign_host(Translation& translation, Value, Value field) {
  if (!field.text().empty())  // localhost too: it is the kubelet that dials, from the node
    translation.deny("the kubelet calls only the pod itself; leave host empty");
}

void refuse_unsafe_sysctls(Translation& translation, Value, Value field) {
  for (const Value sysctl : field)
    if (std::ranges::find(kSysctls, sysctl["name"].text()) == kSysctls.end())
      translation.deny("sysctl " + sysctl["name"].string() + " is not in the safe set");
}

void refuse_unconfined(Translation& translation, Value, Value field) {
  if (field["type"].text() == "Unconfined") translation.deny("Unconfined is not allowed in a virtual cluster");
}

void refuse_capabilities(Translation& translation, Value, Value field) {
  for (const Value capability : field["add"])
    if (!podsecurity::is_default_capability(capability.text()))
      translation.deny("capability " + capability.string() + " may not be added in a virtual cluster");
}

void refuse_proc_mount(Translation& translation, Value, Value field) {
  if (!field.text().empty() && field.text() != "Default") translation.deny("only procMount Default is allowed");
}

void refuse_selinux_type(Translation& translation, Value, Value field) {
  if (!podsecurity::is_confined_selinux_type(field.text()))
    translation.deny("SELinux type " + field.string() + " is not allowed");
}

// Types on which host controllers act must not reach them.
void clamp_secret_type(Translation&, Value, Value field) {
  if (field.text() == "kubernetes.io/service-account-token" || field.text() == "bootstrap.kubernetes.io/token")
    field.set("Opaque");
}

// --- the platform's, but for what its template allows ---------------------------------------------------------------

void refuse_scheduler(Translation& translation, Value, Value field) {
  if (!field.text().empty() && !translation.allowed().schedulers.match(field.text()))
    translation.deny("scheduler " + field.string() + " is not offered in this virtual cluster, but " +
                     translation.allowed().schedulers.words() +
                     "; the platform's template can allow it "
                     "(allow.pods.schedulers)");
}

// What the nodes have of these is shared by all tenants.
void refuse_resources(Translation& translation, Value, Value field) {
  for (const Value amount : field)
    if (!translation.allowed().resources.match(amount.key()))
      translation.deny("resource " + std::string(amount.key()) + " is not offered in this virtual cluster, but " +
                           translation.allowed().resources.words() +
                           "; the platform's template can allow it (allow.pods.resources)",
                       amount.key());
}

void keep_allowed_priority_class(Translation& translation, Value parent, Value field) {
  if (field.text().empty() || translation.allowed().priority_classes.match(field.text())) return;
  translation.warn("priorities are the platform's: on the host the pod has the host's default priority");
  parent.erase("priorityClassName");
}

void refuse_service_type(Translation& translation, Value, Value field) {
  if (!translation.allowed().service_types.match(field.text("ClusterIP")))
    translation.deny("Services of type " + field.string() + " are not offered in this virtual cluster, but " +
                     translation.allowed().service_types.words() +
                     "; the platform's template can allow it (allow.services.types)");
}

void refuse_external_ips(Translation& translation, Value, Value field) {
  for (const Value address : field)
    if (!translation.allowed().external_ips.contain(address.text()))
      translation.deny("external IP " + address.string() +
                       " would take traffic of others; the platform's template can "
                       "allow networks (allow.services.externalIPs)");
}

void refuse_load_balancer_ip(Translation& translation, Value, Value field) {
  if (!field.text().empty() && !translation.allowed().load_balancer_ips.contain(field.text()))
    translation.deny(
        "the host gives a load balancer its address; the platform's template can allow networks to choose "
        "from (allow.services.loadBalancerIPs)");
}

void refuse_load_balancer_class(Translation& translation, Value, Value field) {
  if (!field.text().empty() && !translation.allowed().load_balancer_classes.match(field.text()))
    translation.deny("load balancers of class " + field.string() +
                     " are not offered in this virtual cluster; the platform's template can allow them "
                     "(allow.services.loadBalancerClasses)");
}

void refuse_external_name(Translation& translation, Value, Value field) {
  if (!field.text().empty() && !translation.allowed().external_names.match(field.text()))
    translation.deny("the name " + field.string() +
                     " would be resolved on the host's side; the platform's template can "
                     "allow names (allow.services.externalNames)");
}

// The host gives its own address; only "None" is a wish.
void keep_only_headless(Translation&, Value parent, Value field) {
  if (field.text() != "None") parent.erase("clusterIP");
}

// --- what comes back -----------------------------------------------------------------------------------------------

namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kStatusLists{{
    {"containerStatuses", "containers"},
    {"initContainerStatuses", "initContainers"},
    {"ephemeralContainerStatuses", "ephemeralContainers"},
}};

bool has_container(const Value& containers, std::string_view name) {
  return std::any_of(containers.begin(), containers.end(),
                     [&](const Value& container) { return container["name"].text() == name; });
}

}  // namespace

void keep_own_containers(Translation& translation, Value parent, Value field) {
  const std::string statuses(field.key());
  for (const auto& [list, containers] : kStatusLists)
    if (list == statuses)
      field.retain([&, source = translation.tenant()["spec"][containers]](Value entry) {
        return has_container(source, entry["name"].text());
      });
  if (field.empty()) parent.erase(statuses);
}

// --- pod-wide steps ------------------------------------------------------------------------------------------------

namespace {

// The host name that a kubelet makes from a pod's name.
std::string kubelet_hostname(std::string_view tenant_name) {
  constexpr std::size_t kHostnameMax = 63;
  std::string hostname(tenant_name.substr(0, kHostnameMax));
  while (hostname.ends_with('-') || hostname.ends_with('.')) hostname.pop_back();
  return hostname;
}

// spec.hostname is a DNS label. A name with dots goes into hostnameOverride, which hosts know from Kubernetes 1.34 on;
// older hosts keep the label with '-' for each dot.
void set_hostname(const Translation& translation, Value host_pod_spec) {
  if (!host_pod_spec["hostname"].text().empty()) return;
  std::string hostname = kubelet_hostname(translation.tenant_name());
  const bool overrides = hostname.find('.') != std::string::npos && host_pod_spec["hostnameOverride"].text().empty() &&
                         !host_pod_spec["setHostnameAsFQDN"].boolean();
  if (overrides) host_pod_spec.put("hostnameOverride", hostname);
  std::replace(hostname.begin(), hostname.end(), '.', '-');
  host_pod_spec.put("hostname", hostname);
}

// What a pod may say itself, and what a kubelet keeps of it beside its own.
constexpr std::size_t kNameServersMax = 3, kSearchesMax = 32;

void point_to_tenant_dns(const Translation& translation, Value host_pod_spec) {
  const std::string& whole = translation.config().cluster_domain;
  const std::string domain = "svc." + whole;
  const schema::Document own = schema::Document::copy_of(host_pod_spec["dnsConfig"]);
  Value config = host_pod_spec.object("dnsConfig");
  config.clear();
  Value servers = config.array("nameservers");
  servers.push(translation.context().dns_service_ip);
  for (const Value server : own["nameservers"])
    if (server.text() != translation.context().dns_service_ip && servers.size() < kNameServersMax)
      servers.push(server.text());
  Value searches = config.array("searches");
  searches.push(std::string(translation.tenant_namespace()) + "." + domain);
  searches.push(domain);
  searches.push(whole);
  for (const Value search : own["searches"])
    if (searches.size() < kSearchesMax) searches.push(search.text());
  Value options = config.array("options");
  bool has_ndots = false;
  for (const Value option : own["options"]) {
    options.push(option);
    has_ndots = has_ndots || option["name"].text() == "ndots";
  }
  if (!has_ndots) {
    Value ndots = options.push_object();
    ndots.put("name", "ndots");
    ndots.put("value", "5");
  }
  host_pod_spec.put("dnsPolicy", "None");
}

// Hostname and DNS of the tenant, never the host namespace's search path.
void set_pod_network(const Translation& translation, Value host_pod_spec) {
  set_hostname(translation, host_pod_spec);
  const std::string_view policy = host_pod_spec["dnsPolicy"].text("ClusterFirst");
  if (!policy.starts_with("ClusterFirst")) return;
  if (translation.context().dns_service_ip.empty())
    host_pod_spec.put("dnsPolicy", "Default");  // the node's resolver: the one that knows no namespace of the host
  else
    point_to_tenant_dns(translation, host_pod_spec);
}

}  // namespace

void finish_pod(const Translation& translation, Value host_pod) {
  // They come through their own subresource, once the host pod is there.
  if (translation.operation() == Operation::create) host_pod["spec"].erase("ephemeralContainers");
  overrule(translation, "Pod", host_pod);
  set_pod_network(translation, host_pod["spec"]);
}

namespace {

// Before all others, and therefore the weakest: what a container says itself wins, as over a kubelet's own variables.
void take_host_environment(Value container, const std::string& config_map) {
  const schema::Document own = schema::Document::copy_of(container["envFrom"]);
  Value sources = container.array("envFrom");
  sources.clear();
  sources.push_object().object("configMapRef").put("name", config_map);
  for (const Value source : own.root()) sources.push(source);
}

void put_service_variables(const std::vector<std::pair<std::string, std::string>>& variables, Value container) {
  const schema::Document own = schema::Document::copy_of(container["env"]);
  Value env = container.array("env");
  env.clear();
  for (const auto& [name, value] : variables) {
    const bool overridden =
        std::any_of(own.root().begin(), own.root().end(), [&, n = name](Value v) { return v["name"].text() == n; });
    if (overridden) continue;
    Value variable = env.push_object();
    variable.put("name", name);
    variable.put("value", value);
  }
  for (const Value variable : own.root()) env.push(variable);
}

}  // namespace

void add_service_environment(const Translation& translation, Value host_pod) {
  const TranslateContext& context = translation.context();
  const std::string config_map = host_environment_name(context);
  const bool links = translation.tenant().path("spec.enableServiceLinks").boolean(true);
  for (const std::string_view list : {"initContainers", "containers", "ephemeralContainers"})
    for (const Value container : host_pod["spec"][list]) {
      take_host_environment(container, config_map);
      if (links && !context.service_environment.empty()) put_service_variables(context.service_environment, container);
    }
}

}  // namespace sublet::syncer
