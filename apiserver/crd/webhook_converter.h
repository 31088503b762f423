// WebhookConverter: the versions of one custom kind by the webhook that its definition names (spec.conversion), in
// upstream's words (k8s.io/apiextensions-apiserver/pkg/apiserver/conversion).
//
// Objects are sent as they are stored and come back in the asked version; of their metadata only labels and annotations
// are the webhook's. Several go in one question. What was converted stays at hand for a while, so that a watch, the
// lists of ten informers and an answer ask once.
// Lifecycle: made by the keeper with its kind; the server must outlive the calls. Threads: any; asking blocks, for
// kTimeout at most, and is refused where no one may wait (MayWait).
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "apiserver/admission/webhook.h"
#include "apiserver/conversion/conversion.h"
#include "apiserver/structural/definition.h"

namespace sublet::apiserver {

struct ServerCore;
class CustomKind;

class WebhookConverter : public std::enable_shared_from_this<WebhookConverter> {
 public:
  /// Null: the definition names no webhook.
  static std::shared_ptr<const WebhookConverter> make(ServerCore& core, const Definition& definition,
                                                      const schema::Value& object);
  /// To "v1". `kind`, whose schemas say what the stored versions have by default, outlives it.
  std::unique_ptr<const WebhookConversion> to_version(const std::string& version, const CustomKind& kind) const;

  static constexpr std::chrono::seconds kTimeout{30};
  static constexpr std::size_t kReviewBytes = 1u << 20;  // of objects in one question, about
  static constexpr std::size_t kReviewObjects = 256;

 private:
  class ToVersion;
  WebhookConverter(ServerCore& core, const Definition& definition, const schema::Value& object);
  /// `objects` with kind and apiVersion, none of them in `api_version`; the same in that order.
  Result<std::vector<schema::Document>> convert(const std::vector<schema::Document>& objects,
                                                const std::string& api_version) const;
  Result<std::string> ask(const std::string& body) const;

  ServerCore& core_;
  const std::string group_, kind_, stored_;  // stored_: the version that objects are stored in
  std::string unreported_;                   // that of objects that say none
  std::string review_version_;               // empty: none that we know
  WebhookClient client_;
  mutable std::atomic<bool> stored_otherwise_{false};  // there are objects of another version than stored_
};

}  // namespace sublet::apiserver
