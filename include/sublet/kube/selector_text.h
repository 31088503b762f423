// Selector text: a metav1.LabelSelector as queries and tables have it. Pure.
#pragma once

#include <string>

#include "sublet/schema/document.h"

namespace sublet::kube {

/// "app=web,tier in (back,front),!old", by key; "" when it has no requirement.
std::string selector_text(const schema::Value& selector);

}  // namespace sublet::kube
