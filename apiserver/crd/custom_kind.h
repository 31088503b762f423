// CustomKind: one CustomResourceDefinition, compiled: its schemas, and what each room is to say of its kind.
// kinds_of_group(): the KindSet of all kinds of one API group.
//
// Made off the loops; immutable afterwards, and shared by the snapshots of kinds that have it. Any thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/structural/definition.h"
#include "apiserver/structural/merge_schema.h"
#include "apiserver/structural/rules.h"
#include "apiserver/structural/schema.h"
#include "sublet/base/mutex.h"
#include "sublet/schema/registry.h"
#include "sublet/store/store.h"

namespace sublet::apiserver {

class CustomKind {
 public:
  /// `source`: the stored definition; it is kept, for OpenAPI's descriptions.
  CustomKind(store::ObjectPtr source, Definition definition, const schema::Value& object);

  const Definition& definition() const { return definition_; }
  const store::ObjectPtr& source() const { return source_; }
  /// By the name in apiVersion ("v1"); the stored version's for one that there is not.
  const DefinitionVersion& version(std::string_view name) const;
  const Schema& schema(std::string_view version) const;
  /// Null: it has none.
  const Rules* rules(std::string_view version) const;
  const patches::MergeType& merge_type(std::string_view version) const;
  /// Whether what is stored may not be as a version's schema wants it, so that it is looked at when it is read.
  bool reads_anew() const { return reads_anew_; }
  std::size_t bytes() const { return schemas_.bytes(); }

 private:
  store::ObjectPtr source_;
  Definition definition_;
  Schemas schemas_;
  std::map<std::string, const Schema*, std::less<>> roots_;
  std::map<std::string, std::shared_ptr<const Rules>, std::less<>> rules_;
  bool reads_anew_ = false;
  mutable Mutex mutex_;
  mutable std::map<const Schema*, std::unique_ptr<const MergeSchema>> merges_ SUBLET_GUARDED_BY(mutex_);
};

using CustomKindPtr = std::shared_ptr<const CustomKind>;

/// A kind that is served: with the names that were accepted, perhaps on its way out.
struct ServedKind {
  CustomKindPtr kind;
  KindNames names;
  bool terminating = false;  // nothing new may be made
  bool operator==(const ServedKind&) const = default;
};

/// All of them must be of one group.
Result<schema::KindSet> kinds_of_group(const std::vector<ServedKind>& kinds);

}  // namespace sublet::apiserver
