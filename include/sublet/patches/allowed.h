// Allowed: what a template lets tenants decide themselves, beyond what the border lets through by default.
//
// The template's key `allow` (docs/templates.md); docs/security.md has the defaults in one table. Everything here is an
// allow-list: what no pattern names does not cross as the tenant wrote it. Values; immutable once a template is loaded.
#pragma once

#include <array>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sublet::patches {

/// Words in which '*' stands for any characters, also none.
class Patterns {
 public:
  Patterns() = default;
  Patterns(std::initializer_list<std::string_view> patterns) : patterns_(patterns.begin(), patterns.end()) {}
  void add(std::string pattern) { patterns_.push_back(std::move(pattern)); }
  bool match(std::string_view text) const;
  /// Of paths: '*' stands for at least one character, and for no '/'.
  bool match_path(std::string_view text) const;
  bool empty() const { return patterns_.empty(); }
  /// "a, b, c*", for messages; "none".
  std::string words() const;
  const std::vector<std::string>& list() const { return patterns_; }

 private:
  std::vector<std::string> patterns_;
};

/// Networks of addresses: "203.0.113.0/24", "2001:db8::/32", or one address.
class Networks {
 public:
  /// False: it is none.
  bool add(std::string_view network);
  bool contain(std::string_view address) const;
  bool empty() const { return networks_.empty(); }

 private:
  struct Network {
    std::array<unsigned char, 16> base{};  // IPv4 as ::ffff:a.b.c.d
    int bits = 0;
  };
  std::vector<Network> networks_;
};

/// Keys of one kind's objects that cross to the host as they are, with the tenant's values.
struct AllowedMetadata {
  Patterns labels, annotations;
};

struct Allowed {
  std::map<std::string, AllowedMetadata, std::less<>> metadata;  // by kind: "Pod"
  /// None, for a kind that the template says nothing of.
  const AllowedMetadata& metadata_of(std::string_view kind) const;

  // Pods. Names; for tolerations and node labels the keys, and "metadata.name" is a node's name as a field.
  Patterns schedulers{"default-scheduler"};
  Patterns tolerations{"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable",
                       "node.kubernetes.io/memory-pressure", "node.kubernetes.io/disk-pressure",
                       "node.kubernetes.io/pid-pressure"};
  Patterns node_labels{"kubernetes.io/arch",       "kubernetes.io/os",
                       "kubernetes.io/hostname",   "node.kubernetes.io/instance-type",
                       "topology.kubernetes.io/*", "metadata.name"};
  Patterns resources{"cpu", "memory", "ephemeral-storage"};
  Patterns priority_classes;  // of the host, under its own names
  Patterns variables;         // of those that pick devices or load code into a process

  // Services.
  Patterns service_types{"ClusterIP", "LoadBalancer"};
  Patterns load_balancer_classes;
  Patterns provisioners, class_parameters;  // of a tenant's StorageClasses
  // Of a tenant's PersistentVolumes: "driver/handle", "driver/key=value", and "server:/path" for match_path().
  Patterns csi_volumes, csi_attributes, nfs_paths;
  Patterns external_names;  // with one, also the type ExternalName is allowed
  Networks load_balancer_ips, external_ips;
};

}  // namespace sublet::patches
