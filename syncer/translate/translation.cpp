#include "syncer/translate/translation.h"

#include "sublet/syncer/host_name.h"
#include "syncer/translate/field_table.h"

namespace sublet::syncer {

using schema::Value;

namespace {

// The type's zero: nothing is asked for, so nothing needs to be refused.
bool zero(const schema::Value& value) {
  switch (value.kind()) {
    case schema::NodeKind::null:
      return true;
    case schema::NodeKind::boolean:
      return !value.boolean();
    case schema::NodeKind::integer:
      return value.integer() == 0;
    case schema::NodeKind::string:
      return value.text().empty();
    case schema::NodeKind::array:
      return value.empty();
    case schema::NodeKind::object:
    case schema::NodeKind::floating:
      return false;
  }
  return false;
}

const TranslateContext& no_context() {
  static const TranslateContext none;
  return none;
}

}  // namespace

/// Goes one step down for one scope. A path becomes text only where one is told.
class Translation::Descent {
 public:
  Descent(Translation& translation, std::string_view member, std::size_t item = 0) : steps_(translation.steps_) {
    steps_.push_back({member, item});
  }
  ~Descent() { steps_.pop_back(); }
  Descent(const Descent&) = delete;
  Descent& operator=(const Descent&) = delete;

 private:
  std::vector<Step>& steps_;
};

Translation::Translation(const TranslateContext& context, const schema::Value& tenant_object, Operation operation)
    : context_(context),
      tenant_(tenant_object),
      tenant_name_(tenant_object.path("metadata.name").text()),
      tenant_namespace_(tenant_object.path("metadata.namespace").text()),
      operation_(operation),
      to_host_(true) {}

Translation::Translation(const TranslateContext& context, const Value& tenant_object)
    : context_(context), tenant_(tenant_object), operation_(Operation::update), to_host_(false) {}

const patches::Allowed& allowed_by(const TranslateContext& context) {
  static const patches::Allowed defaults;
  return context.resolved_template ? context.resolved_template->config().allowed : defaults;
}

const patches::Allowed& Translation::allowed() const { return allowed_by(context_); }

const patches::AllowedMetadata& Translation::allowed_metadata() const {
  return allowed().metadata_of(tenant_["kind"].text());
}

std::string Translation::path() const {
  std::string path;
  for (const Step& step : steps_) {
    if (step.member.empty())
      path += "[" + std::to_string(step.item) + "]";
    else
      path.append(path.empty() ? "" : ".").append(step.member);
  }
  return path;
}

void Translation::deny(std::string message, std::string_view member) {
  std::string at = path();
  if (!member.empty()) at.append(".").append(member);
  causes.push_back({"FieldValueForbidden", std::move(message), std::move(at)});
}

void Translation::warn(std::string message) { warnings.push_back(path() + ": " + std::move(message)); }

std::pair<std::size_t, bool> NamePlaces::place_of(std::string_view kind, std::string_view name) {
  std::string key(kind);
  key.append("/").append(name);
  const auto [found, is_new] = places_.emplace(std::move(key), places_.size());
  return {found->second, !is_new};
}

void Translation::refer(std::string_view kind, std::string_view tenant_name, bool optional) {
  const bool stays =
      (kind == "ConfigMap" && !config().config_maps_to_host) || (kind == "Secret" && !config().secrets_to_host);
  if (stays && !optional) deny("this virtual cluster's template does not carry " + std::string(kind) + "s to the host");
  if (stays) return;
  const auto [place, known] = reference_places_.place_of(kind, tenant_name);
  if (!known) return references.push_back({std::string(kind), std::string(tenant_name), optional});
  references[place].optional = references[place].optional && optional;
}

std::string Translation::host_name_of(std::string_view tenant_name) const {
  return tenant_namespace_.empty() ? cluster_name_of(tenant_name)
                                   : host_name(tenant_name, tenant_namespace_, context_.virtual_cluster);
}

std::string Translation::cluster_name_of(std::string_view tenant_name) const {
  return host_name(tenant_name, context_.host_namespace, context_.virtual_cluster);
}

const patches::SyncConfig& Translation::config() const { return config_of(context_); }

std::string Translation::carry_annotation(std::string_view key, std::string value) {
  if (!annotation_places_.place_of("", key).second) carried_annotations.emplace_back(key, std::move(value));
  return std::string(key);
}

void Translation::walk(Value value, std::string_view type) {
  if (const TypePlan* plan = plan_of(type)) walk_field(value, *plan);
}

void Translation::walk_field(Value field, const TypePlan& type) {
  if (!field.is_array()) return walk_object(field, type);
  std::size_t index = 0;
  for (const Value item : field) {
    const Descent item_step(*this, {}, index++);
    walk_object(item, type);
  }
}

void Translation::walk_values(Value map, const TypePlan& type) {
  for (const Value value : map) {
    const Descent value_step(*this, value.key());
    walk_object(value, type);
  }
}

void Translation::walk_object(Value object, const TypePlan& type) {
  if (!object.is_object()) return;
  if (type.rows->whole) type.rows->whole(*this, object);
  // Rows may erase the member they are called for, and add others, which are not looked at.
  const std::size_t first = members_.size();
  for (const Value member : object) members_.push_back(member);
  std::size_t place = 0;
  for (std::size_t i = first, end = members_.size(); i < end; ++i) {
    const Value member = members_[i];
    apply(object, member, type.find(member.key(), place));
  }
  members_.resize(first);
}

void Translation::apply(Value parent, Value field, const FieldPlan* plan) {
  const Descent step(*this, field.key());
  if (plan == nullptr) {
    if (!to_host_) {
      parent.erase(field.key());
      return;
    }
    return deny(
        "this field is not known to sublet's border, so it cannot cross to the host; remove it, or use a newer sublet");
  }
  const FieldRow& row = *plan->row;
  switch (row.action) {
    case Action::copy:
      return;
    case Action::warn:
      if (!zero(field)) warn(std::string(row.why));
      break;
    case Action::deny:
      if (!zero(field)) deny(std::string(row.why));
      break;
    case Action::force:
    case Action::drop:
      break;
    case Action::walk:
    case Action::rewrite:
    case Action::clamp:
      if (row.function) row.function(*this, parent, field);
      if (plan->into && row.each)
        walk_values(field, *plan->into);
      else if (plan->into)
        walk_field(field, *plan->into);
      return;
  }
  parent.erase(field.key());
}

schema::Document carry_back(std::string_view type, const Value& host_value, const Value& tenant_object) {
  return carry_back(type, host_value, tenant_object, no_context());
}

schema::Document carry_back(std::string_view type, const Value& host_value, const Value& tenant_object,
                            const TranslateContext& context) {
  schema::Document out = schema::Document::copy_of(host_value);
  if (!out.root().is_object()) out.root().make_object();
  Translation(context, tenant_object).walk(out.root(), type);
  return out;
}

}  // namespace sublet::syncer
