#include "syncer/synced_kinds_page.h"

#include <array>

#include "syncer/border/synced_kinds.h"
#include "syncer/translate/field_table.h"

namespace sublet::syncer {
namespace {

constexpr std::string_view kIntroduction =
    R"(# Synced kinds

What crosses the border between a virtual cluster and its host, in which direction, and who has the last word. Made of the
table itself (`syncer/synced_kinds.cpp`, `syncer/translate/fields_*.cpp`) by `build/dev/bin/synced_kinds_page >
docs/synced-kinds.md`; a test compares the two.

)";

constexpr std::string_view kFieldsIntroduction =
    R"(Struct types that several others hold stand here once. A field that is in no list is refused towards the host, and left out
towards the tenant; a new Kubernetes release does not build until each of its fields is in one.

)";

struct ActionTitle {
  Action action;
  std::string_view says;
};
constexpr std::array<ActionTitle, 8> kActionTitles{{
    {Action::copy, "as it is"},
    {Action::walk, "field by field"},
    {Action::rewrite, "rewritten"},
    {Action::clamp, "within bounds"},
    {Action::force, "set by sublet"},
    {Action::drop, "left out"},
    {Action::warn, "left out, with a warning"},
    {Action::deny, "refused"},
}};

std::string_view where_on_host(const SyncedKind& kind) {
  return kind.in_cluster() ? "whole cluster" : "host namespace";
}

void append_kinds(std::string& page) {
  page += "## Kinds\n\n";
  for (const SyncedKind& kind : synced_kinds()) {
    page.append("### ").append(kind.kind).append("\n\n| | |\n|---|---|\n");
    const auto line = [&](std::string_view what, std::string_view says) {
      page.append("| ").append(what).append(" | ").append(says).append(" |\n");
    };
    line("direction", kind.direction == Direction::to_host ? "tenant to host" : "host to tenant");
    line("crosses", kind.crosses);
    line("the host allocates", kind.host_allocates);
    line("who wins", kind.wins);
    line("status comes back", kind.status);
    line("`sublet delete` removes", kind.swept ? "every host object with the label of the virtual cluster's uid"
                                               : "nothing: nothing of it is made on the host");
    std::string rights = "`" + kind.resource.resource + "`: " + std::string(kind.host_verbs) + " (" +
                         std::string(where_on_host(kind)) + ")";
    for (const std::string_view subresource : kind.host_subresources) {
      const std::size_t space = subresource.find(' ');
      rights.append("; `").append(subresource.substr(0, space)).append("`:").append(subresource.substr(space));
    }
    if (kind.measured) rights.append("; `").append(kind.resource.resource).append(".metrics.k8s.io`: get list");
    line("rights on the host", rights);
    page += "\n";
  }
}

// One line for all rows of an action, but that reasons stand beside what they are for.
void append_action(std::string& page, const TypeRows& type, const ActionTitle& action) {
  std::string said;
  for (const FieldRow& row : type.rows) {
    if (row.action != action.action) continue;
    said += said.empty() ? "" : row.why.empty() ? ", " : "; ";
    std::string names;
    for (const std::string_view name : field_names(row))
      names.append(names.empty() ? "`" : ", `").append(name).append("`");
    said += names;
    if (!row.into.empty() && row.into != type.type) said.append(" (").append(row.into).append(")");
    if (!row.why.empty()) said.append(": ").append(row.why);
  }
  if (!said.empty()) page.append("- ").append(action.says).append(": ").append(said).append("\n");
}

void append_types(std::string& page, const std::vector<TypeRows>& types) {
  for (const TypeRows& type : types) {
    page.append("**").append(type.type).append("**\n");
    for (const ActionTitle& action : kActionTitles) append_action(page, type, action);
    page += "\n";
  }
}

}  // namespace

std::string synced_kinds_page() {
  std::string page(kIntroduction);
  append_kinds(page);
  page.append("## Fields, tenant to host\n\n").append(kFieldsIntroduction);
  append_types(page, pod_fields());
  append_types(page, core_fields());
  append_types(page, claim_fields());
  append_types(page, network_fields());
  append_types(page, policy_fields());
  append_types(page, device_fields());
  page += "## Fields, host to tenant\n\n";
  append_types(page, from_host_fields());
  append_types(page, class_fields());
  append_types(page, device_status_fields());
  page.pop_back();
  return page;
}

}  // namespace sublet::syncer
