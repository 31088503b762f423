#include "syncer/border/identity.h"

#include "sublet/syncer/translate.h"
#include "syncer/border/synced_kinds.h"

namespace sublet::syncer {

using schema::Document;
using schema::Value;

TenantIdentity tenant_identity(const Value& host_object) {
  const Value metadata = host_object["metadata"], annotations = metadata["annotations"];
  return {metadata["labels"][kLabelTenantNamespace].string(), annotations[kAnnotationTenantName].string(),
          annotations[kAnnotationTenantUid].string()};
}

TenantIdentity tenant_identity(const kube::CachedObject& host_object) {
  return {host_object.text({"metadata", "labels", kLabelTenantNamespace}),
          host_object.text({"metadata", "annotations", kAnnotationTenantName}),
          host_object.text({"metadata", "annotations", kAnnotationTenantUid})};
}

Document whole(const kube::CachedObject& cached, const SyncedKind& kind) {
  return whole(cached, kind.api_version(), kind.kubernetes_kind());
}

Document whole(const kube::CachedObject& cached, std::string_view api_version, std::string_view kind) {
  Document document = cached.document();
  Value root = document.root();
  if (!root.is_object()) root.make_object();
  root.put("apiVersion", api_version);
  root.put("kind", kind);
  return document;
}

}  // namespace sublet::syncer
