// Conversion: served versions whose JSON differs from the stored version, as pairs of in-place functions; a column of
// the Registry.
//
// Most versions have the stored shape and no entry here. events.k8s.io/v1 is the stored core/v1 Event under other
// field names; autoscaling/v1 has less of a HorizontalPodAutoscaler than the stored v2 (autoscaler.h). Pure; any
// thread. For kinds that a webhook converts (WebhookConversion) the verbs work on objects in the served version, and
// convert them to the stored version when they are written.
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

/// While one exists, code on this thread may block on others; never on a loop.
class MayWait {
 public:
  MayWait();
  ~MayWait();
  MayWait(const MayWait&) = delete;
  MayWait& operator=(const MayWait&) = delete;
  static bool here();
  /// Records that code on this thread would have had to block, where it may not. take_missed() returns it once.
  static void miss();
  static bool take_missed();
};

/// Converts to one version by a webhook (crd/webhook_converter.h). Objects that are not at hand are converted where
/// MayWait::here(), else refused. Any thread.
class WebhookConversion {
 public:
  virtual ~WebhookConversion() = default;
  /// Returns true if requests of the version may call the webhook: they run where they may block.
  virtual bool asks() const = 0;
  /// Returns the stored object in this version, with kind and apiVersion first.
  virtual Result<schema::Document> read(const store::Object& object) const = 0;
  /// The same in place, for an object with its kind and apiVersion.
  virtual Outcome convert(schema::Value object) const = 0;
  /// Returns true if read() would not call the webhook.
  virtual bool at_hand(const store::Object& object) const = 0;
  /// Converts several at once; they are at hand while the returned handle is held.
  virtual Result<std::shared_ptr<const void>> prepare(std::span<const store::Object* const> objects) const = 0;
};

struct Conversion {
  std::string_view group, version, resource;
  Hook<void(schema::Value object)> from_storage;
  Hook<void(schema::Value object)> to_storage;
  std::span<const FieldAlias> field_aliases;
  const WebhookConversion* outside = nullptr;

  /// Null when the served version has the stored shape.
  static const Conversion* row_of(const schema::ResourceFacts& served);
};

/// Null when the route's version has the stored shape.
inline const Conversion* conversion_of(const Route& route) { return route.kinds->entry<Conversion>(*route.served); }
/// Null: no webhook converts the version.
inline const WebhookConversion* webhook_conversion_of(const Route& route) {
  const Conversion* conversion = conversion_of(route);
  return conversion ? conversion->outside : nullptr;
}

}  // namespace sublet::apiserver
