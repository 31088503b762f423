// Keys of the syncer's work queue: "<kind>/<namespace>/<name>". Cluster-scoped kinds leave the namespace empty.
//
// Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace sublet::syncer {

std::string queue_key(std::string_view kind, std::string_view namespace_name, std::string_view name);

/// Prefix of a kind, for keys of objects that existed before this syncer started (SyncedKind::reconcile_past).
inline constexpr std::string_view kPast = "Past";

struct KeyParts {
  std::string_view kind, namespace_name, name;
};
KeyParts split_key(std::string_view key);

}  // namespace sublet::syncer
