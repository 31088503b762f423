// ObjectFilter: the label and field selectors of one request. Field labels are those of the served version.
//
// They are held against what the store's index keeps of an object, so that nothing is parsed; but for fields of a
// custom resource whose stored objects are not what its version shows (its schema has changed, or somebody converts):
// those are looked for in the object as the version has it, as upstream does, and it is read for that
// (reads_objects()). A value; any thread. Lives as long as its Route.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "apiserver/request/request_info.h"
#include "apiserver/request/route.h"
#include "apiserver/strategies/strategy.h"
#include "sublet/kube/selectors.h"
#include "sublet/store/store.h"

namespace sublet::apiserver {

class ObjectFilter {
 public:
  /// `name`: one more condition, from the path of a watch.
  static Result<ObjectFilter> parse(const Route& route, const Query& query, std::string_view name = {});
  /// Fails where the object must be read and cannot.
  Result<bool> matches(const store::Object& object) const;
  /// Decides without reading the object where possible: false means that it does not match.
  bool may_match(const store::Object& object) const;
  bool reads_objects() const { return !fields_inside_.everything(); }
  /// Where one may wait (MayWait): has those converted that matches() will read, all at once; they are at hand as long
  /// as what it returns is held.
  Result<std::shared_ptr<const void>> prepare(std::span<const store::Object* const> objects) const;
  bool everything() const { return labels_.everything() && fields_.everything() && !reads_objects(); }
  /// The one name that can match, when the field selector says so.
  std::optional<std::string_view> name() const { return fields_.required("metadata.name"); }

 private:
  Outcome parse_fields(std::string_view text);

  kube::LabelSelector labels_;
  kube::FieldSelector fields_;         // by the index
  kube::FieldSelector fields_inside_;  // by the object itself
  const Route* route_ = nullptr;
};

}  // namespace sublet::apiserver
