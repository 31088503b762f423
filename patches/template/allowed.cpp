#include "patches/template/allowed.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "patches/template/reader.h"
#include "sublet/base/nearest.h"

namespace sublet::patches {
namespace {

constexpr int kBitsMax = 128, kBitsBeforeFour = 96;

// Both families as 16 bytes; the number of bits that the text's own family lacks of them; -1: no address.
int read_address(std::string_view text, std::array<unsigned char, 16>& out) {
  const std::string copy(text);
  if (inet_pton(AF_INET6, copy.c_str(), out.data()) == 1) return 0;
  out = {};
  out[10] = out[11] = 0xff;
  return inet_pton(AF_INET, copy.c_str(), out.data() + 12) == 1 ? kBitsBeforeFour : -1;
}

// The kinds as vcluster.yaml names them.
struct KindKey {
  std::string_view key, kind;
};
constexpr KindKey kKinds[] = {
    {"pods", "Pod"},
    {"services", "Service"},
    {"configMaps", "ConfigMap"},
    {"secrets", "Secret"},
    {"endpoints", "Endpoints"},
    {"endpointSlices", "EndpointSlice"},
    {"persistentVolumeClaims", "PersistentVolumeClaim"},
    {"persistentVolumes", "PersistentVolume"},
    {"storageClasses", "StorageClass"},
    {"volumeSnapshots", "VolumeSnapshot"},
    {"ingresses", "Ingress"},
    {"gateways", "Gateway"},
    {"httpRoutes", "HTTPRoute"},
    {"networkPolicies", "NetworkPolicy"},
    {"podDisruptionBudgets", "PodDisruptionBudget"},
    {"priorityClasses", "PriorityClass"},
    {"serviceAccounts", "ServiceAccount"},
    {"resourceClaims", "ResourceClaim"},
    {"resourceClaimTemplates", "ResourceClaimTemplate"},
    {"podGroups", "PodGroup"},
    {"workloads", "Workload"},
};

// What only one kind has.
struct ListKey {
  std::string_view kind, key;
  Patterns Allowed::*patterns;
  Networks Allowed::*networks = nullptr;
};
constexpr ListKey kLists[] = {
    {"Pod", "schedulers", &Allowed::schedulers},
    {"Pod", "tolerations", &Allowed::tolerations},
    {"Pod", "nodeLabels", &Allowed::node_labels},
    {"Pod", "resources", &Allowed::resources},
    {"Pod", "priorityClasses", &Allowed::priority_classes},
    {"Pod", "variables", &Allowed::variables},
    {"Service", "types", &Allowed::service_types},
    {"Service", "loadBalancerClasses", &Allowed::load_balancer_classes},
    {"Service", "externalNames", &Allowed::external_names},
    {"Service", "loadBalancerIPs", nullptr, &Allowed::load_balancer_ips},
    {"Service", "externalIPs", nullptr, &Allowed::external_ips},
    {"StorageClass", "provisioners", &Allowed::provisioners},
    {"StorageClass", "parameters", &Allowed::class_parameters},
    {"PersistentVolume", "csiVolumes", &Allowed::csi_volumes},
    {"PersistentVolume", "csiAttributes", &Allowed::csi_attributes},
    {"PersistentVolume", "nfsPaths", &Allowed::nfs_paths},
};

// The strings of a list that are not empty; each other item is a problem.
std::vector<const YamlNode*> strings_of(const YamlNode& node, const std::string& key, Problems& problems) {
  std::vector<const YamlNode*> strings;
  if (!node.is_list() && !node.is_null())
    problems.add(node.mark, key, "must be a list, not " + std::string(node.kind_text()));
  else
    for (const YamlNode& item : node.children) {
      if (item.is_string() && !item.text.empty())
        strings.push_back(&item);
      else
        problems.add(item.mark, key, "must be a list of strings, not of " + std::string(item.kind_text()) + 's');
    }
  return strings;
}

class AllowedReader {
 public:
  AllowedReader(Allowed& allowed, Problems& problems) : allowed_(allowed), problems_(problems) {}

  void kind(const YamlNode& node, std::string_view kind, const std::string& key) {
    MapReader reader(node, key, problems_);
    if (const YamlNode* labels = reader.take("labels")) keys(*labels, reader.path("labels"), metadata(kind).labels);
    if (const YamlNode* annotations = reader.take("annotations"))
      keys(*annotations, reader.path("annotations"), metadata(kind).annotations);
    for (const ListKey& list : kLists) {
      if (list.kind != kind) continue;
      const YamlNode* found = reader.take(list.key);
      if (found && list.patterns) patterns(*found, reader.path(list.key), allowed_.*list.patterns);
      if (found && list.networks) networks(*found, reader.path(list.key), allowed_.*list.networks);
    }
    reader.finish();
  }

 private:
  AllowedMetadata& metadata(std::string_view kind) { return allowed_.metadata[std::string(kind)]; }

  void patterns(const YamlNode& node, const std::string& key, Patterns& out) {
    for (const YamlNode* item : strings_of(node, key, problems_)) out.add(item->text);
  }

  void keys(const YamlNode& node, const std::string& key, Patterns& out) {
    for (const YamlNode* item : strings_of(node, key, problems_)) {
      if (item->text.starts_with("sublet.dev/") || item->text.find(".sublet.dev/") != std::string::npos)
        problems_.add(item->mark, key, "keys of sublet.dev are sublet's own");
      out.add(item->text);
    }
  }

  void networks(const YamlNode& node, const std::string& key, Networks& out) {
    for (const YamlNode* item : strings_of(node, key, problems_))
      if (!out.add(item->text)) problems_.add(item->mark, key, "must be a network, such as 203.0.113.0/24");
  }

  Allowed& allowed_;
  Problems& problems_;
};

// With `of_path` a star stands for at least one character, and ends at a '/'.
bool glob(std::string_view pattern, std::string_view text, bool of_path) {
  std::size_t p = 0, t = 0, star = std::string_view::npos, mark = 0;
  const auto ends_star = [&](std::size_t at) { return of_path && text[at] == '/'; };
  while (t < text.size()) {
    const bool starts = p < pattern.size() && pattern[p] == '*';
    if (starts && !ends_star(t)) {
      star = p++;
      mark = of_path ? ++t : t;
    } else if (!starts && p < pattern.size() && pattern[p] == text[t]) {
      ++p, ++t;
    } else if (star != std::string_view::npos && !ends_star(mark)) {
      p = star + 1;
      t = ++mark;
    } else {
      return false;
    }
  }
  while (!of_path && p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace

bool Patterns::match_path(std::string_view text) const {
  return std::ranges::any_of(patterns_, [&](const std::string& pattern) { return glob(pattern, text, true); });
}

bool Patterns::match(std::string_view text) const {
  return std::ranges::any_of(patterns_, [&](const std::string& pattern) { return glob(pattern, text, false); });
}

std::string Patterns::words() const {
  std::string words;
  for (const std::string& pattern : patterns_) words += (words.empty() ? "" : ", ") + pattern;
  return words.empty() ? "none" : words;
}

bool Networks::add(std::string_view text) {
  const std::size_t slash = text.find('/');
  Network network;
  const int before = read_address(text.substr(0, slash), network.base);
  if (before < 0) return false;
  network.bits = kBitsMax;
  if (slash != std::string_view::npos) {
    const std::string_view bits = text.substr(slash + 1);
    const auto [end, error] = std::from_chars(bits.data(), bits.data() + bits.size(), network.bits);
    if (error != std::errc() || end != bits.data() + bits.size()) return false;
    network.bits += before;
    if (network.bits < before || network.bits > kBitsMax) return false;
  }
  networks_.push_back(network);
  return true;
}

bool Networks::contain(std::string_view text) const {
  std::array<unsigned char, 16> address{};
  if (read_address(text, address) < 0) return false;
  return std::ranges::any_of(networks_, [&](const Network& network) {
    const auto whole = static_cast<std::size_t>(network.bits / 8);
    if (std::memcmp(address.data(), network.base.data(), whole) != 0) return false;
    const int rest = network.bits % 8;
    return rest == 0 || ((address[whole] ^ network.base[whole]) >> (8 - rest)) == 0;
  });
}

const AllowedMetadata& Allowed::metadata_of(std::string_view kind) const {
  static const AllowedMetadata none;
  const auto found = metadata.find(kind);
  return found == metadata.end() ? none : found->second;
}

Allowed read_allowed(const YamlNode* node, std::span<const std::string_view> crossing, Problems& problems) {
  Allowed allowed;
  if (node == nullptr) return allowed;
  AllowedReader lists(allowed, problems);
  MapReader reader(*node, "allow", problems);
  for (const KindKey& row : kKinds) {
    const YamlNode* kind = reader.take(row.key);
    if (kind == nullptr) continue;
    if (!crossing.empty() && std::ranges::find(crossing, row.kind) == crossing.end())
      problems.add(kind->key_mark, reader.path(row.key), std::string(row.kind) + " does not cross to the host");
    else
      lists.kind(*kind, row.kind, reader.path(row.key));
  }
  reader.finish();
  if (!allowed.external_names.empty()) allowed.service_types.add("ExternalName");
  return allowed;
}

}  // namespace sublet::patches
