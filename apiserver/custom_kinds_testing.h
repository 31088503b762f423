// Kinds made at run time, as a CRD will make them: Widget (namespaced, served as v1 and v1beta1, with /status and a
// rule and columns of its own) and Site (cluster-scoped, nothing of its own). Test code only.
#pragma once

#include <memory>
#include <string>

#include "sublet/schema/registry.h"

namespace sublet::apiserver {

/// A snapshot with both; Widgets titled `forbidden_title` are refused, and their third column is called `column`.
std::shared_ptr<const schema::Registry> custom_kinds(const std::string& forbidden_title = "forbidden",
                                                     const std::string& column = "Title");

}  // namespace sublet::apiserver
