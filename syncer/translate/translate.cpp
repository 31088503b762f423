#include "sublet/syncer/translate.h"

#include <algorithm>

#include "sublet/net/digest.h"
#include "sublet/podsecurity/check_pod.h"
#include "sublet/syncer/node_names.h"
#include "syncer/translate/custom.h"
#include "syncer/translate/field_table.h"
#include "syncer/translate/metadata.h"
#include "syncer/translate/overruled.h"
#include "syncer/translate/pod_settings.h"
#include "syncer/translate/reserved_keys.h"
#include "syncer/translate/rewrites.h"
#include "syncer/translate/translation.h"

namespace sublet::syncer {
namespace {

using schema::Document;
using schema::Value;

// What patches cannot get around: written or removed after them.
void enforce_border(const Translation& translation, const HostKind& kind, Value host_object) {
  Value metadata = host_object.object("metadata");
  Value labels = metadata.object("labels"), annotations = metadata.object("annotations");
  for (Value map : {labels, annotations}) map.retain([](const Value& entry) { return !written_by_host(entry.key()); });
  put_carried_labels(translation, labels);
  overrule(translation, "", host_object);
  for (const OwnKey& own : own_keys()) metadata[own.parent].put(own.key, own.value(translation));
  for (const auto& [key, value] : translation.carried_annotations) annotations.put(key, value);
  overrule(translation, kind.kind, host_object);
  if (kind.kind == "Pod") put_shown_nodes(translation, host_object);
}

patches::PatchReport apply_patches(const Translation& translation, std::string_view kind, Value host_object) {
  const TranslateContext& context = translation.context();
  if (!context.resolved_template || !context.patched) return {};
  return context.resolved_template->apply(kind, host_object, translation.tenant(),
                                          {context.virtual_cluster, std::string(translation.tenant_namespace()),
                                           context.host_namespace, context.after_patch});
}

// What is about to run, whatever the template's patches made of it.
void check_pod_security(Translation& translation, const Value& host_pod) {
  static const patches::Policies defaults;
  const TranslateContext& context = translation.context();
  const std::string& standard = context.resolved_template
                                    ? context.resolved_template->config().policies.pod_security_standard
                                    : defaults.pod_security_standard;
  podsecurity::LevelVersion level;
  for (const auto one : {podsecurity::Level::baseline, podsecurity::Level::restricted})
    if (podsecurity::level_name(one) == standard) level.level = one;
  const auto violations = podsecurity::check_pod(level, host_pod["metadata"], host_pod["spec"]);
  if (violations.empty()) return;
  translation.causes.push_back({"FieldValueForbidden",
                                "as it would run on the host, the pod violates PodSecurity \"" + level.text() +
                                    "\", which the platform asks for: " + podsecurity::details_of(violations),
                                "spec"});
}

// A listed object comes without apiVersion and kind and gets them last, a watched one has them first: one form for
// both, or the hash would differ by the way an object came.
Document with_type_first(const Value& tenant_object) {
  Document document = Document::object();
  Value root = document.root();
  for (const std::string_view key : {"apiVersion", "kind"}) root.put(key, tenant_object[key]);
  for (const Value member : tenant_object)
    if (member.key() != "apiVersion" && member.key() != "kind") root.add_member(member.key()).set(member);
  return document;
}

// Everything the syncer owns: the whole host object as it is about to be written.
std::string hash_of(const Value& host_object) { return net::sha256_hex(host_object.to_json(), 32); }

}  // namespace

tl::expected<Translated, Denied> translate(const TranslateContext& context, std::string_view kind_name,
                                           const Value& tenant_object, Operation operation) {
  const patches::CustomResource* const custom = find_custom(context, kind_name);
  const HostKind custom_kind{kind_name};
  const HostKind* const kind = custom ? &custom_kind : find_host_kind(kind_name);
  if (kind == nullptr)
    return tl::unexpected(
        Denied{{{"FieldValueNotSupported", std::string(kind_name) + " is not a kind that is synced", "kind"}}});

  Translation translation(context, tenant_object, operation);
  Translated out;
  out.host_object = with_type_first(tenant_object);
  Value host = out.host_object.root();
  if (custom)
    translate_custom(translation, *custom, host);
  else
    translation.walk(host, kind->kind);
  if (kind->after_rows) kind->after_rows(translation, host);
  patches::PatchReport report;
  if (kind->kind == "Pod" && context.patched) apply_pod_settings(translation, host);
  if (translation.causes.empty()) report = apply_patches(translation, kind->kind, host);
  for (std::string& denial : report.denials)
    translation.causes.push_back({"FieldValueForbidden", std::move(denial), ""});
  if (!translation.causes.empty()) return tl::unexpected(Denied{std::move(translation.causes)});

  enforce_border(translation, *kind, host);
  if (kind->kind == "Pod") name_in_pod(translation, host);
  if (kind->kind == "Pod" && context.patched) check_pod_security(translation, host);
  if (!translation.causes.empty()) return tl::unexpected(Denied{std::move(translation.causes)});
  out.desired_hash = hash_of(host);
  std::string written = "h:" + out.desired_hash;
  // The kubelet counts the host pod's generations; what the tenant is told is in its own.
  if (const auto generation = tenant_object["metadata"]["generation"].integer(); kind->kind == "Pod" && generation > 0)
    written += " n:" + std::to_string(generation);
  host.object("metadata").object("annotations").put(kAnnotationWritten, written);
  if (kind->after_hash) kind->after_hash(translation, host);
  out.references = std::move(translation.references);
  out.tokens = std::move(translation.tokens);
  out.warnings = std::move(translation.warnings);
  out.warnings.insert(out.warnings.end(), report.warnings.begin(), report.warnings.end());
  return out;
}

}  // namespace sublet::syncer
