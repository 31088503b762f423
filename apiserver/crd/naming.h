// Naming: which names of its group a definition gets, and the conditions that say so (upstream's controller/status).
// Pure; any thread.
#pragma once

#include <map>
#include <string>

#include "apiserver/structural/definition.h"

namespace sublet::apiserver {

/// status.conditions[].
struct Condition {
  std::string type, status, reason, message;
  bool operator==(const Condition&) const = default;
};

/// Names that definitions of the group have, and what is built in; how many have each.
struct TakenNames {
  using Counts = std::map<std::string, int, std::less<>>;
  Counts resources, kinds;
  void add(const KindNames& names) { count(names, 1); }
  void remove(const KindNames& names) { count(names, -1); }

 private:
  void count(const KindNames& names, int more);
};

struct Naming {
  KindNames accepted;
  Condition condition;  // NamesAccepted
  bool all_accepted() const { return condition.status == "True"; }
  bool operator==(const Naming&) const = default;
};

/// `had`: what was accepted before.
Naming accept_names(const KindNames& wanted, const KindNames& had, const TakenNames& taken);

}  // namespace sublet::apiserver
