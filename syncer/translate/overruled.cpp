#include "syncer/translate/overruled.h"

#include <algorithm>

#include "syncer/translate/reserved_keys.h"
#include "syncer/translate/translation.h"

namespace sublet::syncer {
namespace {

using schema::Value;

void erase(const Translation&, Value parent, std::string_view member) { parent.erase(member); }
void put_false(const Translation&, Value parent, std::string_view member) { parent.put(member, false); }
void put_tenants(const Translation& translation, Value parent, std::string_view member) {
  parent.put(member, translation.tenant()[member]);
}
void put_host_name(const Translation& translation, Value parent, std::string_view member) {
  parent.put(member, translation.host_name_of(translation.tenant_name()));
}
void put_host_namespace(const Translation& translation, Value parent, std::string_view member) {
  if (translation.tenant_namespace().empty())
    parent.erase(member);
  else
    parent.put(member, translation.context().host_namespace);
}
void put_host_account(const Translation& translation, Value parent, std::string_view member) {
  if (translation.config().service_accounts_to_host)
    parent.put(member, translation.host_name_of(translation.tenant()["spec"]["serviceAccountName"].text("default")));
  else
    parent.put(member, translation.context().host_service_account);
}

constexpr std::string_view kIdentity = "host pods run under an identity without rights, whatever a template says";
constexpr std::string_view kKind = "an object cannot become another kind";

constexpr OverruledMember kMembers[] = {
    {"", "metadata", "name", put_host_name, "the border gives host objects their names"},
    {"", "metadata", "namespace", put_host_namespace,
     "all host objects of a virtual cluster stand in its one host namespace"},
    {"", "metadata", "ownerReferences", erase, "host objects have no owners; sublet cleans up by label"},
    {"", "metadata", "finalizers", erase, "host objects have no finalizers of sublet's"},
    {"", "", "apiVersion", put_tenants, kKind},
    {"", "", "kind", put_tenants, kKind},
    {"", "", "status", erase, "the status of a host object is the host's"},
    {"Pod", "spec", "serviceAccountName", put_host_account, kIdentity},
    {"Pod", "spec", "serviceAccount", erase, kIdentity},
    {"Pod", "spec", "automountServiceAccountToken", put_false, kIdentity},
    {"Pod", "spec", "nodeName", erase, "the host's schedulers place all pods; use spec.nodeSelector"},
    {"Pod", "spec", "enableServiceLinks", put_false, "the tenant's services come as plain variables"},
    {"ServiceAccount", "", "automountServiceAccountToken", put_false, kIdentity},
};

std::string virtual_cluster(const Translation& translation) { return translation.context().virtual_cluster; }
std::string virtual_cluster_uid(const Translation& translation) { return translation.context().virtual_cluster_uid; }
std::string tenant_namespace(const Translation& translation) { return std::string(translation.tenant_namespace()); }
std::string tenant_name(const Translation& translation) { return std::string(translation.tenant_name()); }
std::string tenant_uid(const Translation& translation) { return translation.tenant().path("metadata.uid").string(); }

constexpr OwnKey kOwnKeys[] = {
    {"labels", kLabelManagedBy, virtual_cluster},        {"labels", kLabelTenantUid, virtual_cluster_uid},
    {"labels", kLabelTenantNamespace, tenant_namespace}, {"annotations", kAnnotationTenantName, tenant_name},
    {"annotations", kAnnotationTenantUid, tenant_uid},
};

// Of keys that only some objects get.
constexpr std::string_view kOwnPrefixes[] = {"sublet.dev/tenant-", kFactPrefix};

}  // namespace

std::span<const OverruledMember> overruled_members() { return kMembers; }

std::span<const OwnKey> own_keys() { return kOwnKeys; }

bool written_by_border(std::string_view key) {
  return key == kAnnotationWritten ||
         std::ranges::any_of(kOwnKeys, [&](const OwnKey& own) { return own.key == key; }) ||
         std::ranges::any_of(kOwnPrefixes, [&](std::string_view prefix) { return key.starts_with(prefix); });
}

void overrule(const Translation& translation, std::string_view kind, Value host_object) {
  for (const OverruledMember& row : kMembers)
    if (row.kind == kind)
      row.write(translation, row.parent.empty() ? host_object : host_object.object(row.parent), row.member);
}

}  // namespace sublet::syncer
