#include "cluster/objects/identity.h"

#include <algorithm>
#include <set>

#include "cluster/host/host_manifest.h"
#include "sublet/base/text.h"
#include "sublet/kube/selectors.h"
#include "sublet/syncer/custom_kinds.h"
#include "sublet/syncer/host_footprint.h"

namespace sublet::cluster {
namespace {

using schema::Document;
using schema::Value;
using syncer::HostRight;

constexpr const char* kAdmissionGroup = "admissionregistration.k8s.io";
const kube::Resource kRoles{kRbacGroup, "v1", "roles"}, kRoleBindings{kRbacGroup, "v1", "rolebindings"},
    kClusterRoles{kRbacGroup, "v1", "clusterroles"}, kClusterRoleBindings{kRbacGroup, "v1", "clusterrolebindings"},
    kPolicies{kAdmissionGroup, "v1", "validatingadmissionpolicies"},
    kPolicyBindings{kAdmissionGroup, "v1", "validatingadmissionpolicybindings"};

// The name of a cluster-scoped object. Neither part contains a '.', so it is unique per virtual cluster.
std::string name_in_cluster(const VirtualCluster& cluster) {
  return "sublet." + cluster.host_namespace + "." + cluster.name;
}

IdentityObject object_of(const VirtualCluster& cluster, const kube::Resource& resource, const char* kind,
                         std::string host_namespace) {
  IdentityObject made{resource, std::move(host_namespace), Document::object(), resource.group == kAdmissionGroup};
  Value root = made.object.root();
  root.put("apiVersion", resource.group.empty() ? "v1" : resource.group + "/v1");
  root.put("kind", kind);
  Value metadata = root.object("metadata");
  metadata.put("name", made.host_namespace.empty() ? name_in_cluster(cluster) : syncer_account(cluster));
  Value labels = metadata.object("labels");
  labels.put(syncer::kLabelManagedBy, cluster.name);
  labels.put(syncer::kLabelTenantUid, cluster.uid);
  return made;
}

// --- rights ----------------------------------------------------------------------------------------------------------

void put_rule(Value rules, const HostRight& right) {
  Value rule = rules.push_object();
  rule.array("apiGroups").push(right.group);
  rule.array("resources").push(right.resource);
  Value verbs = rule.array("verbs");
  for (const auto& verb : right.verbs) verbs.push(verb);
  for (const auto& name : right.names) rule.array("resourceNames").push(name);
}

IdentityObject role(const VirtualCluster& cluster, const std::vector<HostRight>& rights, bool cluster_wide) {
  IdentityObject made = cluster_wide ? object_of(cluster, kClusterRoles, "ClusterRole", "")
                                     : object_of(cluster, kRoles, "Role", cluster.host_namespace);
  Value rules = made.object.root().array("rules");
  for (const HostRight& right : rights)
    if (right.cluster_wide == cluster_wide && right.host_namespace.empty()) put_rule(rules, right);
  if (cluster_wide) return made;
  put_rule(rules, {"", "serviceaccounts/token", {"create"}, false, {}, {}});  // to renew its own token
  rules.at(rules.size() - 1).array("resourceNames").push(syncer_account(cluster));
  return made;
}

// To the role of the binding's own name.
void bind_to_role(const VirtualCluster& cluster, Value root, const char* kind) {
  Value subject = root.array("subjects").push_object();
  subject.put("kind", "ServiceAccount");
  subject.put("name", syncer_account(cluster));
  subject.put("namespace", cluster.host_namespace);
  Value reference = root.object("roleRef");
  reference.put("apiGroup", kRbacGroup);
  reference.put("kind", kind);
  reference.put("name", root["metadata"]["name"].text());
}

// Where the template maps objects of other namespaces into the tenant.
std::set<std::string> other_namespaces(const std::vector<HostRight>& rights) {
  std::set<std::string> spaces;
  for (const HostRight& right : rights)
    if (!right.host_namespace.empty()) spaces.insert(right.host_namespace);
  return spaces;
}

IdentityObject role_elsewhere(const VirtualCluster& cluster, const std::vector<HostRight>& rights,
                              const std::string& space) {
  IdentityObject made = object_of(cluster, kRoles, "Role", space);
  made.object.root()["metadata"].put("name", name_in_cluster(cluster));
  Value rules = made.object.root().array("rules");
  for (const HostRight& right : rights)
    if (right.host_namespace == space) put_rule(rules, right);
  return made;
}

IdentityObject binding_elsewhere(const VirtualCluster& cluster, const std::string& space) {
  IdentityObject made = object_of(cluster, kRoleBindings, "RoleBinding", space);
  made.object.root()["metadata"].put("name", name_in_cluster(cluster));
  bind_to_role(cluster, made.object.root(), "Role");
  return made;
}

IdentityObject role_binding(const VirtualCluster& cluster, bool cluster_wide) {
  IdentityObject made = cluster_wide ? object_of(cluster, kClusterRoleBindings, "ClusterRoleBinding", "")
                                     : object_of(cluster, kRoleBindings, "RoleBinding", cluster.host_namespace);
  bind_to_role(cluster, made.object.root(), cluster_wide ? "ClusterRole" : "Role");
  return made;
}

// --- policy ----------------------------------------------------------------------------------------------------------

// CEL text. The values are names, labels and uids, which have no quotes.
std::string has_label(const std::string& object, std::string_view key, const std::string& value) {
  const std::string labels = object + ".metadata.labels";
  return "has(" + labels + ") && " + single_quoted(key) + " in " + labels + " && " + labels + "[" + single_quoted(key) +
         "] == " + single_quoted(value);
}

std::string kind_is(std::string_view resource) { return "request.resource.resource == " + single_quoted(resource); }
std::string not_of(std::string_view resource) { return "!(" + kind_is(resource) + ")"; }

// The one subresource that the policies are about. A member that is empty, as request.subResource mostly is, is
// missing.
const std::string kTokenRequest = "request.kind.kind == 'TokenRequest'";

struct Rule {
  std::string unless, holds;  // CEL: what it is not about ("": it is about all), and what must be
  std::string message;
};

// A selector of pods; one that is not there, or selects by itself, is for the rules of that kind.
Rule narrowed(const VirtualCluster& cluster, const std::string& resource, const std::string& selector) {
  const std::string key = single_quoted(syncer::kLabelTenantUid), at = "object.spec." + selector;
  return {not_of(resource),
          (resource == "services" ? "!has(" + at + ") || " : "has(" + at + ") && ") + key + " in " + at + " && " + at +
              "[" + key + "] == " + single_quoted(cluster.uid),
          resource + " select the virtual cluster's own pods"};
}

std::string runs_as(const VirtualCluster& cluster, const patches::SyncConfig& config) {
  const std::string account = "object.spec.serviceAccountName";
  const std::string own = "has(" + account + ") && " + account;
  const std::string no_token =
      "has(object.spec.automountServiceAccountToken) && !object.spec.automountServiceAccountToken";
  if (!config.service_accounts_to_host)
    return own + " == " + single_quoted(cluster.host_service_account) + " && " + no_token;
  // Which of the others are the tenant's a policy cannot look up; by name they are its own or the workloads'.
  return own + " != " + single_quoted(syncer_account(cluster)) + " && (" + account +
         " == " + single_quoted(cluster.host_service_account) + " || " + account + ".contains('-')) && " + no_token;
}

std::string owned(const VirtualCluster& cluster, const std::string& object) {
  return has_label(object, syncer::kLabelTenantUid, cluster.uid);
}

Rule marked(const VirtualCluster& cluster) {
  return {kTokenRequest, owned(cluster, "object") + " && " + has_label("object", syncer::kLabelManagedBy, cluster.name),
          "what the syncer writes carries the labels of its virtual cluster"};
}

Rule was_owned(const VirtualCluster& cluster) {
  return {"", owned(cluster, "oldObject"),
          "the syncer changes and deletes only what carries its virtual cluster's uid"};
}

// Of a regular expression in a CEL text: neither of the two can read anything into it.
std::string literal(char c) {
  constexpr std::string_view kHex = "0123456789abcdef";
  if ((c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z')) return {c};
  const auto byte = static_cast<unsigned char>(c);
  return {'\\', '\\', 'x', '{', kHex[byte >> 4], kHex[byte & 15], '}'};
}

// CEL: whether a text matches one of the template's patterns, in which '*' matches any characters (patches::Patterns).
constexpr const char *kAny = ".*", *kPartOfPath = "[^/]+";
std::string is_one_of(const std::string& text, const patches::Patterns& words, const char* star = kAny) {
  std::string expression;
  for (const std::string& word : words.list()) {
    std::string pattern = "^";
    for (const char c : word) pattern += c == '*' ? star : literal(c);
    expression += (expression.empty() ? "" : " || ") + text + ".matches(" + single_quoted(pattern + "$") + ")";
  }
  return expression.empty() ? "false" : "(" + expression + ")";
}

// Of data that are there already a tenant may have what the template names, for a claim of this host namespace.
Rule volumes_of_template(const VirtualCluster& cluster, const patches::Allowed& allowed) {
  const std::string spec = "object.spec", csi = spec + ".csi", nfs = spec + ".nfs";
  std::string secrets;
  for (const char* name : {"controllerPublish", "nodeStage", "nodePublish", "controllerExpand", "nodeExpand"})
    secrets += " && !has(" + csi + "." + name + "SecretRef)";
  const std::string of_csi =
      "has(" + csi + ") && !" + csi + ".volumeHandle.contains('..') && " +
      is_one_of("(" + csi + ".driver + '/' + " + csi + ".volumeHandle)", allowed.csi_volumes) + secrets + " && (!has(" +
      csi + ".volumeAttributes) || " + csi + ".volumeAttributes.all(key, !" + csi +
      ".volumeAttributes[key].contains('..') && " +
      is_one_of("(" + csi + ".driver + '/' + key + '=' + " + csi + ".volumeAttributes[key])", allowed.csi_attributes) +
      "))";
  std::string plain;
  for (const char* odd : {"..", "//", "/./"}) plain += " && !" + nfs + ".path.contains('" + odd + "')";
  const std::string of_nfs = "has(" + nfs + ") && !" + nfs + ".server.contains('/') && " + nfs +
                             ".path.startsWith('/') && !" + nfs + ".path.endsWith('/') && !" + nfs +
                             ".path.endsWith('/.')" + plain + " && " +
                             is_one_of("(" + nfs + ".server + ':' + " + nfs + ".path)", allowed.nfs_paths, kPartOfPath);
  const std::string noted =
      "(!has(object.metadata.annotations) || !['volume.beta.kubernetes.io/mount-options', "
      "'volume.kubernetes.io/provisioner-deletion-secret-name', "
      "'volume.kubernetes.io/provisioner-deletion-secret-namespace'].exists(key, key in object.metadata.annotations))";
  return {not_of("persistentvolumes"),
          "(" + of_csi + " || " + of_nfs + ") && has(" + spec + ".claimRef) && " + spec +
              ".claimRef.namespace == " + single_quoted(cluster.host_namespace) + " && (!has(" + spec +
              ".mountOptions) || size(" + spec + ".mountOptions) == 0) && (!has(" + spec +
              ".persistentVolumeReclaimPolicy) || " + spec + ".persistentVolumeReclaimPolicy != 'Recycle') && " + noted,
          "volumes are those of the template's drivers and servers, for a claim of the host namespace"};
}

// Of what is written, made or changed.
void add_rules_of_content(const VirtualCluster& cluster, const patches::SyncConfig& config, std::vector<Rule>& rules) {
  rules.push_back(narrowed(cluster, "services", "selector"));
  if (config.network_policies_to_host) rules.push_back(narrowed(cluster, "networkpolicies", "podSelector.matchLabels"));
  if (config.disruption_budgets_to_host)
    rules.push_back(narrowed(cluster, "poddisruptionbudgets", "selector.matchLabels"));
  if (config.priority_classes_to_host)
    rules.push_back({not_of("priorityclasses"),
                     "object.value >= " + std::to_string(config.priority_min) +
                         " && object.value <= " + std::to_string(config.priority_max) +
                         " && (!has(object.globalDefault) || !object.globalDefault)",
                     "priorities stay within the template's band, and none is the host's default"});
  if (config.volumes_to_host) rules.push_back(volumes_of_template(cluster, config.allowed));
  if (config.storage_classes_to_host)
    rules.push_back(
        {not_of("storageclasses"),
         is_one_of("object.provisioner", config.allowed.provisioners) +
             " && (!has(object.parameters) || object.parameters.all(key, " +
             is_one_of("key", config.allowed.class_parameters) + ")) && (!has(object.mountOptions) || " +
             "size(object.mountOptions) == 0) && (!has(object.metadata.annotations) || " +
             "!('storageclass.kubernetes.io/is-default-class' in object.metadata.annotations))",
         "storage classes are of the template's provisioners and parameters, and none is the host's default"});
}

std::vector<Rule> rules_of_making(const VirtualCluster& cluster, const patches::SyncConfig& config) {
  std::vector<Rule> rules{
      marked(cluster),
      {not_of("pods"), runs_as(cluster, config),
       "pods run under the virtual cluster's account without rights, and without its token"},
      {not_of("pods"), "!has(object.spec.nodeName) || object.spec.nodeName == ''",
       "pods are placed by the host's scheduler"},
      {not_of("secrets"),
       "!has(object.type) || !object.type.startsWith('kubernetes.io/service-account-token') && "
       "!object.type.startsWith('bootstrap.kubernetes.io/')",
       "the syncer asks for no tokens of other accounts"},
      {"!(" + kTokenRequest + ")",
       "object.spec.expirationSeconds <= " + std::to_string(kube::kAccountTokenLife.count()),
       "the syncer's tokens are good for an hour"},
  };
  add_rules_of_content(cluster, config, rules);
  if (const auto shown = kube::LabelSelector::parse(config.nodes_selector))
    for (const auto& label : shown->requirements())
      rules.push_back({not_of("pods"),
                       "has(object.spec.nodeSelector) && " + single_quoted(label.key) +
                           " in object.spec.nodeSelector && " + "object.spec.nodeSelector[" + single_quoted(label.key) +
                           "] == " + single_quoted(label.values.at(0)),
                       "pods go to the virtual cluster's nodes"});
  return rules;
}

std::vector<Rule> rules_of_changing(const VirtualCluster& cluster, const patches::SyncConfig& config) {
  std::vector<Rule> rules{marked(cluster), was_owned(cluster)};
  add_rules_of_content(cluster, config, rules);
  return rules;
}

// One policy for each operation: what is deleted is mostly judged by its label alone.
struct Policy {
  const char *operation, *suffix;
  bool only_foreign;  // it is about what does not carry the uid: the rest costs nothing
};
// In the order in which they are made: an earlier version's one policy for all has the name of the last.
constexpr Policy kPolicyOf[] = {{"DELETE", ".delete", true}, {"UPDATE", ".change", false}, {"CREATE", "", false}};

// Subresources: those that change the object. What the others do (exec) no policy sees as a write.
bool is_matched(const HostRight& right, std::string_view operation) {
  const bool token = right.resource == "serviceaccounts/token";
  const bool view = !token && right.resource.find('/') != std::string::npos;
  const auto may = [&](std::string_view verb) { return std::ranges::find(right.verbs, verb) != right.verbs.end(); };
  if (token) return operation == "CREATE";
  if (view) return operation == "UPDATE" && may("patch") && !may("create");
  return may("create") || may("patch") || may("delete");
}

void put_matched(Value rules, const HostRight& right, const char* operation) {
  if (!is_matched(right, operation)) return;
  Value rule = rules.push_object();
  rule.array("apiGroups").push(right.group);
  rule.array("apiVersions").push("*");
  rule.array("operations").push(operation);
  rule.array("resources").push(right.resource);
  rule.put("scope", right.cluster_wide ? "Cluster" : "Namespaced");
}

void put_match_constraints(const VirtualCluster& cluster, const std::vector<HostRight>& rights, const Policy& of,
                           Value match) {
  match.put("matchPolicy", "Equivalent");
  match.object("namespaceSelector").object("matchLabels").put("kubernetes.io/metadata.name", cluster.host_namespace);
  Value selector = match.object("objectSelector");
  if (of.only_foreign) {
    Value foreign = selector.array("matchExpressions").push_object();
    foreign.put("key", syncer::kLabelTenantUid);
    foreign.put("operator", "NotIn");
    foreign.array("values").push(cluster.uid);
  }
  Value matched = match.array("resourceRules");
  for (const HostRight& right : rights) put_matched(matched, right, of.operation);
  put_matched(matched, {"", "serviceaccounts/token", {"create"}, false, {}, {}}, of.operation);
}

std::vector<Rule> rules_of(const VirtualCluster& cluster, const patches::SyncConfig& config, const Policy& of) {
  if (of.only_foreign) return {was_owned(cluster)};
  return of.operation == std::string_view("CREATE") ? rules_of_making(cluster, config)
                                                    : rules_of_changing(cluster, config);
}

std::string policy_name(const VirtualCluster& cluster, const Policy& of) {
  return name_in_cluster(cluster) + of.suffix;
}

void put_condition(Value conditions, const char* name, const std::string& expression) {
  Value condition = conditions.push_object();
  condition.put("name", name);
  condition.put("expression", expression);
}

IdentityObject policy(const VirtualCluster& cluster, const patches::SyncConfig& config,
                      const std::vector<HostRight>& rights, const Policy& of) {
  IdentityObject made = object_of(cluster, kPolicies, "ValidatingAdmissionPolicy", "");
  made.object.root()["metadata"].put("name", policy_name(cluster, of));
  Value spec = made.object.root().object("spec");
  spec.put("failurePolicy", "Fail");
  put_match_constraints(cluster, rights, of, spec.object("matchConstraints"));
  // For each list of a policy (these conditions, the validations, and two more that are empty here) kube-apiserver
  // makes a map of the whole object, however little is asked of it. So the conditions ask all, and who keeps to the
  // rules pays for one list; the validations only say which rule was broken.
  std::string all_hold;
  Value validations = spec.array("validations");
  for (const Rule& rule : rules_of(cluster, config, of)) {
    const std::string expression = (rule.unless.empty() ? "" : "(" + rule.unless + ") || ") + "(" + rule.holds + ")";
    all_hold += (all_hold.empty() ? "(" : " && (") + expression + ")";
    Value validation = validations.push_object();
    validation.put("expression", expression);
    validation.put("message", "sublet: " + rule.message);
  }
  Value conditions = spec.array("matchConditions");
  put_condition(conditions, "by-the-syncer", "request.userInfo.username == " + single_quoted(syncer_user(cluster)));
  put_condition(conditions, "breaks-a-rule", "!(" + all_hold + ")");
  return made;
}

IdentityObject policy_binding(const VirtualCluster& cluster, const Policy& of) {
  IdentityObject made = object_of(cluster, kPolicyBindings, "ValidatingAdmissionPolicyBinding", "");
  made.object.root()["metadata"].put("name", policy_name(cluster, of));
  Value spec = made.object.root().object("spec");
  spec.put("policyName", policy_name(cluster, of));
  spec.array("validationActions").push("Deny");
  return made;
}

// --- on the host -----------------------------------------------------------------------------------------------------

bool as_wanted(const Value& there, const Value& wanted) {
  for (const char* member : {"rules", "roleRef", "subjects", "spec"})
    if (wanted.has(member) && !there[member].equals(wanted[member])) return false;
  return true;
}

Outcome keep_identity_object(const Host& host, const VirtualCluster& cluster, const IdentityObject& wanted) {
  const Value object = wanted.object.root();
  const std::string name = object["metadata"]["name"].string();
  const auto there = host.client.get(wanted.resource, wanted.host_namespace, name);
  if (!there && !there.error().is(Reason::not_found)) return fail(there.error());
  if (!there) {
    const auto made = host.client.create(wanted.resource, wanted.host_namespace, object);
    return made ? Outcome() : fail(made.error());
  }
  if (there->root()["metadata"]["labels"][syncer::kLabelTenantUid].text() != cluster.uid)
    return fail(Reason::already_exists, object["kind"].string() + " " + name +
                                            " is there, and is not of virtual cluster " + cluster.name + " (" +
                                            host_selector(cluster) + "); remove it, or take another name");
  if (as_wanted(there->root(), object)) return {};
  const auto changed = host.client.apply(wanted.resource, wanted.host_namespace, name, object,
                                         {.field_manager = "sublet", .force = true});
  return changed ? Outcome() : fail(changed.error());
}

// Returns the template's key that reads another namespace of the host.
std::string mapping_from(const patches::SyncConfig& config, const std::string& host_namespace) {
  for (const patches::HostMapping& mapping : config.mappings)
    if (mapping.host_namespace == host_namespace)
      return (mapping.kind == "Secret"      ? std::string("sync.fromHost.secrets")
              : mapping.kind == "ConfigMap" ? std::string("sync.fromHost.configMaps")
                                            : "the mappings of " + mapping.kind + ",") +
             std::string(".mappings.byName \"") + host_namespace + "/" +
             (mapping.host_name.empty() ? "*" : mapping.host_name) + "\"";
  return "the template";
}

// The error for a mapping from a namespace that does not exist: a Role cannot be made there.
std::string missing_namespace(const VirtualCluster& cluster, const patches::SyncConfig& config,
                              const std::string& host_namespace) {
  return mapping_from(config, host_namespace) + " of virtual cluster " + cluster.name + " reads namespace " +
         host_namespace + ", which is not there; create it (`kubectl create namespace " + host_namespace +
         "` with the host's kubeconfig), or take the mapping out of the template";
}

bool policies_are_served(const Host& host) {
  const auto answer = host.client.raw("GET", std::string("/apis/") + kAdmissionGroup + "/v1");
  return answer && answer->code == 200 && answer->body.find(kPolicies.resource) != std::string::npos;
}

}  // namespace

namespace {

// Adds the template's metadata for the account (the first object), and its metadata for all of them.
void put_extra_metadata(std::vector<IdentityObject>& objects, const patches::SyncConfig& config) {
  const patches::ExtraMetadata& of_account = config.control_plane.syncer_account.metadata;
  for (IdentityObject& one : objects) {
    const bool account = &one == objects.data();
    const patches::ExtraMetadata extra = with_global(config, account ? of_account : patches::ExtraMetadata());
    Value metadata = one.object.root()["metadata"];
    put_api_value(metadata["labels"], extra.labels);
    if (!extra.annotations.empty()) put_api_value(metadata.object("annotations"), extra.annotations);
  }
}

}  // namespace

std::vector<IdentityObject> identity_objects(const VirtualCluster& cluster, const syncer::TranslateContext& context) {
  const std::vector<HostRight> rights = syncer::host_rights(context);
  std::vector<IdentityObject> objects;
  objects.push_back(object_of(cluster, kServiceAccounts, "ServiceAccount", cluster.host_namespace));
  objects.back().object.root().put("automountServiceAccountToken", false);
  for (const bool cluster_wide : {false, true}) {
    objects.push_back(role(cluster, rights, cluster_wide));
    objects.push_back(role_binding(cluster, cluster_wide));
  }
  for (const std::string& space : other_namespaces(rights)) {
    objects.push_back(role_elsewhere(cluster, rights, space));
    objects.push_back(binding_elsewhere(cluster, space));
  }
  for (const Policy& of : kPolicyOf) {
    objects.push_back(policy(cluster, syncer::config_of(context), rights, of));
    objects.push_back(policy_binding(cluster, of));
  }
  put_extra_metadata(objects, syncer::config_of(context));
  return objects;
}

// The embedded host simulates its nodes: the policy would protect nothing there and slow down each write.
Outcome keep_identity(const Host& host, const VirtualCluster& cluster, Progress& progress) {
  auto context = translate_context(cluster);
  if (!context) return fail(context.error());
  if (auto learnt = syncer::learn_served_kinds(host.client, *context); !learnt) return learnt;
  for (const std::string& name : syncer::unserved_kinds(*context))
    progress.warn("the host has no CustomResourceDefinition " + name +
                  " that could cross; once it has, the syncer carries such objects");
  for (const std::string& kind : context->unserved_kinds)
    progress.warn(
        "the host does not serve " + kind +
        "s of scheduling.k8s.io/v1alpha2, as Kubernetes 1.36 does with the feature gate GenericWorkload: none "
        "crosses, and pods that name a PodGroup are refused; once it does, the syncer carries them");
  const bool with_policy = !host.embedded && policies_are_served(host);
  if (!host.embedded && !with_policy)
    progress.warn(
        "the host serves no admission policies (Kubernetes 1.30 and later do): whoever steals the syncer's "
        "token could change whatever else is in host namespace " +
        cluster.host_namespace);
  for (const IdentityObject& wanted : identity_objects(cluster, *context)) {
    if (wanted.policy && !with_policy) continue;
    auto kept = keep_identity_object(host, cluster, wanted);
    if (kept) continue;
    Status status = kept.error();
    const bool elsewhere = !wanted.host_namespace.empty() && wanted.host_namespace != cluster.host_namespace;
    if (elsewhere && status.is(Reason::not_found))
      return fail(Reason::not_found, missing_namespace(cluster, syncer::config_of(*context), wanted.host_namespace));
    if (!status.is(Reason::forbidden)) return fail(std::move(status));
    if (!wanted.policy) {
      status.message += "; the kubeconfig given to create must be allowed to make the syncer's account and its rights";
      return fail(std::move(status));
    }
    progress.warn(status.message +
                  "; without it, whoever steals the syncer's token could change whatever else is in "
                  "host namespace " +
                  cluster.host_namespace);
  }
  return {};
}

Result<std::optional<kube::AccountToken>> renewed_token(const Host& host, const VirtualCluster& cluster,
                                                        const std::optional<kube::AccountToken>& current) {
  if (current && !current->due_at(Clock::system().now())) return std::nullopt;
  auto token = kube::request_account_token(host.client, cluster.host_namespace, syncer_account(cluster));
  if (!token) return fail(token.error());
  return std::optional(std::move(*token));
}

kube::ClusterAccess without_credentials(const kube::ClusterAccess& access) {
  kube::ClusterAccess bare = access;
  bare.bearer_token.clear();
  bare.client_certificate_pem.clear();
  bare.client_key_pem.clear();
  return bare;
}

const std::vector<IdentityResource>& identity_resources() {
  static const std::vector<IdentityResource> all{{kRoleBindings},
                                                 {kRoles},
                                                 {kClusterRoleBindings, true},
                                                 {kClusterRoles, true},
                                                 {kPolicyBindings, true, true},
                                                 {kPolicies, true, true}};
  return all;
}

}  // namespace sublet::cluster
