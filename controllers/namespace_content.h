// NamespaceContent: everything that lives in one namespace, and what became of deleting it. Blocking calls; one thread.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "sublet/kube/client.h"

namespace sublet::controllers {

/// What is left of one resource in a namespace.
struct Remains {
  kube::Resource resource;
  int count = 0;
  std::map<std::string, int> finalizers;  // how many objects hold which
  std::string resource_version;           // of the list: where a watch for the rest begins
};

struct DeletionReport {
  std::vector<Remains> remains;  // empty: the namespace is empty
  std::vector<std::string> errors;
};

/// Deletes pods, and once none is left all other content of every namespaced resource that can be listed and deleted.
/// Objects that are still going (grace, finalizers) are reported, not waited for.
DeletionReport delete_content(const kube::Client& client, const std::string& namespace_name);

/// Namespaced resources with list and delete, each once, pods first.
const std::vector<kube::Resource>& deletable_resources();

}  // namespace sublet::controllers
