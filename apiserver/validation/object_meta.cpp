#include "apiserver/validation/object_meta.h"

#include <algorithm>
#include <array>
#include <set>

#include "apiserver/validation/names.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

struct NameRuleFacts {
  NameRule rule;
  Messages (*check)(std::string_view);
};
constexpr std::array<NameRuleFacts, 5> kNameRules{{{NameRule::dns_subdomain, dns1123_subdomain},
                                                   {NameRule::dns_label, dns1123_label},
                                                   {NameRule::dns1035_label, dns1035_label},
                                                   {NameRule::path_segment, path_segment_name},
                                                   {NameRule::ip_address, canonical_ip}}};

Messages check_name(NameRule rule, std::string_view name) {
  for (const auto& facts : kNameRules)
    if (facts.rule == rule) return facts.check(name);
  return {};
}

/// A prefix gets characters appended, so a dash at its end is fine.
std::string as_prefix(std::string_view text) {
  std::string name(text);
  if (name.size() > 1 && name.back() == '-') name.back() = 'a';
  return name;
}

void validate_names(Causes& causes, const Value& metadata, bool namespaced, NameRule rule) {
  auto prefix = metadata["generateName"].text(), name = metadata["name"].text();
  auto namespace_name = metadata["namespace"].text();
  if (!prefix.empty()) invalid_each(causes, "metadata.generateName", prefix, check_name(rule, as_prefix(prefix)));
  if (name.empty())
    required(causes, "metadata.name", "name or generateName is required");
  else
    invalid_each(causes, "metadata.name", name, check_name(rule, name));
  if (!namespaced) {
    if (!namespace_name.empty()) forbidden(causes, "metadata.namespace", "not allowed on this type");
  } else if (namespace_name.empty()) {
    required(causes, "metadata.namespace");
  } else {
    invalid_each(causes, "metadata.namespace", namespace_name, dns1123_label(namespace_name));
  }
}

/// A required text of an owner reference, and what is said when it is empty.
struct OwnerField {
  std::string_view name, message;
};
constexpr OwnerField kOwnerFields[] = {{"apiVersion", "version must not be empty"},
                                       {"kind", "must not be empty"},
                                       {"name", "must not be empty"},
                                       {"uid", "must not be empty"}};

/// Of "a/b/c" nothing is read as the version.
bool has_version(std::string_view field, std::string_view text) {
  if (field != "apiVersion") return true;
  return std::ranges::count(text, '/') <= 1 && !text.ends_with('/');
}

void validate_owner_references(Causes& causes, const Value& references) {
  constexpr std::string_view kPath = "metadata.ownerReferences";
  std::string controller;
  for (auto reference : references) {
    for (const auto& field : kOwnerFields)
      if (const auto said = reference[field.name].text(); said.empty() || !has_version(field.name, said))
        invalid(causes, child(std::string(kPath), field.name), said, field.message);
    if (reference["apiVersion"].text() == "v1" && reference["kind"].text() == "Event")
      invalid(causes, std::string(kPath), reference, "/v1, Kind=Event is disallowed from being an owner");
    if (!reference["controller"].boolean()) continue;
    auto current = reference["kind"].string() + "/" + reference["name"].string();
    if (controller.empty()) {
      controller = current;
      continue;
    }
    invalid(causes, std::string(kPath), references,
            "Only one reference can have Controller set to true. Found \"true\" in references for " + controller +
                " and " + current);
  }
}

bool is_standard_finalizer(std::string_view name) {
  return name == "kubernetes" || name == "orphan" || name == "foregroundDeletion";
}

void validate_finalizers(Causes& causes, const Value& finalizers, FinalizerRule rule) {
  bool orphan = false, foreground = false;
  std::size_t index = 0;
  for (auto finalizer : finalizers) {
    invalid_each(causes, "metadata.finalizers", finalizer.text(), qualified_name(finalizer.text()));
    std::string at = item("metadata.finalizers", index++);
    if (rule == FinalizerRule::known_or_qualified && finalizer.text().find('/') == std::string_view::npos &&
        !is_standard_finalizer(finalizer.text()))
      invalid(causes, at, finalizer.text(), "name is neither a standard finalizer name nor is it fully qualified");
    orphan |= finalizer.text() == "orphan";
    foreground |= finalizer.text() == "foregroundDeletion";
  }
  if (orphan && foreground)
    invalid(causes, "metadata.finalizers", finalizers, "finalizer orphan and foregroundDeletion cannot be both set");
}

void validate_managed_fields(Causes& causes, const Value& entries) {
  std::size_t index = 0;
  for (auto entry : entries) {
    std::string at = item("metadata.managedFields", index++);
    auto operation = entry["operation"].text();
    if (operation != "Apply" && operation != "Update")
      invalid(causes, child(at, "operation"), operation, "must be `Apply` or `Update`");
    auto type = entry["fieldsType"].text();
    if (!type.empty() && type != "FieldsV1") invalid(causes, child(at, "fieldsType"), type, "must be `FieldsV1`");
    if (entry["manager"].text().size() > 128) too_long(causes, child(at, "manager"), 128);
    if (entry["subresource"].text().size() > 256) too_long(causes, child(at, "subresource"), 256);
  }
}

void validate_no_new_finalizers(Causes& causes, const Value& finalizers, const Value& old) {
  std::set<std::string_view> known, added;
  for (auto finalizer : old) known.insert(finalizer.text());
  for (auto finalizer : finalizers)
    if (!known.contains(finalizer.text())) added.insert(finalizer.text());
  if (added.empty()) return;
  std::string list;
  for (auto name : added) list += (list.empty() ? "" : ", ") + BadValue(name).text();
  forbidden(
      causes, "metadata.finalizers",
      "no new finalizers can be added if the object is being deleted, found new finalizers []string{" + list + "}");
}

constexpr std::string_view kImmutableFields[] = {
    "name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"};

void validate_changeable(Causes& causes, const Value& metadata) {
  validate_labels(causes, "metadata.labels", metadata["labels"]);
  validate_annotations(causes, "metadata.annotations", metadata["annotations"]);
  validate_owner_references(causes, metadata["ownerReferences"]);
  validate_managed_fields(causes, metadata["managedFields"]);
}

}  // namespace

void validate_object_meta(const Value& metadata, bool namespaced, NameRule rule, std::vector<Cause>& causes,
                          FinalizerRule finalizers) {
  validate_names(causes, metadata, namespaced, rule);
  nonnegative(causes, "metadata.generation", metadata["generation"].integer());
  validate_changeable(causes, metadata);
  validate_finalizers(causes, metadata["finalizers"], finalizers);
}

void validate_object_meta_update(const Value& metadata, const Value& old_metadata, std::vector<Cause>& causes,
                                 FinalizerRule finalizers) {
  if (old_metadata.has("deletionTimestamp"))
    validate_no_new_finalizers(causes, metadata["finalizers"], old_metadata["finalizers"]);
  if (metadata["generation"].integer() < old_metadata["generation"].integer())
    invalid(causes, "metadata.generation", metadata["generation"].integer(), "must not be decremented");
  for (auto field : kImmutableFields) immutable(causes, child("metadata", field), metadata[field], old_metadata[field]);
  validate_changeable(causes, metadata);
  validate_finalizers(causes, metadata["finalizers"], finalizers);
}

}  // namespace sublet::apiserver
