// DeletionReport: what is left of a namespace after a round of deletions. Values.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sublet/kube/client.h"
#include "sublet/store/object.h"

namespace sublet::controllers {

/// What is left of one resource in a namespace.
struct Remains {
  kube::Resource resource;
  int count = 0;
  std::map<std::string, int> finalizers;  // how many objects hold which
  store::Revision revision = 0;  // of the count: a watch for the rest begins there; 0: another server has the objects
};

struct DeletionReport {
  std::vector<Remains> remains;  // empty: the namespace is empty
  std::vector<std::string> errors;
  std::vector<std::string> undiscovered;  // group versions of other servers that do not answer, and why
};

/// The DeleteOptions of collections.
inline constexpr std::string_view kDeleteBody =
    R"({"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":"Background"})";

}  // namespace sublet::controllers
