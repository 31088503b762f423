// NamespaceContent: everything that lives in one namespace, and what became of deleting it. Blocking calls; one thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sublet/controllers/controller.h"
#include "sublet/kube/client.h"
#include "sublet/schema/registry.h"
#include "sublet/store/store.h"

namespace sublet::controllers {

/// What is left of one resource in a namespace.
struct Remains {
  kube::Resource resource;
  int count = 0;
  std::map<std::string, int> finalizers;  // how many objects hold which
  store::Revision revision = 0;  // when that was so: where a watch for the rest begins; 0: another server holds it
};

struct DeletionReport {
  std::vector<Remains> remains;  // empty: the namespace is empty
  std::vector<std::string> errors;
  std::vector<std::string> undiscovered;  // group versions of other servers that cannot be asked, and why
};

/// What collections are deleted with.
inline constexpr std::string_view kDeleteBody =
    R"({"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":"Background"})";

/// Deletes pods, and once none is left all other content of every kind that has any, that of other API servers
/// (foreign_content.h) included. Objects that are still going (grace, finalizers) are reported, not waited for.
DeletionReport delete_content(const Context& context, const std::string& namespace_name);

/// The resources whose objects live in namespaces and can be listed and deleted, each stored kind once. `group` and
/// `version` are those under which it is stored.
std::vector<kube::Resource> namespaced_kinds(const schema::Registry& kinds);

}  // namespace sublet::controllers
