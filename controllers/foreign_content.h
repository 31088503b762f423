// ForeignContent: deletes what the tenant's own API servers (APIServices) have in one namespace. This server's store
// does not have their objects, so it sends them requests with the controller's rights. Blocking calls; one thread.
#pragma once

#include <string>

#include "controllers/deletion_report.h"
#include "sublet/controllers/controller.h"

namespace sublet::controllers {

/// Adds to the report. What remains has no revision, since no watch of this store sees it go.
void delete_foreign_content(const Context& context, const std::string& namespace_name, DeletionReport& report);

}  // namespace sublet::controllers
