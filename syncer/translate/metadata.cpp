#include "syncer/translate/metadata.h"

#include <array>

#include "syncer/translate/names.h"
#include "syncer/translate/reserved_keys.h"

namespace sublet::syncer {
namespace {

using schema::Value;

constexpr std::string_view kPlain = "t.sublet.dev/", kPrefixed = "tp.sublet.dev/", kHashed = "th.sublet.dev/";
constexpr std::size_t kKeyNameMax = 63;

/// Of a long key, as much of its name as the digest leaves room for.
std::string hashed_key(std::string_view tenant_key) {
  const std::string digest = key_digest(tenant_key);
  std::string_view name = tenant_key.substr(tenant_key.find('/') + 1);
  name = name.substr(0, kKeyNameMax - 1 - digest.size());
  return std::string(kHashed).append(name).append(1, '.').append(digest);
}

}  // namespace

std::string host_label_key(std::string_view tenant_key) {
  return written_by_host(tenant_key) ? std::string(tenant_key) : host_gate_name(tenant_key);
}

std::string host_gate_name(std::string_view tenant_key) {
  const std::size_t slash = tenant_key.find('/');
  const bool joint_in_prefix = slash != std::string_view::npos && tenant_key.find('_') < slash;  // no server lets it in
  if (tenant_key.size() > kKeyNameMax || joint_in_prefix) return hashed_key(tenant_key);
  if (slash == std::string_view::npos) return std::string(kPlain).append(tenant_key);
  std::string key = std::string(kPrefixed).append(tenant_key);
  key[kPrefixed.size() + slash] = '_';
  return key;
}

void put_identity(const TranslateContext& context, std::string_view tenant_namespace, std::string_view tenant_name,
                  std::string_view tenant_uid, Value metadata) {
  Value labels = metadata.object("labels");
  labels.put(kLabelManagedBy, context.virtual_cluster);
  labels.put(kLabelTenantUid, context.virtual_cluster_uid);
  labels.put(kLabelTenantNamespace, tenant_namespace);
  Value annotations = metadata.object("annotations");
  annotations.put(kAnnotationTenantName, tenant_name);
  if (!tenant_uid.empty()) annotations.put(kAnnotationTenantUid, tenant_uid);
}

void mark_as_ours(const TranslateContext& context, const StandsFor& what, Value metadata) {
  put_identity(context, what.tenant_namespace, what.tenant_name, what.tenant_uid, metadata);
  metadata.object("annotations").put(kAnnotationTenantKind, what.said_kind);
}

bool carries_tenant_label(std::string_view host_key) {
  return host_key.starts_with(kPlain) || host_key.starts_with(kPrefixed) || host_key.starts_with(kHashed);
}

void carry_labels(Translation& translation, Value, Value field) {
  const patches::Patterns& allowed = translation.allowed_metadata().labels;
  field.retain([&](const Value& label) {
    if (written_by_host(label.key())) return false;
    translation.carried_labels.emplace_back(host_label_key(label.key()), label.text());
    return !allowed.empty() && !of_sublet(label.key()) && allowed.match(label.key());
  });
}

void allow_annotations(Translation& translation, Value, Value field) {
  const patches::Patterns& allowed = translation.allowed_metadata().annotations;
  if (allowed.empty()) return field.clear();
  field.retain([&](const Value& annotation) {
    return !written_by_host(annotation.key()) && !of_sublet(annotation.key()) && allowed.match(annotation.key());
  });
}

void put_carried_labels(const Translation& translation, Value labels) {
  labels.retain([](const Value& label) { return !carries_tenant_label(label.key()); });
  // None is there: host keys are injective, and those that were are gone.
  for (const auto& [key, value] : translation.carried_labels) labels.add_member(key).set(value);
}

void translate_label_map(Value map) {
  if (!map.is_object()) return;
  const schema::Document tenants = schema::Document::copy_of(map);
  map.clear();
  for (const Value label : tenants.root()) map.add_member(host_label_key(label.key())).set(label);  // injective
}

void translate_label_keys(Value list) {
  for (Value key : list) key.set(host_label_key(key.text()));
}

void translate_label_selector(Value selector) {
  translate_label_map(selector["matchLabels"]);
  for (const Value expression : selector["matchExpressions"])
    if (Value key = expression["key"]) key.set(host_label_key(key.text()));
}

void narrow_to_virtual_cluster(const Translation& translation, Value selector) {
  // By uid: another of the same name, made from another state folder, has the same name's label on its pods.
  if (selector.is_object())
    selector.object("matchLabels").put(kLabelTenantUid, translation.context().virtual_cluster_uid);
}

void narrow_to_own_namespace(const Translation& translation, Value selector) {
  if (!selector.is_object()) return;
  narrow_to_virtual_cluster(translation, selector);
  selector.object("matchLabels").put(kLabelTenantNamespace, translation.tenant_namespace());
}

}  // namespace sublet::syncer
