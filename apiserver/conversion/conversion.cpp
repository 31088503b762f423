#include "apiserver/conversion/conversion.h"

#include <utility>

#include "apiserver/conversion/autoscaler.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

struct Renaming {
  std::string_view served, stored;
};
// Top-level fields of events.k8s.io/v1 and of the core/v1 Event that holds them.
constexpr Renaming kEventFields[] = {
    {"regarding", "involvedObject"},
    {"note", "message"},
    {"reportingController", "reportingComponent"},
    {"deprecatedSource", "source"},
    {"deprecatedFirstTimestamp", "firstTimestamp"},
    {"deprecatedLastTimestamp", "lastTimestamp"},
    {"deprecatedCount", "count"},
};
constexpr FieldAlias kEventSelectors[] = {
    {"regarding.kind", "involvedObject.kind"},
    {"regarding.namespace", "involvedObject.namespace"},
    {"regarding.name", "involvedObject.name"},
    {"regarding.uid", "involvedObject.uid"},
    {"regarding.apiVersion", "involvedObject.apiVersion"},
    {"regarding.resourceVersion", "involvedObject.resourceVersion"},
    {"regarding.fieldPath", "involvedObject.fieldPath"},
    {"reportingController", "reportingComponent"},
};

// series: {count, lastObservedTime} in both versions, so only the names around it differ.
void event_from_storage(Value object) {
  for (const auto& renaming : kEventFields) object.rename(renaming.stored, renaming.served);
}

void event_to_storage(Value object) {
  for (const auto& renaming : kEventFields) object.rename(renaming.served, renaming.stored);
}

constexpr Conversion kConversions[] = {
    {"events.k8s.io", "v1", "events", event_from_storage, event_to_storage, kEventSelectors, nullptr},
    {"autoscaling", "v1", "horizontalpodautoscalers", autoscaler_from_storage, autoscaler_to_storage, {}, nullptr},
};

thread_local int waiters_here = 0;
thread_local bool missed_here = false;

}  // namespace

MayWait::MayWait() { ++waiters_here; }
MayWait::~MayWait() { --waiters_here; }
bool MayWait::here() { return waiters_here > 0; }
void MayWait::miss() { missed_here = true; }
bool MayWait::take_missed() { return std::exchange(missed_here, false); }

const Conversion* Conversion::row_of(const schema::ResourceFacts& served) {
  for (const auto& conversion : kConversions)
    if (conversion.resource == served.resource && conversion.group == served.group &&
        conversion.version == served.version)
      return &conversion;
  return nullptr;
}

}  // namespace sublet::apiserver
