// ReportedFields: the fields that causes name already, so that another pass over the same object does not report them
// again. Adding and finding a cause take constant time: a tenant's object may have a hundred thousand. Pure.
// Threads: one.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "sublet/base/status.h"

namespace sublet::apiserver {

class ReportedFields {
 public:
  void add(const Cause& cause);
  /// Skips everything below `place`, although no cause names it.
  void leave_out(std::string place) { unread_.insert(std::move(place)); }
  /// Returns true if a cause names the field (perhaps without its indexes, as upstream often does), forbids its parent,
  /// or reports the empty name of its object, or if the field lies in a skipped place.
  bool covers(std::string_view field) const;

 private:
  bool lies_in_unread(std::string_view field) const;

  std::unordered_set<std::string> fields_, unread_, without_name_, without_restart_policy_;
  std::unordered_map<std::string, std::size_t> lists_;  // a path without indexes: the fewest that a cause named
};

}  // namespace sublet::apiserver
