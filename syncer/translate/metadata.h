// Metadata: which labels and annotations of a tenant's object cross to the host, and under which keys. One rule for
// every kind; what a selector asks for follows it.
//
// Labels: each crosses under a reserved prefix, and beside that under its own key when the template allows that key
// for the kind (Allowed::metadata). So no label of a tenant means anything to what runs on the host, and the tenant's
// selectors, which ask for the reserved keys alone and narrow themselves to the virtual cluster, find the tenant's
// objects and no others, whatever the host or a template does to the rest. The keys:
//   app                      t.sublet.dev/app
//   app.kubernetes.io/name   tp.sublet.dev/app.kubernetes.io_name    ('_' is in no prefix: the first one is the joint)
//   longer than 63 together  th.sublet.dev/<start of the name>.<26 base32 of SHA-256 of the key>
// Injective: three prefixes that do not overlap, each of them injective; values are as the tenant wrote them.
// Annotations: only those that the template allows. What only the host writes (reserved_keys.h) crosses neither way;
// a selector may ask for it, under its own key.
// Pure; any thread.
#pragma once

#include <string>
#include <string_view>

#include "syncer/translate/translation.h"

namespace sublet::syncer {

/// The host's key for a tenant's label key, in labels and in selectors.
std::string host_label_key(std::string_view tenant_key);
/// Returns the host's name for a tenant's scheduling gate: as for labels, so that no controller of the host takes it
/// for its own, and none of the host's gates can be a tenant's to remove.
std::string host_gate_name(std::string_view tenant_gate);
/// Returns true if it is such a key: only the border writes it.
bool carries_tenant_label(std::string_view host_key);

// Rows of ObjectMeta (fields_core.cpp); they serve every kind that crosses.
/// Leaves in `field` what is allowed under its own key, and notes the others for put_carried_labels().
void carry_labels(Translation& translation, schema::Value parent, schema::Value field);
void allow_annotations(Translation& translation, schema::Value parent, schema::Value field);
/// After all patches, which cannot get around it.
void put_carried_labels(const Translation& translation, schema::Value labels);

// Host objects that stand for no tenant object of their own kind.
struct StandsFor {
  std::string_view tenant_namespace, tenant_name;
  std::string_view tenant_uid;  // "": who makes it does not know
  std::string_view said_kind;   // kAnnotationTenantKind
};
/// Puts the labels and annotations that name the tenant object into a host object's metadata. An empty uid puts none.
void put_identity(const TranslateContext& context, std::string_view tenant_namespace, std::string_view tenant_name,
                  std::string_view tenant_uid, schema::Value metadata);
/// Puts the identity of what the object stands for into its metadata; other members stay.
void mark_as_ours(const TranslateContext& context, const StandsFor& what, schema::Value metadata);

// Selectors over objects of the tenant.
/// A map of labels (Service.spec.selector, matchLabels): its keys become the host's.
void translate_label_map(schema::Value map);
/// A list of label keys (matchLabelKeys).
void translate_label_keys(schema::Value list);
/// matchLabels and matchExpressions; a missing or empty selector stays what it is.
void translate_label_selector(schema::Value selector);
/// The same, narrowed to the virtual cluster, and to the object's own namespace of the tenant: an empty selector then
/// means all pods of that namespace. A missing one, which selects nothing, stays missing.
void narrow_to_own_namespace(const Translation& translation, schema::Value selector);
/// Narrows to the virtual cluster alone: every namespace of the tenant.
void narrow_to_virtual_cluster(const Translation& translation, schema::Value selector);

}  // namespace sublet::syncer
