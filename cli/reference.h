// Reference: a virtual cluster's name in scripts: `virtualcluster/NAME`, or `virtualcluster/NAMESPACE/NAME` if another
// namespace has one of that name too. `list -o name` prints it; connect and delete take it. Pure.
#pragma once

#include <string>

#include "sublet/cluster/driver.h"

namespace sublet::cli {

struct Reference {
  std::string name, host_namespace;  // an empty namespace means any
};

/// "rag", or a reference; `host_namespace` is the value of -n. bad_request for another kind, or when the
/// two namespaces differ.
Result<Reference> parse_reference(const std::string& word, const std::string& host_namespace);
/// Finds the virtual cluster that a user named; errors as those of parse_reference() and find_cluster().
Result<cluster::VirtualCluster> find_named(const cluster::Driver& driver, const std::string& word,
                                           const std::string& host_namespace);
/// Returns the shortest unambiguous reference.
std::string reference_of(const cluster::Records& records, const std::string& name, const std::string& host_namespace);

}  // namespace sublet::cli
