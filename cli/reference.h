// Reference: how a virtual cluster is named in a script: `virtualcluster/NAME`, and `virtualcluster/NAMESPACE/NAME`
// where another namespace has one of that name too. `list -o name` prints it; connect and delete take it. Pure.
#pragma once

#include <string>

#include "sublet/cluster/driver.h"

namespace sublet::cli {

struct Reference {
  std::string name, host_namespace;  // the namespace may be empty: whichever has it
};

/// "rag", or a reference; `host_namespace` is what -n says. bad_request when it is of another kind, or the two
/// namespaces differ.
Result<Reference> parse_reference(const std::string& word, const std::string& host_namespace);
/// The shortest that means this one alone.
std::string reference_of(const cluster::Records& records, const std::string& name, const std::string& host_namespace);

}  // namespace sublet::cli
