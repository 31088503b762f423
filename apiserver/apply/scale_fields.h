// ScaleFields: converts the managers of a workload's replica count to managedFields of its Scale, and back; upstream's
// ScaleHandler. Pure; any thread.
#pragma once

#include <string>
#include <vector>

#include "apiserver/apply/managed.h"

namespace sublet::apiserver {

class ScaleFields {
 public:
  /// `version` is the workload's, as the request names it ("apps/v1"); `replicas_path` where it has them (spec,
  /// replicas).
  ScaleFields(const schema::Value& workload_fields, std::string version, const std::vector<std::string>& replicas_path);
  /// metadata.managedFields of the Scale; null: none.
  schema::Document of_scale() const;
  /// metadata.managedFields of the workload, when those of its Scale have become these.
  schema::Document of_workload(const schema::Value& scale_fields) const;

 private:
  Managed workload_;
  const std::string version_;
  const patches::Path path_;
};

}  // namespace sublet::apiserver
