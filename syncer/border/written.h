// Written: what the syncer last wrote of a host object, told by the object itself in one annotation
// (kAnnotationWritten), so that a restarted syncer knows which values are its own to change, and which the host has
// written since.
//
// TenantEvent are: the hash of the desired object ("h:<hash>"); of labels and annotations under keys that are not
// sublet's the digest of the value ("l:<key>=<digest>", "a:..."); the images that the tenant wants
// ("i:<container>=<digest>"), since hosts rewrite images to their mirrors; resources and resize policies likewise
// ("r:<container>=<digest>", without a name those of the whole pod); the tenant's scheduling gates ("g:<gate>"); and
// the generation of the tenant's object that was written ("n:<generation>"). Keys of sublet.dev need no record: only
// the syncer writes them. Objects of earlier versions say the same in several annotations: those are read, and go with
// the next write. Pure; any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "sublet/schema/document.h"

namespace sublet::syncer {

struct Written {
  using Digests = std::map<std::string, std::string, std::less<>>;  // value "": not known, the value is taken for ours

  std::string hash;
  std::int64_t generation = 0;  // 0: not told
  Digests labels, annotations, images, resources;
  std::set<std::string, std::less<>> gates;

  /// What stands on a host object.
  static Written on(const schema::Value& host_object);
  /// What a desired object brings, had the host nothing of its own. `desired` says the hash.
  static Written of(const schema::Value& desired);
  /// "" when there is nothing to tell.
  std::string text() const;
};

/// What a resize may change of a container, or of a pod's spec ("" when it says nothing of it).
std::string resources_digest(const schema::Value& owner);
std::string value_digest(std::string_view value);
/// Whether the value that stands there is the one that was written.
bool unchanged(const Written::Digests& written, std::string_view key, std::string_view now);

/// An object that an earlier version wrote: its labels stand under the tenant's own keys.
bool of_earlier_version(const schema::Value& host_object);
/// One that has the present labels already, and keeps its old ones for the sake of Services that still ask for them.
bool keeps_earlier_labels(const schema::Value& host_object);
inline constexpr std::string_view kEarlierLabels = "sublet.dev/owned-labels";
inline constexpr std::string_view kEarlierAnnotations = "sublet.dev/owned-annotations";

}  // namespace sublet::syncer
