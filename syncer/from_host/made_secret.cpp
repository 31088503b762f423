// Secrets that operators of the host make for a tenant's custom resources, in the tenant (contract: reconcile_made() in
// synced_kinds.h).
#include "sublet/patches/patch.h"
#include "syncer/border/border.h"
#include "syncer/translate/translation.h"

namespace sublet::syncer {
namespace {

using schema::Document;
using schema::Value;

// On what was brought; a tenant that takes it away has the Secret for itself.
constexpr const char* kMadeOnHost = "sublet.dev/made-on-host";

Document wanted_secret(const kube::CachedObject& host_secret, const std::string& tenant_namespace,
                       const std::string& name) {
  const Document whole_secret = host_secret.document();
  Document document = Document::object();
  Value root = document.root();
  root.put("apiVersion", "v1");
  root.put("kind", "Secret");
  Value metadata = root.object("metadata");
  metadata.put("name", name);
  metadata.put("namespace", tenant_namespace);
  metadata.object("annotations").put(kMadeOnHost, "true");
  root.put("type", whole_secret["type"].text("Opaque"));
  if (const Value data = whole_secret["data"]) root.put("data", data);
  return document;
}

// As the operator would write it were it the tenant's: also a Secret that the tenant has made under that name itself.
Outcome bring_secret_up_to_date(Border& border, const kube::CachedObject& cached, const Document& wanted) {
  const Document now = cached.document();
  Document patch = Document::object();
  if (!now["data"].equals(wanted["data"]))
    patch.root().put("data", patches::make_merge_patch(now["data"], wanted["data"]).root());
  if (now["type"].text("Opaque") != wanted["type"].text()) patch.root().put("type", wanted["type"]);
  if (!is_made_on_host(cached)) patch.root().object("metadata").object("annotations").put(kMadeOnHost, "true");
  if (patch.root().empty()) return {};
  patch.root().object("metadata").put("uid", cached.uid);
  ++border.tenant.writes;
  const auto patched =
      border.tenant.client.patch(kSecrets, cached.namespace_name, cached.name, kube::PatchType::merge, patch.to_json());
  if (patched || patched.error().is(Reason::not_found)) return {};
  // Its type changed, or it was immutable: only a new object can carry it; its end brings the key back.
  if (patched.error().is(Reason::invalid) && is_made_on_host(cached))
    return remove_from_tenant(border, kSecrets, cached);
  return fail(patched.error());
}

}  // namespace

bool is_made_there(const kube::CachedObject& host_secret) {
  return host_secret.text({"metadata", "annotations", kAnnotationTenantKind}) == kMadeSecret;
}

bool is_made_on_host(const kube::CachedObject& tenant_secret) {
  return tenant_secret.text({"metadata", "annotations", kMadeOnHost}) == "true";
}

Result<Requeue> reconcile_made(Border& border, const KindSides&, const std::string& tenant_namespace,
                               const std::string& name) {
  const KindSides& secrets = border.sides("Secret");
  const auto host_secret = border.on_host(secrets, tenant_namespace, name);
  const auto tenant_secret = secrets.tenant->get(tenant_namespace, name);
  const auto done = [](const Outcome& outcome) { return outcome ? Result<Requeue>(Requeue()) : fail(outcome.error()); };
  if (!host_secret || !is_made_there(*host_secret)) {
    const bool left_over = !host_secret && tenant_secret && is_made_on_host(*tenant_secret);
    return left_over ? done(remove_from_tenant(border, kSecrets, *tenant_secret)) : Requeue();
  }
  const Document wanted = wanted_secret(*host_secret, tenant_namespace, name);
  if (tenant_secret) return done(bring_secret_up_to_date(border, *tenant_secret, wanted));
  ++border.tenant.writes;
  const auto created = border.tenant.client.create(kSecrets, tenant_namespace, wanted.root());
  // The namespace is gone, and with it whoever asked for the Secret; or the copy is behind, and the next change tells.
  if (created || created.error().is(Reason::not_found) || created.error().is(Reason::already_exists)) return Requeue();
  return fail(created.error());
}

}  // namespace sublet::syncer
