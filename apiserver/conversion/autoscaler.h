// HorizontalPodAutoscaler: autoscaling/v1 and the stored v2 (upstream's apis/autoscaling/v1/conversion.go). What v1 has
// no field for is kept in annotations, as JSON in v1's shape. Pure; any thread.
#pragma once

#include "sublet/schema/document.h"

namespace sublet::apiserver {

void autoscaler_from_storage(schema::Value object);
void autoscaler_to_storage(schema::Value object);

}  // namespace sublet::apiserver
