// The warnings of pods and pod templates (upstream's pkg/api/pod/warnings.go).
#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "apiserver/validation/field_errors.h"
#include "apiserver/validation/names.h"
#include "apiserver/validation/resources.h"
#include "apiserver/validation/warnings.h"
#include "sublet/base/go_quoted.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

struct Deprecation {
  std::string_view name, message;
};
constexpr Deprecation kNodeLabels[] = {
    {"beta.kubernetes.io/arch", "deprecated since v1.14; use \"kubernetes.io/arch\" instead"},
    {"beta.kubernetes.io/os", "deprecated since v1.14; use \"kubernetes.io/os\" instead"},
    {"failure-domain.beta.kubernetes.io/region",
     "deprecated since v1.17; use \"topology.kubernetes.io/region\" instead"},
    {"failure-domain.beta.kubernetes.io/zone", "deprecated since v1.17; use \"topology.kubernetes.io/zone\" instead"},
    {"beta.kubernetes.io/instance-type", "deprecated since v1.17; use \"node.kubernetes.io/instance-type\" instead"},
    {"app.kubernetes.io/created-by", "deprecated since v1.9"},
    {"scheduler.alpha.kubernetes.io/preferAvoidPods", "deprecated since v1.22; use Taints and Tolerations instead"},
};
constexpr Deprecation kPodAnnotations[] = {
    {"scheduler.alpha.kubernetes.io/critical-pod",
     "non-functional in v1.16+; use the \"priorityClassName\" field instead"},
    {"security.alpha.kubernetes.io/sysctls", "non-functional in v1.11+; use the \"sysctls\" field instead"},
    {"security.alpha.kubernetes.io/unsafe-sysctls", "non-functional in v1.11+; use the \"sysctls\" field instead"},
};
constexpr Deprecation kVolumeSources[] = {
    {"photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"},
    {"gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"},
    {"scaleIO", "deprecated in v1.16, non-functional in v1.22+"},
    {"flocker", "deprecated in v1.22, non-functional in v1.25+"},
    {"storageos", "deprecated in v1.22, non-functional in v1.25+"},
    {"quobyte", "deprecated in v1.22, non-functional in v1.25+"},
    {"glusterfs", "deprecated in v1.25, non-functional in v1.26+"},
    {"cephfs", "deprecated in v1.28, non-functional in v1.31+"},
    {"rbd", "deprecated in v1.28, non-functional in v1.31+"},
};
constexpr std::string_view kSeccompPod = "seccomp.security.alpha.kubernetes.io/pod",
                           kSeccompContainer = "container.seccomp.security.alpha.kubernetes.io/",
                           kAppArmorContainer = "container.apparmor.security.beta.kubernetes.io/";
constexpr std::string_view kNoMatch = ": a null labelSelector results in matching no pod";

/// Go's name of the field, where it differs from the JSON name.
std::string_view go_field(std::string_view source) { return source == "storageos" ? "storageOS" : source; }

/// The containers of a pod spec with their paths, in upstream's order.
void visit_containers(const std::string& spec_path, const Value& spec,
                      const std::function<void(const std::string& path, const Value& container)>& visit) {
  for (const std::string_view list : {"initContainers", "containers", "ephemeralContainers"}) {
    std::size_t index = 0;
    for (const Value container : spec[list]) visit(item(child(spec_path, list), index++), container);
  }
}

/// The paths of one volume, to find those that overlap without comparing each with all others.
class VolumePaths {
 public:
  /// Returns how the paths added before are shown that are equal to this one, contain it, or lie in it; in the order in
  /// which they were added.
  std::vector<std::string> add(std::string_view path, const std::string& shown) {
    std::vector<std::pair<std::size_t, std::string>> found;
    const auto take = [&found](const std::vector<std::pair<std::size_t, std::string>>& entries) {
      for (std::size_t at = 0; at < entries.size() && found.size() < kFoundMax; ++at) found.push_back(entries[at]);
    };
    for (auto slash = path.find('/'); slash != std::string_view::npos; slash = path.find('/', slash + 1))
      if (const auto above = paths_.find(path.substr(0, slash)); above != paths_.end()) take(above->second);
    auto& own = paths_[std::string(path)];
    take(own);
    const std::string prefix = std::string(path) + "/";
    for (auto below = paths_.lower_bound(prefix); below != paths_.end() && below->first.starts_with(prefix); ++below) {
      if (found.size() >= kFoundMax) break;
      take(below->second);
    }
    own.emplace_back(count_++, shown);
    std::ranges::sort(found);
    std::vector<std::string> texts;
    for (auto& [at, text] : found) texts.push_back(std::move(text));
    return texts;
  }

 private:
  static constexpr std::size_t kFoundMax = 64;
  std::map<std::string, std::vector<std::pair<std::size_t, std::string>>, std::less<>> paths_;
  std::size_t count_ = 0;
};

/// The profile that an AppArmor annotation stands for equals the field `profile`.
bool is_same_profile(std::string_view annotation, const Value& profile) {
  constexpr std::string_view kLocalhost = "localhost/";
  const auto type = profile["type"].text();
  if (annotation == "unconfined") return type == "Unconfined";
  if (annotation == "runtime/default") return type == "RuntimeDefault";
  return annotation.starts_with(kLocalhost) && type == "Localhost" &&
         profile["localhostProfile"].text() == annotation.substr(kLocalhost.size());
}

class PodWarnings {
 public:
  PodWarnings(const std::string& path, const Value& pod, Warnings& warnings)
      : is_template_(!path.empty()),
        spec_path_(child(path, "spec")),
        annotations_path_(child(child(path, "metadata"), "annotations")),
        spec_(pod["spec"]),
        annotations_(pod["metadata"]["annotations"]),
        warnings_(warnings) {}

  void collect() {
    node_labels();
    topology_spread();
    for (const auto& [name, message] : kPodAnnotations) annotation(name, message);
    volumes();
    overlapping_paths();
    repeated("hostAliases", "ip", "duplicate ip ");
    repeated("imagePullSecrets", "name", "duplicate name ");
    std::size_t index = 0;
    for (const Value secret : spec_["imagePullSecrets"]) {
      const std::string at = child(item(child(spec_path_, "imagePullSecrets"), index++), "name");
      if (secret["name"].text().empty()) say(at, "invalid empty name \"\"");
    }
    if (!spec_["overhead"].empty()) fractions(child(spec_path_, "overhead"), spec_["overhead"]);
    if (!spec_["securityContext"].has("seccompProfile"))
      annotation(kSeccompPod, "non-functional in v1.27+; use the \"seccompProfile\" field instead");
    visit_containers(spec_path_, spec_, [this](const std::string& path, const Value& one) { container(path, one); });
    ports();
    port_names();
    if (spec_["terminationGracePeriodSeconds"].integer() < 0)
      say(child(spec_path_, "terminationGracePeriodSeconds"),
          "must be >= 0; negative values are invalid and will be treated as 1");
    for (const std::string_view affinity : {"podAffinity", "podAntiAffinity"}) pod_affinity(affinity);
    addresses();
  }

 private:
  // An answer has room for some forty of them.
  static constexpr std::size_t kWarningsMax = 256;

  void say(const std::string& path, std::string_view text) {
    if (warnings_.size() < kWarningsMax) warnings_.push_back(path + ": " + std::string(text));
  }

  void annotation(std::string_view name, std::string_view message) {
    if (annotations_.has(name)) say(keyed(annotations_path_, name), message);
  }

  void node_labels() {
    for (const Value label : spec_["nodeSelector"])
      if (const auto message = deprecated_node_label(label.key()); !message.empty())
        say(keyed(child(spec_path_, "nodeSelector"), label.key()), message);
    const Value affinity = spec_["affinity"]["nodeAffinity"];
    if (affinity.empty()) return;
    const std::string path = spec_path_ + ".affinity.nodeAffinity.";
    std::size_t index = 0;
    for (const Value term : affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"])
      warn_of_node_selector_term(
          item(path + "requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms", index++), term, false,
          warnings_);
    index = 0;
    for (const Value term : affinity["preferredDuringSchedulingIgnoredDuringExecution"])
      warn_of_node_selector_term(
          child(item(path + "preferredDuringSchedulingIgnoredDuringExecution", index++), "preference"),
          term["preference"], true, warnings_);
  }

  void topology_spread() {
    std::size_t index = 0;
    for (const Value constraint : spec_["topologySpreadConstraints"]) {
      const std::string at = item(child(spec_path_, "topologySpreadConstraints"), index++);
      const auto key = constraint["topologyKey"].text();
      if (const auto message = deprecated_node_label(key); !message.empty())
        say(child(at, "topologyKey"), std::string(key) + " is " + std::string(message));
      if (!constraint.has("labelSelector")) warnings_.push_back(child(at, "labelSelector") + std::string(kNoMatch));
    }
  }

  void volumes() {
    std::size_t index = 0;
    for (const Value volume : spec_["volumes"]) {
      const std::string at = item(child(spec_path_, "volumes"), index++);
      for (const auto& [source, message] : kVolumeSources)
        if (volume.has(source)) say(child(at, go_field(source)), message);
      if (const Value claim = volume["ephemeral"]["volumeClaimTemplate"]; claim.is_object())
        warn_of_claim_spec(at + ".ephemeral.volumeClaimTemplate.spec", claim["spec"], warnings_);
    }
  }

  /// Files of one volume of which one would replace, or contain, the other.
  void overlapping_paths() {
    for (const Value volume : spec_["volumes"]) {
      const std::string name = "volume " + go_quoted(volume["name"].text()) + " (";
      struct Listing {
        std::string_view source, title, name;
      };
      for (const Listing& one : {Listing{"configMap", "ConfigMap", "name"}, Listing{"secret", "Secret", "secretName"},
                                 Listing{"downwardAPI", "DownwardAPI", ""}}) {
        const Value source = volume[one.source];
        VolumePaths paths;
        std::string title(one.title);
        if (!one.name.empty()) title += " " + go_quoted(source[one.name].text());
        for (const Value entry : source["items"]) add_path(paths, name + title, entry["path"].text(), "");
      }
      projected_paths(name, volume["projected"]["sources"]);
    }
  }

  void projected_paths(const std::string& name, const Value& sources) {
    VolumePaths paths;
    const auto add = [&](std::string_view path, const std::string& source) {
      add_path(paths, name + "Projected", path, source);
    };
    for (const Value source : sources) {
      if (source.empty() && warnings_.size() < kWarningsMax)
        warnings_.push_back(name + "Projected) has no sources provided");
      for (const Value entry : source["configMap"]["items"])
        add(entry["path"].text(), "ConfigMap " + go_quoted(source["configMap"]["name"].text()));
      for (const Value entry : source["secret"]["items"])
        add(entry["path"].text(), "Secret " + go_quoted(source["secret"]["name"].text()));
      for (const Value entry : source["downwardAPI"]["items"]) add(entry["path"].text(), "DownwardAPI");
      if (source.has("serviceAccountToken")) add(source["serviceAccountToken"]["path"].text(), "ServiceAccountToken");
      if (const Value bundle = source["clusterTrustBundle"]; bundle.is_object())
        add(bundle["path"].text(),
            "ClusterTrustBundle " + go_quoted((bundle.has("name") ? bundle["name"] : bundle["signerName"]).text()));
      const Value certificate = source["podCertificate"];
      add(certificate["certificateChainPath"].text(), "PodCertificate chain");
      add(certificate["keyPath"].text(), "PodCertificate key");
      add(certificate["credentialBundlePath"].text(), "PodCertificate credential bundle");
    }
  }

  /// `title`: the volume and its source, "volume \"v\" (ConfigMap \"m\"".
  void add_path(VolumePaths& paths, const std::string& title, std::string_view path, const std::string& source) {
    while (path.ends_with('/')) path.remove_suffix(1);
    if (path.empty() || warnings_.size() >= kWarningsMax) return;
    const std::string shown = go_quoted(path) + (source.empty() ? "" : " (" + source + ")");
    for (const std::string& other : paths.add(path, shown))
      if (warnings_.size() < kWarningsMax)
        warnings_.push_back(title + "): overlapping paths: " + shown + " with " + other);
  }

  void repeated(std::string_view list, std::string_view field, std::string_view what) {
    std::set<std::string> seen;
    std::size_t index = 0;
    for (const Value entry : spec_[list]) {
      const std::string at = child(item(child(spec_path_, list), index++), field);
      const auto value = entry[field].text();
      if (!seen.insert(std::string(value)).second) say(at, std::string(what) + go_quoted(value));
    }
  }

  void fractions(const std::string& path, const Value& amounts) {
    for (const std::string_view resource : {"memory", "ephemeral-storage"})
      warn_of_fraction(keyed(path, resource), amounts[resource], warnings_);
  }

  void container_annotations(const Value& one) {
    const std::string name = one["name"].string();
    const Value security = one["securityContext"];
    if (!security.has("seccompProfile"))
      annotation(std::string(kSeccompContainer) + name,
                 "non-functional in v1.27+; use the \"seccompProfile\" field instead");
    // Pods are warned when their annotations become fields (strategies/pod.cpp).
    const std::string key = std::string(kAppArmorContainer) + name;
    const Value pod_profile = spec_["securityContext"]["appArmorProfile"];
    if (is_template_ && !security.has("appArmorProfile") && !is_same_profile(annotations_[key].text(), pod_profile))
      annotation(key, "deprecated since v1.30; use the \"appArmorProfile\" field instead");
  }

  void container(const std::string& path, const Value& one) {
    if (!annotations_.empty()) container_annotations(one);
    if (!one["resources"].empty()) resources(child(path, "resources"), one["resources"]);
    environment(path, one["env"]);
  }

  void resources(const std::string& path, const Value& amounts) {
    for (const std::string_view resource : {"memory", "ephemeral-storage"})
      for (const std::string_view list : {"limits", "requests"})
        warn_of_fraction(keyed(child(path, list), resource), amounts[list][resource], warnings_);
  }

  static bool has_repeated_name(const Value& entries) {
    std::vector<std::string_view> names;
    names.reserve(entries.size());
    for (const Value entry : entries) names.push_back(entry["name"].text());
    std::ranges::sort(names);
    return std::ranges::adjacent_find(names) != names.end();
  }

  /// A variable that is defined again without use of its first value.
  void environment(const std::string& path, const Value& variables) {
    if (!has_repeated_name(variables)) return;  // the common case allocates once
    std::set<std::string, std::less<>> seen;
    std::size_t index = 0;
    for (const Value variable : variables) {
      const std::size_t position = index++;
      const std::string name = variable["name"].string();
      if (seen.insert(name).second) continue;
      const std::string at = item(child(path, "env"), position);
      const std::string reference = "$(" + name + ")";
      const auto value = variable["value"].text();
      const bool uses_first = value != reference && value.find(reference) != std::string_view::npos;
      if (variable.has("valueFrom") || !uses_first)
        say(at, "hides previous definition of " + go_quoted(name) + ", which may be dropped when using apply");
    }
  }

  struct Port {
    std::string path;
    std::int64_t host_port;
    std::string host_ip;
  };

  // Per protocol and port, in the order of the containers. Few are kept, so that the cost stays linear.
  static constexpr std::size_t kComparedMax = 32;
  void ports() {
    std::map<std::string, std::vector<Port>> all;
    visit_containers(spec_path_, spec_, [&](const std::string& path, const Value& one) {
      std::size_t index = 0;
      for (const Value port : one["ports"]) {
        Port here{item(child(path, "ports"), index++), port["hostPort"].integer(), port["hostIP"].string()};
        const std::string number = std::to_string(port["containerPort"].integer());
        if (!here.host_ip.empty() && here.host_port == 0)
          say(here.path, "hostIP set without hostPort: {Name:" + port["name"].string() + " HostPort:0 ContainerPort:" +
                             number + " Protocol:" + port["protocol"].string() + " HostIP:" + here.host_ip + "}");
        auto& others = all[number + "/" + port["protocol"].string()];
        for (const Port& other : others) conflict(here, other);
        if (others.size() < kComparedMax) others.push_back(std::move(here));
      }
    });
  }

  void port_names() {
    std::map<std::string, std::string> first;
    visit_containers(spec_path_, spec_, [&](const std::string& path, const Value& one) {
      std::size_t index = 0;
      for (const Value port : one["ports"]) {
        const std::string at = item(child(path, "ports"), index++);
        const std::string name = port["name"].string();
        if (name.empty()) continue;
        const auto [found, is_new] = first.emplace(name, at);
        if (!is_new)
          say(at, "duplicate port name " + go_quoted(name) + " with " + found->second +
                      ", services and probes that select ports by name will use " + found->second);
      }
    });
  }

  void addresses() {
    std::size_t index = 0;
    for (const Value server : spec_["dnsConfig"]["nameservers"])
      warn_of_address(item(spec_path_ + ".dnsConfig.nameservers", index++), server.text(), warnings_);
    index = 0;
    for (const Value alias : spec_["hostAliases"])
      warn_of_address(child(item(child(spec_path_, "hostAliases"), index++), "ip"), alias["ip"].text(), warnings_);
  }

  void conflict(const Port& here, const Port& other) {
    if (here.host_ip == other.host_ip && here.host_port == other.host_port)
      say(here.path, "duplicate port definition with " + other.path);
    else if (here.host_port == 0 || other.host_port == 0)
      say(here.path, "overlapping port definition with " + other.path);
    else if (here.host_port == other.host_port && here.host_ip.empty() != other.host_ip.empty())
      say(here.path, "dangerously ambiguous port definition with " + other.path);
  }

  void pod_affinity(std::string_view kind) {
    const Value affinity = spec_["affinity"][kind];
    if (affinity.empty()) return;
    const std::string path = child(child(spec_path_, "affinity"), kind);
    std::size_t index = 0;
    for (const Value term : affinity["requiredDuringSchedulingIgnoredDuringExecution"]) {
      const std::string at = item(child(path, "requiredDuringSchedulingIgnoredDuringExecution"), index++);
      if (!term.has("labelSelector")) warnings_.push_back(child(at, "labelSelector") + std::string(kNoMatch));
    }
    index = 0;
    for (const Value term : affinity["preferredDuringSchedulingIgnoredDuringExecution"]) {
      const std::string at = item(child(path, "preferredDuringSchedulingIgnoredDuringExecution"), index++);
      if (!term["podAffinityTerm"].has("labelSelector"))
        warnings_.push_back(at + ".podAffinityTerm.labelSelector" + std::string(kNoMatch));
    }
  }

  const bool is_template_;
  const std::string spec_path_, annotations_path_;
  const Value spec_, annotations_;
  Warnings& warnings_;
};

}  // namespace

void warn_of_pod(const std::string& path, const Value& template_, Warnings& warnings) {
  PodWarnings(path, template_, warnings).collect();
}

std::string_view deprecated_node_label(std::string_view label) {
  for (const auto& [name, message] : kNodeLabels)
    if (name == label) return message;
  return {};
}

void warn_of_node_selector_term(const std::string& path, const Value& term, bool check_values, Warnings& warnings) {
  std::size_t index = 0;
  for (const Value expression : term["matchExpressions"]) {
    const std::string at = item(child(path, "matchExpressions"), index++);
    const auto key = expression["key"].text();
    if (const auto message = deprecated_node_label(key); !message.empty())
      warnings.push_back(child(at, "key") + ": " + std::string(key) + " is " + std::string(message));
    std::size_t number = 0;
    for (const Value value : expression["values"]) {
      const std::string place = item(child(at, "values"), number++);
      if (!check_values) continue;
      for (const auto& wrong : label_value(value.text()))
        warnings.push_back(place + ": " + value.string() + " is invalid, " + wrong);
    }
  }
}

void warn_of_fraction(const std::string& path, const Value& quantity, Warnings& warnings) {
  constexpr __int128 kNanosPerMilli = 1'000'000, kMillisPerUnit = 1000;
  if (quantity.missing()) return;
  const __int128 nanos = quantity_nanos_of(quantity);
  const __int128 millis = nanos / kNanosPerMilli + (nanos % kNanosPerMilli > 0);
  if (millis % kMillisPerUnit == 0) return;
  warnings.push_back(path + ": fractional byte value " + go_quoted(quantity.text()) +
                     " is invalid, must be an integer");
}

}  // namespace sublet::apiserver
