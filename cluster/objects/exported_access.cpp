#include "cluster/objects/exported_access.h"

#include "cluster/host/host_manifest.h"
#include "sublet/net/digest.h"
#include "sublet/net/loop.h"

namespace sublet::cluster {
namespace {

using patches::ExportedAccount;
using patches::ExportedKubeconfig;
using schema::Document;
using schema::Value;

constexpr const char* kOwnAccount = "sublet-export";
constexpr const char* kAccountNamespace = "kube-system";
constexpr const char* kAdministrator = "cluster-admin";
constexpr const char* kContentDigest = "sublet.dev/exported";  // of the Secret's content without the token
// The Secret may be used for as long as this without a restart of the virtual cluster.
constexpr std::int64_t kTokenSeconds = 10LL * 365 * 24 * 3600;
const kube::Resource kSecrets{"", "v1", "secrets"}, kAccounts{"", "v1", "serviceaccounts"},
    kBindings{kRbacGroup, "v1", "clusterrolebindings"};

ExportedKubeconfig completed(ExportedKubeconfig wanted, const VirtualCluster& cluster) {
  if (wanted.secret_name.empty()) wanted.secret_name = "vc-" + cluster.name;
  if (wanted.secret_namespace.empty()) wanted.secret_namespace = cluster.host_namespace;
  if (wanted.context.empty()) wanted.context = cluster.name;
  if (wanted.server.empty())
    wanted.server =
        "https://" + (cluster.pod_access.service_address.empty() ? cluster.listen : cluster.pod_access.service_address);
  ExportedAccount& account = wanted.account;
  if (account.name.empty()) account = {kOwnAccount, kAccountNamespace, kAdministrator};
  if (account.tenant_namespace.empty()) account.tenant_namespace = kAccountNamespace;
  return wanted;
}

// The access that the Secret gives.
kube::ClusterAccess access_of(const ExportedKubeconfig& wanted, const kube::ClusterAccess& admin,
                              const std::string& token) {
  kube::ClusterAccess access;
  access.context_name = access.cluster_name = access.user_name = wanted.context;
  access.server = wanted.server;
  access.insecure_skip_tls_verify = wanted.insecure;
  if (!wanted.insecure) access.ca_pem = admin.ca_pem;
  access.bearer_token = token;
  return access;
}

Outcome make(const kube::Client& tenant, const Document& object) {
  const Value root = object.root();
  const bool account = root["kind"].text() == "ServiceAccount";
  const auto made = tenant.create(account ? kAccounts : kBindings, root["metadata"]["namespace"].text(), root);
  if (made || made.error().is(Reason::already_exists)) return {};
  return fail(made.error());
}

Result<std::string> token_for(const kube::Client& tenant, const ExportedAccount& account) {
  for (const Document& object : account_manifests(account))
    if (auto made = make(tenant, object); !made) return fail(made.error());
  Document request = Document::object();
  request.root().object("spec").put("expirationSeconds", kTokenSeconds);
  const auto issued = tenant.create(kAccounts, account.tenant_namespace, request.root(), account.name, "token");
  if (!issued) return fail(issued.error());
  return (*issued)["status"]["token"].string();
}

Outcome export_one(const Host& host, const VirtualCluster& cluster, const patches::SyncConfig& config,
                   const ExportedKubeconfig& wanted, const kube::ClusterAccess& admin, const kube::Client& tenant) {
  const Document without_token = export_secret(cluster, config, wanted, admin, "");
  const Value wanted_digest = without_token.root()["metadata"]["annotations"][kContentDigest];
  const auto there = host.client.get(kSecrets, wanted.secret_namespace, wanted.secret_name);
  if (there && there->root()["metadata"]["annotations"][kContentDigest].text() == wanted_digest.text() &&
      check_ours(cluster, kSecrets, there->root()))
    return {};
  const auto token = token_for(tenant, wanted.account);
  if (!token) return fail(token.error());
  const auto kept =
      keep_manifest(host, cluster, kSecrets, export_secret(cluster, config, wanted, admin, *token).root());
  return kept ? Outcome() : fail(kept.error());
}

}  // namespace

std::vector<ExportedKubeconfig> exports_of(const VirtualCluster& cluster, const patches::SyncConfig& config) {
  std::vector<ExportedKubeconfig> all;
  if (config.exported.given()) all.push_back(completed(config.exported, cluster));
  for (const ExportedKubeconfig& wanted : config.exported_also) all.push_back(completed(wanted, cluster));
  if (config.control_plane.monitor.enabled) {
    ExportedKubeconfig metrics;
    metrics.secret_name = metrics_secret_name(cluster);
    metrics.account = {"sublet-metrics", kAccountNamespace, "system:monitoring"};
    all.push_back(completed(metrics, cluster));
  }
  return all;
}

std::string metrics_secret_name(const VirtualCluster& cluster) { return "vc-" + cluster.name + "-metrics"; }

std::vector<Document> account_manifests(const ExportedAccount& account) {
  std::vector<Document> objects;
  objects.push_back(Document::object());
  objects.back().root().put("kind", "ServiceAccount");
  Value metadata = objects.back().root().object("metadata");
  metadata.put("name", account.name);
  metadata.put("namespace", account.tenant_namespace);
  if (account.cluster_role.empty()) return objects;
  objects.push_back(Document::object());
  Value binding = objects.back().root();
  binding.put("kind", "ClusterRoleBinding");
  binding.object("metadata").put("name", "sublet:export:" + account.tenant_namespace + ":" + account.name);
  Value role = binding.object("roleRef");
  role.put("apiGroup", kRbacGroup);
  role.put("kind", "ClusterRole");
  role.put("name", account.cluster_role);
  Value subject = binding.array("subjects").push_object();
  subject.put("kind", "ServiceAccount");
  subject.put("name", account.name);
  subject.put("namespace", account.tenant_namespace);
  return objects;
}

Document export_secret(const VirtualCluster& cluster, const patches::SyncConfig& config,
                       const ExportedKubeconfig& wanted, const kube::ClusterAccess& admin, const std::string& token) {
  Document secret = host_manifest(cluster, "v1", "Secret", wanted.secret_name, with_global(config, {}));
  secret.root()["metadata"].put("namespace", wanted.secret_namespace);
  secret.root().put("type", "Opaque");
  Value data = secret.root().object("stringData");
  const std::string whose =
      wanted.account.tenant_namespace + "/" + wanted.account.name + " " + wanted.account.cluster_role + "\n";
  const std::string content = whose + kube::render_kubeconfig(access_of(wanted, admin, ""));
  secret.root()["metadata"].object("annotations").put(kContentDigest, net::sha256_hex(content, 32));
  data.put("config", kube::render_kubeconfig(access_of(wanted, admin, token)));
  if (!wanted.insecure) data.put("certificate-authority", admin.ca_pem);
  data.put("token", token);
  return secret;
}

Outcome export_access(const Host& host, const VirtualCluster& cluster, const kube::ClusterAccess& admin) {
  const auto context = translate_context(cluster);
  if (!context) return fail(context.error());
  const patches::SyncConfig& config = syncer::config_of(*context);
  const auto wanted = exports_of(cluster, config);
  if (wanted.empty()) return {};
  net::LoopThread loop("export-access");
  auto transport = kube::connect(loop.loop(), admin);
  if (!transport) return fail(transport.error());
  const kube::Client tenant(*transport, {.user_agent = "sublet"});
  for (const ExportedKubeconfig& one : wanted) {
    auto exported = export_one(host, cluster, config, one, admin, tenant);
    if (exported) continue;
    Status status = exported.error();
    status.message = "exportKubeConfig, Secret " + one.secret_namespace + "/" + one.secret_name + ": " + status.message;
    return fail(std::move(status));
  }
  return {};
}

}  // namespace sublet::cluster
