// ObjectFilter: the label and field selectors of one request, over what the store's index keeps of an object, so that
// nothing is parsed. Field labels are those of the served version. A value; any thread.
#pragma once

#include <optional>
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
  bool matches(const store::Object& object) const;
  bool everything() const { return labels_.everything() && fields_.everything(); }
  /// The one name that can match, when the field selector says so.
  std::optional<std::string_view> name() const { return fields_.required("metadata.name"); }

 private:
  kube::LabelSelector labels_;
  kube::FieldSelector fields_;
  const Strategy* strategy_ = nullptr;
};

}  // namespace sublet::apiserver
