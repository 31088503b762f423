#include "sublet/syncer/border_facts.h"

#include "sublet/syncer/translate.h"
#include "syncer/translate/field_table.h"
#include "syncer/translate/reserved_keys.h"

namespace sublet::syncer {
namespace {

constexpr std::string_view kIdentity = "host pods run under an identity without rights, whatever a template says";

// What enforce_border() and force_host_identity() write or remove after all patches. An empty kind: every kind.
struct Overruled {
  std::string_view kind, parent, member, why;
};
constexpr Overruled kOverruled[] = {
    {"", "metadata", "name", "the border gives host objects their names"},
    {"", "metadata", "namespace", "all host objects of a virtual cluster stand in its one host namespace"},
    {"", "metadata", "ownerReferences", "host objects have no owners; sublet cleans up by label"},
    {"", "metadata", "finalizers", "host objects have no finalizers of sublet's"},
    {"", "", "apiVersion", "an object cannot become another kind"},
    {"", "", "kind", "an object cannot become another kind"},
    {"", "", "status", "the status of a host object is the host's"},
    {"Pod", "spec", "serviceAccountName", kIdentity},
    {"Pod", "spec", "serviceAccount", kIdentity},
    {"Pod", "spec", "automountServiceAccountToken", kIdentity},
    {"Pod", "spec", "nodeName", "the host's schedulers place all pods; use spec.nodeSelector"},
    {"Pod", "spec", "enableServiceLinks", "the tenant's services come as plain variables"},
};

// Of the keys under sublet.dev/ a template may write the others: they are the platform's as its own are.
bool written_by_border(std::string_view key) {
  return key == kLabelManagedBy || key == kLabelTenantUid || key == kAnnotationDesiredHash ||
         key.starts_with("sublet.dev/tenant-") || key.starts_with("sublet.dev/owned-") ||
         key.starts_with("sublet.dev/fact-");
}

std::string overrules(std::string_view kind, std::span<const std::string_view> members) {
  for (const Overruled& row : kOverruled) {
    if (!row.kind.empty() && row.kind != kind) continue;
    const std::size_t depth = row.parent.empty() ? 0 : 1;
    if (members.size() > depth && (depth == 0 || members[0] == row.parent) && members[depth] == row.member)
      return std::string(row.why);
  }
  if (members.size() != 3 || members[0] != "metadata") return {};
  if (written_by_border(members[2])) return "the border writes this key itself";
  if ((members[1] == "labels" && reserved_label(members[2], true)) ||
      (members[1] == "annotations" && reserved_annotation(members[2], true)))
    return "only a component of the host writes this key";
  return {};
}

}  // namespace

const patches::BorderFacts& border_facts() {
  static const std::vector<std::string_view> kinds = [] {
    std::vector<std::string_view> names;
    for (const HostKind& kind : host_kinds()) names.push_back(kind.kind);
    return names;
  }();
  static const patches::BorderFacts facts{kinds, overrules};
  return facts;
}

}  // namespace sublet::syncer
