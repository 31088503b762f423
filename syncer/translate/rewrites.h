// Rewrites: the functions behind the field table's `rewrite` rows, and the pod-wide steps that follow the table.
//
// Each changes or erases one field of the host object, and reports denials, warnings, references and tokens to the
// Translation. Pure; any thread.
#pragma once

#include "syncer/translate/translation.h"

namespace sublet::syncer {

void rewrite_nothing(Translation& translation, schema::Value parent, schema::Value field);

// References to other objects of the tenant's namespace.
void rewrite_config_map_name(Translation& translation, schema::Value parent, schema::Value field);
void rewrite_secret_name(Translation& translation, schema::Value parent, schema::Value field);
void rewrite_pull_secret_name(Translation& translation, schema::Value parent, schema::Value field);
void rewrite_token_projection(Translation& translation, schema::Value parent, schema::Value field);

// Tenant facts inside containers.
void rewrite_environment(Translation& translation, schema::Value parent, schema::Value field);
void rewrite_volume_field_path(Translation& translation, schema::Value parent, schema::Value field);

// Selectors over pods.
void rewrite_affinity_term(Translation& translation, schema::Value parent, schema::Value field);
void rewrite_own_namespace_selector(Translation& translation, schema::Value parent, schema::Value field);
void rewrite_service_selector(Translation& translation, schema::Value parent, schema::Value field);

// Bounds.
void clamp_grace_period(Translation& translation, schema::Value parent, schema::Value field);
void clamp_tolerations(Translation& translation, schema::Value parent, schema::Value field);
void refuse_node_name(Translation& translation, schema::Value parent, schema::Value field);
void refuse_mount_propagation(Translation& translation, schema::Value parent, schema::Value field);
void refuse_foreign_host(Translation& translation, schema::Value parent, schema::Value field);
void refuse_unsafe_sysctls(Translation& translation, schema::Value parent, schema::Value field);
void refuse_unconfined(Translation& translation, schema::Value parent, schema::Value field);
void refuse_capabilities(Translation& translation, schema::Value parent, schema::Value field);
void refuse_proc_mount(Translation& translation, schema::Value parent, schema::Value field);
void refuse_selinux_type(Translation& translation, schema::Value parent, schema::Value field);
void rewrite_secret_type(Translation& translation, schema::Value parent, schema::Value field);
void keep_only_headless(Translation& translation, schema::Value parent, schema::Value field);

// Pod-wide, after the table.
/// ServiceAccount without rights, no token of the host, no service links.
void force_host_identity(const TranslateContext& context, schema::Value host_pod_spec);
/// Hostname and DNS of the tenant, never the host namespace's search path.
void force_pod_network(const Translation& translation, schema::Value host_pod_spec);
/// KUBERNETES_* and the tenant's services as variables of every container, before its own.
void add_service_environment(const Translation& translation, schema::Value host_pod_spec);

}  // namespace sublet::syncer
