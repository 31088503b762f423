// Managed: metadata.managedFields as sets of fields by manager, and back.
//
// A manager has an identifier: name, operation, subresource, and for updates the apiVersion;
// spelled as upstream does, since conflicts are listed in that order. Pure; any thread.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "sublet/base/clock.h"
#include "sublet/patches/managers.h"
#include "sublet/schema/document.h"

namespace sublet::apiserver {

struct Manager {
  std::string name, operation, api_version, subresource;
  std::string identifier() const;
  /// Of an identifier.
  static Manager of(const std::string& identifier);
  /// `"kubectl" with subresource "scale" using apps/v1`, as conflicts name it.
  std::string shown() const;
};
inline constexpr std::string_view kApply = "Apply", kUpdate = "Update";

struct Managed {
  patches::ManagedSets sets;                 // by identifier
  std::map<std::string, std::string> times;  // RFC 3339; missing: not recorded
  std::map<std::string, Manager> known;      // of some identifiers, to save reading them again

  bool empty() const { return sets.empty(); }
  /// Folds the oldest updates into "ancient-changes" until there are no more than ten.
  void cap_updates();
};

/// bad_request: not what the API allows there.
Result<Managed> read_managed(const schema::Value& managed_fields);
/// In upstream's order; a missing or null list when there are no managers.
schema::Document write_managed(const Managed& managed);
/// Brings a list of which an entry has another time now into that order.
void sort_managed(schema::Value managed_fields);

}  // namespace sublet::apiserver
