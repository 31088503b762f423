// MergeSchema: a schema as structured merge sees it (upstream's structuralschema kubeopenapi and
// structured-merge-diff's). Made on first use; belongs to who holds the Schemas. Threads: any.
#pragma once

#include <memory>

#include "apiserver/structural/schema.h"
#include "sublet/patches/merge_type.h"

namespace sublet::apiserver {

class MergeSchema {
 public:
  explicit MergeSchema(const Schema& root);
  ~MergeSchema();
  MergeSchema(const MergeSchema&) = delete;
  MergeSchema& operator=(const MergeSchema&) = delete;
  /// Of the whole resource, its kind, apiVersion and metadata included.
  const patches::MergeType& root() const { return *root_; }

 private:
  class Maker;
  std::unique_ptr<Maker> maker_;
  const patches::MergeType* root_;
};

}  // namespace sublet::apiserver
