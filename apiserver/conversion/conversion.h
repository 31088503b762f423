// Conversion: served versions whose JSON differs from the stored version, as pairs of in-place functions; a column of
// the Registry.
//
// Most versions have the stored shape and no entry here. events.k8s.io/v1 is the stored core/v1 Event under other
// field names; autoscaling/v1 has less of a HorizontalPodAutoscaler than the stored v2 (autoscaler.h). Pure; any
// thread. Of kinds that somebody else converts (OutsideConversion) the verbs work on objects in the served version, and
// they become the stored one only when they are written.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "apiserver/request/route.h"
#include "sublet/base/hook.h"
#include "sublet/base/status.h"
#include "sublet/schema/document.h"
#include "sublet/store/store.h"

namespace sublet::apiserver {

struct FieldAlias {
  std::string_view served, stored;  // field-selector labels
};

/// Whether what is done on this thread may wait for others; no loop may.
class MayWait {
 public:
  MayWait();
  ~MayWait();
  MayWait(const MayWait&) = delete;
  MayWait& operator=(const MayWait&) = delete;
  static bool here();
  /// Somebody would have had to wait on this thread, where nobody may. take_missed() tells it once.
  static void miss();
  static bool take_missed();
};

/// To one version, by a webhook (crd/webhook_converter.h). What is not at hand is asked for where MayWait::here(), else
/// refused. Any thread.
class OutsideConversion {
 public:
  virtual ~OutsideConversion() = default;
  /// Whether requests of the version may have to ask: then they are worked on where one may wait.
  virtual bool asks() const = 0;
  /// What is stored, in this version, kind and apiVersion in front.
  virtual Result<schema::Document> read(const store::Object& object) const = 0;
  /// The same in place, for an object with its kind and apiVersion.
  virtual Outcome convert(schema::Value object) const = 0;
  /// Whether read() would not ask.
  virtual bool at_hand(const store::Object& object) const = 0;
  /// Asks for several at once; they are at hand as long as what it returns is held.
  virtual Result<std::shared_ptr<const void>> prepare(std::span<const store::Object* const> objects) const = 0;
};

struct Conversion {
  std::string_view group, version, resource;
  Hook<void(schema::Value object)> from_storage;
  Hook<void(schema::Value object)> to_storage;
  std::span<const FieldAlias> field_aliases;
  const OutsideConversion* outside = nullptr;

  /// Null when the served version has the stored shape.
  static const Conversion* row_of(const schema::ResourceFacts& served);
};

/// Null when the route's version has the stored shape.
inline const Conversion* conversion_of(const Route& route) { return route.kinds->entry<Conversion>(*route.served); }
/// Null: the version is converted here, or not at all.
inline const OutsideConversion* outside_of(const Route& route) {
  const Conversion* conversion = conversion_of(route);
  return conversion ? conversion->outside : nullptr;
}

}  // namespace sublet::apiserver
