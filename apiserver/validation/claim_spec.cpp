#include <algorithm>
#include <initializer_list>
#include <string>

#include "apiserver/validation/field_rules.h"
#include "apiserver/validation/names.h"
#include "apiserver/validation/resources.h"
#include "apiserver/validation/volume_sources.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

constexpr std::string_view kAccessModes[] = {"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"};

void validate_data_source(Causes& causes, const std::string& path, const Value& source, bool known_group) {
  for (auto field : {"name", "kind"})
    if (source[field].text().empty()) required(causes, child(path, field));
  const auto group = source["apiGroup"].text(), kind = source["kind"].text();
  if (group.empty() && kind != "PersistentVolumeClaim")
    invalid(causes, path, kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup");
  if (!group.empty() && !known_group) invalid_each(causes, child(path, "apiGroup"), group, dns1123_subdomain(group));
  if (const auto name = source["namespace"].text(); !name.empty())
    invalid_each(causes, child(path, "namespace"), name, dns1123_label(name));
}

bool is_same_source(const Value& source, const Value& reference) {
  return source.has("apiGroup") == reference.has("apiGroup") &&
         std::ranges::all_of(std::initializer_list<std::string_view>{"apiGroup", "kind", "name"},
                             [&](auto field) { return source[field].text() == reference[field].text(); });
}

void validate_data_sources(Causes& causes, const std::string& path, const Value& spec, bool known_group) {
  const auto source = spec["dataSource"], reference = spec["dataSourceRef"];
  if (source) validate_data_source(causes, child(path, "dataSource"), source, known_group);
  if (reference) validate_data_source(causes, child(path, "dataSourceRef"), reference, known_group);
  if (!source || !reference) return;
  // The bad value is a Go structure of upstream's own that prints as {}.
  if (!reference["namespace"].text().empty())
    invalid(causes, path, BadValue::raw("{}"), "may not be specified when dataSourceRef.namespace is specified");
  else if (!is_same_source(source, reference))
    invalid(causes, path, BadValue::raw("{}"), "must match dataSourceRef");
}

constexpr FieldRule kClaimRules[] = {{"selector", is_selector},
                                     optional_name("storageClassName", dns1123_subdomain),
                                     optional_name("volumeAttributesClassName", dns1123_subdomain)};

}  // namespace

void validate_access_modes(Causes& causes, const std::string& field, const Value& modes, std::string_view words) {
  if (modes.empty()) required(causes, field, words);
  bool one_pod = false, others = false;
  for (auto mode : modes) {
    if (std::ranges::find(kAccessModes, mode.text()) == std::end(kAccessModes))
      not_supported(causes, field, mode.text(), kAccessModes);
    else
      (mode.text() == "ReadWriteOncePod" ? one_pod : others) = true;
  }
  if (one_pod && others) forbidden(causes, field, "may not use ReadWriteOncePod with other access modes");
}

void validate_claim_spec(Causes& causes, const std::string& path, const Value& spec, bool known_group) {
  validate_access_modes(causes, child(path, "accessModes"), spec["accessModes"], "at least 1 access mode is required");
  const auto storage = spec["resources"]["requests"]["storage"];
  const auto at = keyed(child(path, "resources"), "storage");
  if (!storage)
    required(causes, at);
  else if (quantity_nanos_of(storage) <= 0)
    invalid(causes, at, storage, "must be greater than zero");
  check_rules(causes, path, spec, kClaimRules);
  if (const auto mode = spec["volumeMode"];
      mode && std::ranges::find(kVolumeModes, mode.text()) == std::end(kVolumeModes))
    not_supported(causes, child(path, "volumeMode"), mode.text(), kVolumeModes);
  validate_data_sources(causes, path, spec, known_group);
}

void validate_template_meta(Causes& causes, const std::string& path, const Value& metadata) {
  validate_annotations(causes, child(path, "annotations"), metadata["annotations"]);
  validate_labels(causes, child(path, "labels"), metadata["labels"]);
  for (auto member : metadata) {
    const auto value = member;
    const bool empty = value.is_null() || (value.is_string() && value.text().empty()) ||
                       (value.is_number() && value.integer() == 0) ||
                       (!value.is_boolean() && value.empty() && (value.is_object() || value.is_array()));
    if (member.key() != "labels" && member.key() != "annotations" && !empty)
      forbidden(causes, child(path, member.key() == "uid" ? "uID" : member.key()), "cannot be set");
  }
}

void validate_claim_template(Causes& causes, const std::string& path, const Value& claim) {
  validate_template_meta(causes, child(path, "metadata"), claim["metadata"]);
  validate_claim_spec(causes, child(path, "spec"), claim["spec"]);
}

}  // namespace sublet::apiserver
