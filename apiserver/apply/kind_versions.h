// KindVersions: the versions of a kind as structured merge asks for them, and what an endpoint cannot own in them.
//
// Objects that are handed in stay the caller's. Threads: any; made for one request.
#pragma once

#include <string>

#include "apiserver/apply/field_manager.h"
#include "sublet/patches/managers.h"

namespace sublet::apiserver {

class KindVersions final : public patches::Versions {
 public:
  explicit KindVersions(const ManagedEndpoint& endpoint);

  Result<patches::TypedObject> convert(const patches::TypedObject& object, const std::string& version) const override;
  void filter(patches::FieldSet& fields, const std::string& version) const override;
  /// What filter() drops.
  const patches::FieldSet& reset() const { return reset_; }
  /// An object of the endpoint's own version.
  patches::TypedObject own(const schema::Value& object) const;
  /// What a new object of the kind is before anybody has set anything.
  patches::TypedObject empty() const;

 private:
  const schema::ResourceFacts* facts_of(const std::string& version) const;

  const ManagedEndpoint& endpoint_;
  const std::string version_;  // "apps/v1"
  const patches::FieldSet& reset_;
};

}  // namespace sublet::apiserver
