// CustomResources: the kinds of custom resources that a template lets cross the border, either way, and where their
// objects name others. What Kubernetes itself has no type for is known by these places alone: sync.toHost and
// sync.fromHost customResources of vcluster.yaml, and the rows behind its keys for the Gateway API and volume snapshots
// (patches/template/known_resources.cpp). Values; immutable once a template is loaded.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sublet::patches {

/// A place in an object: its members from the root (or from another place); "*" is each item of a list, or each value
/// of a map, "*SecretRef" each member whose name ends so, small letters or capitals, and "**" nothing or any members.
using Place = std::vector<std::string>;

/// A place that names another object.
struct CustomReference {
  Place path;               // of the reference: an object, or the name itself
  Place name;               // from `path`; empty: what stands at `path` is the name
  Place kind_at;            // from `path`: which of several rows for one path is meant; empty: this one
  Place namespace_at;       // from `path`; what stands there is a namespace of the tenant
  std::string kind;         // Kubernetes' name of the kind
  bool of_host = false;     // the name is that of a host object that tenants see under the same name
  bool made_there = false;  // the host makes what is named: the tenant's own of that name does not go there
};

struct CustomResource {
  std::string name;                    // of its definition: "certificates.cert-manager.io"
  std::string plural, group, version;  // no version: the one that the host stores
  std::string definition_key;          // its definition as a synced kind
  bool to_host = true;                 // else it comes from the host, read-only
  bool namespaced = true;              // from the host: those that mappings name (host_mappings.h), else all
  std::string selector;                // only those; to the host: by the tenant's labels
  std::vector<CustomReference> references;
  std::vector<Place> selectors;  // label selectors, or maps of labels that select
  std::vector<Place> left_out;   // of the host, and not for tenants
  std::vector<Place> refused;    // what would mean something else on the host
  std::vector<Place> closed;     // below these nothing is named ("name", "secretName") but by references
  /// Where it says which labels and annotations the first Secret that is made there gets: by them it comes back.
  Place made_metadata;
  bool tells_source = true;  // from the host: under which name it stands there
  struct Fixed {
    Place path;
    std::string json;
  };
  std::vector<Fixed> fixed;   // where it stands: what the border puts there
  std::vector<Fixed> forced;  // and whatever stands there
  /// Labels or annotations by which pods name one (a gang's pods their PodGroup): they cross with the host's name of
  /// it.
  struct PodKey {
    bool label;
    std::string key;
  };
  std::vector<PodKey> pod_keys;
};

/// "spec.rules[*].backendRefs[*]" as a place; empty: that is none.
Place parse_place(std::string_view text);
/// Of a definition's name, perhaps with a version: "certificates.cert-manager.io/v1". False: it is none.
bool name_custom_resource(std::string_view text, CustomResource& resource);

}  // namespace sublet::patches
