// Mirror: keeps a tenant object of a cluster-scoped kind equal to the host's, read-only for tenants in effect: what
// they change is put back. Mirrored objects carry the label sublet.dev/from-host, and only those are ever removed.
// Blocking; worker threads only.
#pragma once

#include "syncer/border.h"

namespace sublet::syncer {

inline constexpr std::string_view kLabelFromHost = "sublet.dev/from-host";

struct MirrorSides {
  std::string_view api_version, kind;
  const kube::Resource& resource;
  kube::Informer& tenant_cache;
  kube::Informer& host_cache;
  std::initializer_list<std::string_view> fields;  // top-level fields beside metadata, of the main endpoint
  bool has_status = false;
};

Result<Requeue> reconcile_mirror(Border& border, const MirrorSides& sides, const std::string& name, bool wanted);

}  // namespace sublet::syncer
