// The warnings of pods and pod templates (upstream's pkg/api/pod/warnings.go).
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
    {"node-role.kubernetes.io/master", "use \"node-role.kubernetes.io/control-plane\" instead"},
};
constexpr Deprecation kPodAnnotations[] = {
    {"scheduler.alpha.kubernetes.io/critical-pod",
     "non-functional in v1.16+; use the \"priorityClassName\" field instead"},
    {"security.alpha.kubernetes.io/sysctls", "non-functional in v1.11+; use the \"sysctls\" field instead"},
    {"security.alpha.kubernetes.io/unsafe-sysctls", "non-functional in v1.11+; use the \"sysctls\" field instead"},
};
constexpr Deprecation kVolumeSources[] = {
    {"photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"},
    {"gitRepo", "deprecated in v1.11"},
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
    token_paths();
    repeated("hostAliases", "ip", "duplicate ip ");
    repeated("imagePullSecrets", "name", "duplicate name ");
    std::size_t index = 0;
    for (const Value secret : spec_["imagePullSecrets"]) {
      const std::string at = child(item(child(spec_path_, "imagePullSecrets"), index++), "name");
      if (secret["name"].text().empty()) say(at, "invalid empty name \"\"");
    }
    fractions(child(spec_path_, "overhead"), spec_["overhead"]);
    if (!spec_["securityContext"].has("seccompProfile"))
      annotation(kSeccompPod, "non-functional in v1.27+; use the \"seccompProfile\" field instead");
    visit_containers(spec_path_, spec_, [this](const std::string& path, const Value& one) { container(path, one); });
    ports();
    if (spec_["terminationGracePeriodSeconds"].integer() < 0)
      say(child(spec_path_, "terminationGracePeriodSeconds"),
          "must be >= 0; negative values are invalid and will be treated as 1");
    for (const std::string_view affinity : {"podAffinity", "podAntiAffinity"}) pod_affinity(affinity);
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

  /// Files of a projected volume that are hidden by the token of a service account.
  void token_paths() {
    std::set<std::string, std::less<>> tokens;
    for (const Value volume : spec_["volumes"])
      for (const Value source : volume["projected"]["sources"])
        if (source.has("serviceAccountToken")) tokens.insert(source["serviceAccountToken"]["path"].string());
    if (tokens.empty()) return;
    struct Listing {
      std::string_view source, shown;
    };
    std::size_t index = 0;
    for (const Value volume : spec_["volumes"]) {
      const std::string at = item(child(spec_path_, "volumes"), index++) + ".projected.sources";
      const auto check = [&](const std::string& path, std::string_view file) {
        if (tokens.contains(file)) say(path, "has duplicated path with ServiceAccountToken " + go_quoted(file));
      };
      for (const Value source : volume["projected"]["sources"]) {
        for (const Listing& one :
             {Listing{"configMap", "configMap"}, Listing{"secret", "secrets"}, Listing{"downwardAPI", "downwardAPI"}}) {
          std::size_t file = 0;
          for (const Value entry : source[one.source]["items"])
            check(item(child(at, one.shown), file++), entry["path"].text());
        }
        if (source.has("clusterTrustBundle"))
          check(child(at, "ClusterTrustBundle"), source["clusterTrustBundle"]["path"].text());
      }
    }
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

  void container(const std::string& path, const Value& one) {
    const std::string name = one["name"].string();
    const Value security = one["securityContext"];
    if (!security.has("seccompProfile"))
      annotation(std::string(kSeccompContainer) + name,
                 "non-functional in v1.27+; use the \"seccompProfile\" field instead");
    // Pods are warned when their annotations become fields (strategies/pod.cpp).
    if (is_template_ && !security.has("appArmorProfile") && !spec_["securityContext"].has("appArmorProfile"))
      annotation(std::string(kAppArmorContainer) + name,
                 "deprecated since v1.30; use the \"appArmorProfile\" field instead");
    const std::string at = child(path, "resources");
    for (const std::string_view resource : {"memory", "ephemeral-storage"})
      for (const std::string_view list : {"limits", "requests"})
        warn_of_fraction(keyed(child(at, list), resource), one["resources"][list][resource], warnings_);
    environment(path, one["env"]);
  }

  /// A variable that is defined again without use of its first value.
  void environment(const std::string& path, const Value& variables) {
    std::set<std::string, std::less<>> seen;
    std::size_t index = 0;
    for (const Value variable : variables) {
      const std::string at = item(child(path, "env"), index++);
      const std::string name = variable["name"].string();
      if (seen.insert(name).second) continue;
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
