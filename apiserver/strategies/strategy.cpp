#include "apiserver/strategies/strategy.h"

#include <algorithm>
#include <iterator>

#include "apiserver/strategies/rows.h"
#include "sublet/base/log.h"
#include "sublet/schema/engine.h"

namespace sublet::apiserver {
namespace {

bool by_name(const Strategy& a, const Strategy& b) {
  return a.resource != b.resource ? a.resource < b.resource : a.group < b.group;
}

std::vector<Strategy> make_rows() {
  std::vector<Strategy> rows = {namespace_strategy(),      pod_strategy(),
                                config_map_strategy(),     secret_strategy(),
                                service_strategy(),        service_account_strategy(),
                                node_strategy(),           event_strategy(),
                                runtime_class_strategy(),  priority_class_strategy(),
                                lease_strategy(),          certificate_request_strategy(),
                                limit_range_strategy(),    endpoints_strategy(),
                                endpoint_slice_strategy(), custom_resource_definition_strategy(),
                                resource_quota_strategy(), api_service_strategy()};
  for (auto family : {workload_strategies(), rights_strategies(), volume_strategies(), storage_strategies(),
                      networking_strategies(), autoscaling_strategies(), flow_control_strategies(), device_strategies(),
                      group_strategies(), other_strategies()})
    std::move(family.begin(), family.end(), std::back_inserter(rows));
  std::sort(rows.begin(), rows.end(), by_name);
  return rows;
}

Strategy make_generic() {
  Strategy row;
  row.prepare_create = drop_status;
  row.prepare_update = keep_status;
  row.prepare_status_update = keep_other_members;
  return row;
}

// As upstream's custom resources: /status changes status alone, all else that is not metadata counts as spec.
Strategy make_custom() {
  Strategy row = make_generic();
  row.generation = true;
  row.finalizers = FinalizerRule::any_name;
  row.prepare_status_update = keep_all_but_status;
  return row;
}

}  // namespace

const Strategy& custom_strategy() {
  static const Strategy row = make_custom();
  return row;
}

const Strategy* Strategy::row_of(const schema::ResourceFacts& facts) {
  return facts.custom ? &custom_strategy() : &strategy_for(facts.storage_group, facts.resource);
}

const View* find_view(const Strategy& strategy, std::string_view subresource) {
  for (const View& view : strategy.views)
    if (view.subresource == subresource) return &view;
  return nullptr;
}

UpdateSteps update_steps(const Strategy& strategy, std::string_view subresource) {
  if (subresource == "status") return {strategy.prepare_status_update, strategy.validate_status_update};
  if (const View* view = find_view(strategy, subresource)) return {view->prepare, view->validate};
  return {strategy.prepare_update, strategy.validate_update, strategy.claim_update};
}

const Strategy& strategy_for(std::string_view group, std::string_view resource) {
  static const std::vector<Strategy> rows = make_rows();
  static const Strategy generic = make_generic();
  Strategy wanted;
  wanted.group = group;
  wanted.resource = resource;
  auto found = std::lower_bound(rows.begin(), rows.end(), wanted, by_name);
  return found != rows.end() && found->resource == resource && found->group == group ? *found : generic;
}

std::optional<schema::Document> WriteContext::read(std::string_view group_resource, std::string_view namespace_name_,
                                                   std::string_view name) const {
  std::string key(group_resource);
  if (!namespace_name_.empty()) key.append("/").append(namespace_name_);
  key.append("/").append(name);
  auto stored = pending.get(key);
  if (!stored) return std::nullopt;
  auto document = schema::Document::parse_json(stored->json());
  if (document) return std::move(*document);
  log::error("store.unreadable_object", {{"key", key}, {"error", document.error().message}});
  return std::nullopt;
}

Outcome drop_status(WriteContext& context, schema::Value object) {
  if (context.resource.has_status) object.erase("status");
  return {};
}

Outcome keep_status(WriteContext& context, schema::Value object, const schema::Value& old) {
  if (context.resource.has_status) copy_field(object, old, "status");
  return {};
}

void keep_own_metadata(schema::Value object, const schema::Value& old) {
  auto metadata = object.object("metadata");
  for (auto field : {"labels", "annotations", "finalizers", "ownerReferences"})
    copy_field(metadata, old["metadata"], field);
}

Outcome keep_all_but_status(WriteContext& context, schema::Value object, const schema::Value& old) {
  keep_own_metadata(object, old);
  return keep_other_members(context, object, old);
}

Outcome keep_other_members(WriteContext&, schema::Value object, const schema::Value& old) {
  std::vector<std::string> strangers;
  for (auto member : object)
    if (member.key() != "metadata" && member.key() != "status" && !old.has(member.key()))
      strangers.emplace_back(member.key());
  for (const auto& name : strangers) object.erase(name);
  for (auto member : old)
    if (member.key() != "metadata" && member.key() != "status") object.put(member.key(), member);
  return {};
}

Outcome keep_spec(WriteContext&, schema::Value object, const schema::Value& old) {
  copy_field(object, old, "spec");
  return {};
}

void drop_gated(schema::Value object, const schema::Value& old, std::span<const std::string_view> paths) {
  for (const auto path : paths) {
    if (old.path(path)) continue;
    const auto dot = path.rfind('.');
    if (auto holder = object.path(path.substr(0, dot)); holder.is_object()) holder.erase(path.substr(dot + 1));
  }
}

void default_text(schema::Value target, std::string_view field, std::string_view value) {
  if (target[field].text().empty()) target.put(field, value);
}

void default_number(schema::Value target, std::string_view field, std::int64_t value) {
  if (target[field].missing()) target.put(field, value);
}

void add_structural_causes(const Strategy& strategy, const schema::Value& object, schema::Type type,
                           std::vector<Cause>& causes) {
  std::vector<Cause> structural;
  schema::validate_structure(object, type, "", structural);
  if (structural.empty()) return;
  ReportedFields reported;
  for (const Cause& cause : causes) reported.add(cause);
  if (strategy.skip_places) strategy.skip_places(object, reported);
  for (auto& cause : structural) {
    if (cause.field.starts_with("metadata.") || reported.covers(cause.field)) continue;
    if (strategy.is_skipped && strategy.is_skipped(object, cause.field)) continue;
    reported.add(cause);
    causes.push_back(std::move(cause));
  }
}

const VersionWarning* VersionWarning::row_of(const schema::ResourceFacts& facts) {
  static const VersionWarning kEndpoints{"v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"};
  static const VersionWarning kComponentStatuses{"v1 ComponentStatus is deprecated in v1.19+"};
  if (!facts.group.empty()) return nullptr;
  return facts.resource == "endpoints"           ? &kEndpoints
         : facts.resource == "componentstatuses" ? &kComponentStatuses
                                                 : nullptr;
}

}  // namespace sublet::apiserver
