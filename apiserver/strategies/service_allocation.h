// ServiceAllocation: cluster IPs and node ports of Services, by claims (claims.h), with upstream's rules for keeping,
// dropping and allocating them when a Service is created, changed or removed. Internal to strategies/.
#pragma once

#include "apiserver/strategies/strategy.h"

namespace sublet::apiserver {

Outcome allocate_service(WriteContext& context, schema::Value service);
/// Fills what the writer left out from `old`, and drops what the new type cannot have.
void keep_allocation(schema::Value service, const schema::Value& old);
/// Claims and releases the difference.
Outcome reallocate_service(WriteContext& context, schema::Value service, const schema::Value& old);
void release_service(WriteContext& context, const schema::Value& service);

/// Whether what this user writes to /status of this resource has the host's addresses in its spec, which the strategy
/// then takes over (take_host_addresses()), and nothing else of it.
bool brings_host_addresses(const ServerOptions& options, const User& user, const schema::ResourceFacts& resource);
/// Where a host gives the addresses (ServerOptions::service_addresses_of_host): takes over what `said` has of them, as
/// far as the Service's type has such addresses.
void take_host_addresses(schema::Value service, const schema::Value& said);
/// Whether some of them are still to come; a load balancer's, for which a cloud takes minutes, do not count.
bool lacks_host_addresses(const schema::Value& service);

/// "None" as cluster IP.
bool is_headless(const schema::Value& spec);
bool needs_cluster_ip(const schema::Value& spec);
bool needs_node_ports(const schema::Value& spec);
bool needs_health_check_port(const schema::Value& spec);
/// Reached from outside the cluster: externalTrafficPolicy has a meaning.
bool is_external(const schema::Value& spec);

}  // namespace sublet::apiserver
