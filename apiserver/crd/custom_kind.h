// CustomKind: one CustomResourceDefinition: its definition, its schemas, and its kind's entries for each layer.
// kinds_of_group(): the KindSet of all kinds of one API group.
//
// A tenant installs a hundred definitions and uses ten. So a version's schema, rules and merge types are compiled when
// they are first asked for; requests have that done off their loop (Strategy::make_ready). What is compiled stays.
// Shared by the snapshots of kinds that have it. Any thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/crd/webhook_converter.h"
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
  /// `source`: the stored definition, which the schemas are compiled from and OpenAPI has its descriptions from.
  /// `converter`: converts between its versions; null: they differ in name only.
  CustomKind(store::ObjectPtr source, Definition definition, const schema::Value& object,
             std::shared_ptr<const WebhookConverter> converter = nullptr);
  ~CustomKind();

  const Definition& definition() const { return definition_; }
  store::ObjectPtr source() const;
  /// The same definition as it is stored now: the earlier one need not be kept for our sake.
  void set_source(store::ObjectPtr source) const;
  /// By the name in apiVersion ("v1"); the stored version's for one that there is not.
  const DefinitionVersion& version(std::string_view name) const;
  const Schema& schema(std::string_view version) const;
  /// Null: it has none.
  const Rules* rules(std::string_view version) const;
  const patches::MergeType& merge_type(std::string_view version) const;
  /// Whether what requests of a version need is compiled, and compiling it.
  bool ready(std::string_view version) const;
  void make_ready(std::string_view version) const;
  const WebhookConverter* converter() const { return converter_.get(); }
  /// Whether what is stored may not be as a version's schema wants it, so that it is looked at when it is read.
  bool converts_on_read() const { return converts_on_read_; }

 private:
  struct Compiled;
  const Compiled* find_compiled(std::string_view version) const;
  const Compiled& compiled(std::string_view version) const;

  const Definition definition_;
  const std::shared_ptr<const WebhookConverter> converter_;
  bool converts_on_read_ = false;
  mutable Mutex making_;  // one compiles at a time, and who only asks does not wait for it
  mutable Mutex mutex_;
  mutable store::ObjectPtr source_ SUBLET_GUARDED_BY(mutex_);
  mutable std::map<std::string, std::unique_ptr<const Compiled>, std::less<>> compiled_ SUBLET_GUARDED_BY(mutex_);
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
