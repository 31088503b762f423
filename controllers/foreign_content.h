// ForeignContent: what API servers of the tenant's own (APIServices) hold in one namespace, and what became of deleting
// it. Their objects are in no store of ours: they are asked, through this server and with the controller's rights.
// Blocking calls; one thread.
#pragma once

#include <string>

#include "controllers/namespace_content.h"
#include "sublet/controllers/controller.h"

namespace sublet::controllers {

/// Adds to the report; what remains there has no revision, as nothing here hears of its end.
void delete_foreign_content(const Context& context, const std::string& namespace_name, DeletionReport& report);

}  // namespace sublet::controllers
