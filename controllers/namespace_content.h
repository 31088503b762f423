// NamespaceContent: deletes everything in one namespace. Blocking calls; one thread.
#pragma once

#include <string>
#include <vector>

#include "controllers/deletion_report.h"
#include "sublet/controllers/controller.h"
#include "sublet/kube/client.h"
#include "sublet/schema/registry.h"

namespace sublet::controllers {

/// Deletes pods, and once none is left all other content of every kind that has any, that of other API servers
/// (foreign_content.h) included. Objects that are still going (grace, finalizers) are reported, not waited for.
DeletionReport delete_content(const Context& context, const std::string& namespace_name);

/// The resources whose objects live in namespaces and can be listed and deleted, each stored kind once. `group` and
/// `version` are those under which it is stored.
std::vector<kube::Resource> namespaced_kinds(const schema::Registry& kinds);

}  // namespace sublet::controllers
