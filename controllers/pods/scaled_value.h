// scaled_value: IntOrString fields that are a number or a percentage. Pure.
#pragma once

#include "sublet/schema/document.h"

namespace sublet::controllers {

/// Returns the number, or the percentage of `total`.
int scaled_value(const schema::Value& int_or_percent, int total, bool round_up);

}  // namespace sublet::controllers
