// PluginTable: which admission plugin runs on which operation of which resource, as data, in upstream's order.
//
// A plugin is a function in a file of its own and rows here; it runs only where one of its rows matches, so it does not
// check the operation or the resource itself. Plugins that ask outside the process are not here (call_out.h), nor are
// the tenant's policies, which match by their own rules. Constant; any thread. Internal to admission/.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "apiserver/admission/plugins.h"

namespace sublet::apiserver {

/// Upstream's operations, to be combined. A POST to a subresource (pods/binding) is a create of the subresource.
enum Operation : unsigned char { kCreate = 1, kUpdate = 2, kRemove = 4, kConnect = 8 };
Operation operation_of(WriteVerb verb);

/// What of one resource a plugin admits. "*" matches every value.
struct AdmittedResource {
  std::string_view group, resource, subresource;  // subresource "": the resource itself
  unsigned char operations = 0;

  bool matches(const Attempt& attempt) const;
};

enum class AdmissionPass : unsigned char { mutating, validating };

struct PluginRow {
  std::string_view name;  // upstream's; "sublet.dev/NAME" for our own
  AdmissionPass pass;
  Outcome (*run)(const Attempt& attempt);
  std::array<AdmittedResource, 12> resources;  // as many as have operations

  bool matches(const Attempt& attempt) const;
};

std::span<const PluginRow> plugin_table();

}  // namespace sublet::apiserver
