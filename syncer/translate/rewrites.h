// Rewrites: the functions behind the field table's `rewrite` and `clamp` rows, and the steps of pods beside the rows.
//
// Each changes or erases one field (or object) of what crosses, and reports denials, warnings, references and tokens to
// the Translation. Pure; any thread.
#pragma once

#include "syncer/translate/translation.h"

namespace sublet::syncer {

/// Nothing here: a step of the kind (HostKind) writes the field, with what the tenant said before its eyes.
void written_after_rows(Translation& translation, schema::Value parent, schema::Value field);

// Metadata.
/// Empty ones where there are none: templates write into them.
void give_labels_and_annotations(Translation& translation, schema::Value metadata);
void rewrite_object_name(Translation& translation, schema::Value parent, schema::Value field);
void rewrite_object_namespace(Translation& translation, schema::Value parent, schema::Value field);

// References to other objects of the tenant's namespace.
void rewrite_config_map_name(Translation& translation, schema::Value parent, schema::Value field);
void rewrite_secret_name(Translation& translation, schema::Value parent, schema::Value field);
void rewrite_pull_secret_name(Translation& translation, schema::Value parent, schema::Value field);
void rewrite_token_projection(Translation& translation, schema::Value parent, schema::Value field);

// Tenant facts inside containers.
/// Variables with which a pod would pick devices for itself, or load code (variables.h).
void leave_out_steering_variables(Translation& translation, schema::Value parent, schema::Value field);
void refuse_steering_prefix(Translation& translation, schema::Value parent, schema::Value field);
void leave_out_steering_keys(Translation& translation, schema::Value parent, schema::Value field);
/// A variable that asks for a tenant's fact gets it as its value.
void answer_variable(Translation& translation, schema::Value variable);
/// Refuses paths that the host may not answer for the tenant.
void refuse_field_path(Translation& translation, schema::Value parent, schema::Value field);
void rewrite_volume_field_path(Translation& translation, schema::Value parent, schema::Value field);

void rewrite_claim_name(Translation& translation, schema::Value parent, schema::Value field);
/// The claim that the tenant's controller makes for it, named after pod and volume.
void rewrite_ephemeral_volume(Translation& translation, schema::Value parent, schema::Value field);
/// Where the template carries them.
void rewrite_device_claim_name(Translation& translation, schema::Value parent, schema::Value field);
void rewrite_device_template_name(Translation& translation, schema::Value parent, schema::Value field);
/// Of a pod; refused where the template carries no PodGroups, or the host has none: it would run alone there.
void rewrite_gate_name(Translation&, schema::Value parent, schema::Value field);
void rewrite_group_name(Translation& translation, schema::Value parent, schema::Value field);
/// Left out where Workloads do not cross: only who made the group reads it, and the host takes no group of none.
void keep_carried_workload(Translation& translation, schema::Value parent, schema::Value field);
/// Of objects that all cross: nothing needs to be told of the reference.
void rewrite_crossing_name(Translation& translation, schema::Value parent, schema::Value field);
/// A tenant's class or the host's, by the configuration; else left out with a warning.
void rewrite_priority_class(Translation& translation, schema::Value parent, schema::Value field);
void rewrite_storage_class(Translation& translation, schema::Value parent, schema::Value field);
void refuse_provisioner(Translation& translation, schema::Value parent, schema::Value field);
void refuse_class_parameters(Translation& translation, schema::Value parent, schema::Value field);

// Claims and volumes.
/// A new claim may only be made of another claim of its namespace.
void refuse_other_sources(Translation& translation, schema::Value source);
void refuse_volume_name(Translation& translation, schema::Value parent, schema::Value field);
void refuse_volume_selector(Translation& translation, schema::Value parent, schema::Value field);
/// A step: where a tenant's volumes cross, a claim names its own there. After the hash: what the host gave a claim is
/// told back to the same field, which is no change.
void name_volume_of_claim(const Translation& translation, schema::Value host_claim);
/// Handles, attributes and paths that the template does not allow, or that lead up again ("..").
void refuse_volume_handle(Translation& translation, schema::Value parent, schema::Value field);
void refuse_volume_attributes(Translation& translation, schema::Value parent, schema::Value field);
void refuse_nfs_path(Translation& translation, schema::Value parent, schema::Value field);
void refuse_file_system(Translation& translation, schema::Value parent, schema::Value field);
/// The host would empty the volume by a pod of its own.
void refuse_recycling(Translation& translation, schema::Value parent, schema::Value field);
void rewrite_volumes_claim(Translation& translation, schema::Value parent, schema::Value field);

// Selectors over pods.
void rewrite_affinity_term(Translation& translation, schema::Value term);
void rewrite_own_namespace_selector(Translation& translation, schema::Value parent, schema::Value field);
void rewrite_service_selector(Translation& translation, schema::Value parent, schema::Value field);
/// A peer of a NetworkPolicy: of the tenant's own pods only, in the namespaces that it means.
void rewrite_policy_peer(Translation& translation, schema::Value peer);
void rewrite_label_keys(Translation& translation, schema::Value parent, schema::Value field);

// What is the platform's, but for what its template allows (patches/allowed.h).
void refuse_scheduler(Translation& translation, schema::Value parent, schema::Value field);
void refuse_node_label(Translation& translation, schema::Value parent, schema::Value field);
void refuse_resources(Translation& translation, schema::Value parent, schema::Value field);
void keep_allowed_priority_class(Translation& translation, schema::Value parent, schema::Value field);
void refuse_service_type(Translation& translation, schema::Value parent, schema::Value field);
void refuse_external_ips(Translation& translation, schema::Value parent, schema::Value field);
void refuse_load_balancer_ip(Translation& translation, schema::Value parent, schema::Value field);
void refuse_load_balancer_class(Translation& translation, schema::Value parent, schema::Value field);
void refuse_external_name(Translation& translation, schema::Value parent, schema::Value field);

// Bounds.
void clamp_priority(Translation& translation, schema::Value parent, schema::Value field);
void clamp_grace_period(Translation& translation, schema::Value parent, schema::Value field);
void clamp_tolerations(Translation& translation, schema::Value parent, schema::Value field);
/// sync.fromHost.nodes.selector.labels: pods go where the tenant's nodes are. Refuses another value of such a key; and,
/// after all patches, puts them all.
void keep_to_shown_nodes(Translation& translation, schema::Value parent, schema::Value field);
void put_shown_nodes(const Translation& translation, schema::Value host_object);
void refuse_node_name(Translation& translation, schema::Value parent, schema::Value field);
void refuse_mount_propagation(Translation& translation, schema::Value parent, schema::Value field);
void refuse_foreign_host(Translation& translation, schema::Value parent, schema::Value field);
void refuse_unsafe_sysctls(Translation& translation, schema::Value parent, schema::Value field);
void refuse_unconfined(Translation& translation, schema::Value parent, schema::Value field);
void refuse_capabilities(Translation& translation, schema::Value parent, schema::Value field);
void refuse_proc_mount(Translation& translation, schema::Value parent, schema::Value field);
void refuse_selinux_type(Translation& translation, schema::Value parent, schema::Value field);
void clamp_secret_type(Translation& translation, schema::Value parent, schema::Value field);
void keep_only_headless(Translation& translation, schema::Value parent, schema::Value field);

// Nodes by the tenant's names (NodeNames): where those are the host's, all of these leave everything as it is.
/// A label, or the field metadata.name, by which a pod chooses nodes: map, requirement, topology.
void find_chosen_nodes(Translation& translation, schema::Value parent, schema::Value labels);
void find_required_nodes(Translation& translation, schema::Value requirement, schema::Value values);
void find_named_value(Translation& translation, schema::Value parent, schema::Value field);
/// The name of the one node that a pod can only go to, or is on; "": there may be several.
std::string only_node(const schema::Value& tenant_pod);
/// What keeps a pod from every node: names that it asks for, none of which is a known node's. Empty: nothing does.
std::vector<std::string> missing_nodes(const TranslateContext& context, const schema::Value& tenant_pod);
/// What comes back: a node's name; an object's that bears it; a value, or values, that may; a text.
void name_node(Translation& translation, schema::Value parent, schema::Value field);
void name_object_of_node(Translation& translation, schema::Value parent, schema::Value field);
void hide_nodes_in_value(Translation& translation, schema::Value parent, schema::Value field);
void hide_nodes_in_labels(Translation& translation, schema::Value parent, schema::Value field);
void hide_nodes_in_text(Translation& translation, schema::Value parent, schema::Value field);
/// Of who reports: a kubelet is its node; others tell where they run.
void hide_reporter(Translation& translation, schema::Value parent, schema::Value field);
void hide_node_addresses(Translation& translation, schema::Value parent, schema::Value field);
/// A driver's name of the node.
void hide_node_id(Translation& translation, schema::Value parent, schema::Value field);
/// Addresses, and ranges of them, that tell nodes apart.
void leave_out_where_hidden(Translation& translation, schema::Value parent, schema::Value field);
/// Before the rows of a node: its hostname label, and its address of that kind, are as its name.
void name_in_node(Translation& translation, schema::Value node);

// Steps of other kinds (HostKind).
/// The host's disruption controller cannot count what it sees no controllers of: it gets the tenant's number.
void count_budget(const Translation& translation, schema::Value host_budget);
/// Whether the host makes slices of Endpoints is the tenant's to say.
void keep_mirroring_as_it_is(const Translation& translation, schema::Value host_endpoints);
void name_service_of_slice(const Translation& translation, schema::Value host_slice);

// What comes back.
/// Of a node's labels those that say what a pod may choose by.
void keep_shown_node_labels(Translation& translation, schema::Value parent, schema::Value field);
/// Of what must be there and is nobody's business.
void leave_blank(Translation& translation, schema::Value parent, schema::Value field);
/// Of a class only whether it is the default one.
void keep_default_class(Translation& translation, schema::Value parent, schema::Value field);
/// Of a quota on the host namespace what the tenant's own objects use there alone: of ConfigMaps and Secrets the host
/// has those in use, and the syncer's. The tenant's Service `kubernetes` is not on the host.
void keep_equal_counts(Translation& translation, schema::Value parent, schema::Value field);
/// Statuses of containers that the host has put into the pod are not the tenant's.
void keep_own_containers(Translation& translation, schema::Value parent, schema::Value field);

// Steps of pods (HostKind).
/// ServiceAccount without rights, no token of the host, no service links; hostname and DNS of the tenant.
void finish_pod(const Translation& translation, schema::Value host_pod);
/// The API server's variables (pod_environment.h) and those of the tenant's services for every container, before its
/// own.
void add_service_environment(const Translation& translation, schema::Value host_pod);

}  // namespace sublet::syncer
