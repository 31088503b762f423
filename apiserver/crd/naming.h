// Naming: which names of its group a definition gets, and the conditions that say so (upstream's controller/status).
// Pure; any thread.
#pragma once

#include <set>
#include <string>

#include "apiserver/structural/definition.h"

namespace sublet::apiserver {

/// status.conditions[].
struct Condition {
  std::string type, status, reason, message;
};

/// Names that others of the group have, and what is built in.
struct TakenNames {
  std::set<std::string, std::less<>> resources, kinds;
  void add(const KindNames& names);
};

struct Naming {
  KindNames accepted;
  Condition condition;  // NamesAccepted
  bool all_accepted() const { return condition.status == "True"; }
};

/// `had`: what was accepted before.
Naming accept_names(const KindNames& wanted, const KindNames& had, const TakenNames& taken);

}  // namespace sublet::apiserver
