// TenantIdentity: the tenant object that a host object was made for, read from the host object's labels and
// annotations.
//
// Pure; any thread.
#pragma once

#include <string>
#include <string_view>

#include "sublet/kube/informer.h"
#include "sublet/schema/document.h"

namespace sublet::syncer {

struct SyncedKind;

struct TenantIdentity {
  std::string namespace_name, name, uid;
};

/// Returns the identity that a host object records. The names are empty if it records none.
TenantIdentity tenant_identity(const schema::Value& host_object);
TenantIdentity tenant_identity(const kube::CachedObject& host_object);

/// Returns a cached object as a complete Document, with apiVersion and kind.
schema::Document whole(const kube::CachedObject& cached, const SyncedKind& kind);
schema::Document whole(const kube::CachedObject& cached, std::string_view api_version, std::string_view kind);

}  // namespace sublet::syncer
