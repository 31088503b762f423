// SaidFields: of which fields causes have spoken already, so that another pass over the same object says no more of
// them. A cause costs the same to add and to ask for however many there are: a tenant's object may have a hundred
// thousand. Pure. Threads: one.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "sublet/base/status.h"

namespace sublet::apiserver {

class SaidFields {
 public:
  void add(const Cause& cause);
  /// What lies in this place is not looked into, though no cause says so.
  void leave_out(std::string place) { unread_.insert(std::move(place)); }
  /// Whether a cause names the field, perhaps without (some of) its indexes as upstream often does; forbids what it
  /// lies in; calls its object's empty name wrong; or leaves it unread.
  bool covers(std::string_view field) const;

 private:
  bool lies_in_unread(std::string_view field) const;

  std::unordered_set<std::string> fields_, unread_, without_name_, without_restart_policy_;
  std::unordered_map<std::string, std::size_t> lists_;  // a path without indexes: the fewest that a cause named
};

}  // namespace sublet::apiserver
