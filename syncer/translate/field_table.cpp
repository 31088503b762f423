#include "syncer/translate/field_table.h"

#include <algorithm>
#include <deque>
#include <iterator>

#include "sublet/base/text.h"

namespace sublet::syncer {
namespace {

std::vector<TypeRows> all_types() {
  std::vector<TypeRows> all = core_fields();
  for (auto part : {claim_fields(), network_fields(), policy_fields(), pod_fields(), device_fields(), group_fields(),
                    from_host_fields(), class_fields(), device_status_fields()})
    std::move(part.begin(), part.end(), std::back_inserter(all));
  return all;
}

std::deque<TypePlan> make_plans() {
  std::deque<TypePlan> plans;
  for (const TypeRows& type : field_table()) plans.push_back({&type, {}});
  const auto named = [&](std::string_view name) -> const TypePlan* {
    const auto found = std::ranges::find_if(plans, [&](const TypePlan& plan) { return plan.rows->type == name; });
    return found == plans.end() ? nullptr : &*found;
  };
  for (TypePlan& plan : plans)
    for (const FieldRow& row : plan.rows->rows)
      for (const std::string_view name : field_names(row)) plan.fields.push_back({name, &row, named(row.into)});
  return plans;
}

}  // namespace

std::span<const TypeRows> field_table() {
  static const std::vector<TypeRows> types = all_types();
  return types;
}

const HostKind* find_host_kind(std::string_view kind) {
  for (const HostKind& one : host_kinds())
    if (one.kind == kind) return &one;
  return nullptr;
}

std::string schema_name(const TypeRows& rows) {
  if (rows.schema.empty()) return "io.k8s.api.core.v1." + std::string(rows.type);
  return rows.schema.starts_with("io.") ? std::string(rows.schema) : "io.k8s.api." + std::string(rows.schema);
}

std::vector<std::string_view> field_names(const FieldRow& row) { return split_words(row.fields); }

const FieldPlan* TypePlan::find(std::string_view field, std::size_t& place) const {
  for (std::size_t tried = 0; tried < fields.size(); ++tried) {
    if (place >= fields.size()) place = 0;
    const FieldPlan& candidate = fields[place++];
    if (candidate.name == field) return &candidate;
  }
  return nullptr;
}

const TypePlan* plan_of(std::string_view type) {
  static const std::deque<TypePlan> plans = make_plans();
  for (const TypePlan& plan : plans)
    if (plan.rows->type == type) return &plan;
  return nullptr;
}

}  // namespace sublet::syncer
