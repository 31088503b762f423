// Refusals: reports that the API server refused a controller's own write (403 or 422): a log line, and a Warning event
// about the object that was reconciled, so that its owner sees why nothing happens.
//
// One report per key and error text: a retry with the same error adds nothing. No event follows when the controller has
// recorded one of its own (FailedCreate). Threads: any.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "controllers/runtime/event_recorder.h"
#include "controllers/runtime/object_ref.h"
#include "sublet/base/mutex.h"
#include "sublet/base/status.h"
#include "sublet/store/store.h"

namespace sublet::controllers {

/// Returns true for an error that says the server refused the content or the sender of a write. A namespace that is
/// terminating refuses new content in any case and does not count.
bool is_refusal(const Status& status);

class Refusals {
 public:
  /// `reconciled`: the kind whose objects the controller's keys name; an empty kind: its keys name something else.
  Refusals(std::string controller, KindFacts reconciled, const store::Store& store, const EventRecorder& events)
      : controller_(std::move(controller)), reconciled_(std::move(reconciled)), store_(store), events_(events) {}

  /// `warned`: the reconcile recorded a Warning event itself.
  void report(const std::string& key, const Outcome& outcome, bool warned);

 private:
  bool is_new(const std::string& key, const Outcome& outcome);

  const std::string controller_;
  const KindFacts reconciled_;
  const store::Store& store_;
  const EventRecorder& events_;
  Mutex mutex_;
  std::unordered_map<std::string, std::string> reported_ SUBLET_GUARDED_BY(mutex_);  // the last error text, by key
};

}  // namespace sublet::controllers
