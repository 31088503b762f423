#include "sublet/syncer/border_facts.h"

#include "syncer/translate/field_table.h"
#include "syncer/translate/metadata.h"
#include "syncer/translate/overruled.h"
#include "syncer/translate/reserved_keys.h"

namespace sublet::syncer {
namespace {

std::string overrules(std::string_view kind, std::span<const std::string_view> members) {
  for (const OverruledMember& row : overruled_members()) {
    if (!row.kind.empty() && row.kind != kind) continue;
    const std::size_t depth = row.parent.empty() ? 0 : 1;
    if (members.size() > depth && (depth == 0 || members[0] == row.parent) && members[depth] == row.member)
      return std::string(row.why);
  }
  if (members.size() != 3 || members[0] != "metadata") return {};
  if (written_by_border(members[2])) return "the border writes this key itself";
  if (carries_tenant_label(members[2])) return "the border carries the tenant's labels under such keys";
  if (written_by_host(members[2])) return "only a component of the host writes this key";
  return {};
}

}  // namespace

const patches::BorderFacts& border_facts() {
  static const std::vector<std::string_view> kinds = [] {
    std::vector<std::string_view> names;
    for (const HostKind& kind : host_kinds()) names.push_back(kind.kind);
    return names;
  }();
  static const std::vector<std::string_view> judged_late = [] {
    std::vector<std::string_view> names;
    for (const HostKind& kind : host_kinds())
      if (kind.judged_late) names.push_back(kind.kind);
    return names;
  }();
  static const patches::BorderFacts facts{kinds, overrules, judged_late};
  return facts;
}

}  // namespace sublet::syncer
