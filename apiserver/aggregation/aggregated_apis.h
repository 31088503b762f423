// AggregatedApis: the group versions that API servers of the tenant's own serve, as its APIServices say, as of the last
// commit; and the documents that those servers returned last.
//
// It follows the store on the commit thread. What this server serves itself is never handed over. While there is no
// APIService with a service, nor a local one of metrics.k8s.io that is answered here, asking costs one load.
// Lifecycle: construct over an open store; stop() before the store goes. Threads: any.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/aggregation/api_service.h"
#include "sublet/base/mutex.h"
#include "sublet/store/store.h"

namespace sublet::apiserver {

/// The documents of a server about one of its group versions.
struct ServedApi {
  std::string resources;    // its APIResourceList, JSON; empty: it was never asked with success
  std::string openapi_url;  // of its OpenAPI v3 document, with the hash; empty: it has none
  bool operator==(const ServedApi&) const = default;
};

struct AggregatedApi {
  ApiServicePtr service;
  ServedApi served;
};

/// By group, the first to be preferred first; and its versions so.
struct AggregatedSet {
  std::vector<AggregatedApi> apis;
  std::string key;  // another one when anything differs, for documents that are kept
};

class AggregatedApis {
 public:
  /// `measures`: the server has somebody who answers metrics.k8s.io.
  AggregatedApis(store::Store& store, bool measures);
  ~AggregatedApis();
  AggregatedApis(const AggregatedApis&) = delete;
  AggregatedApis& operator=(const AggregatedApis&) = delete;

  bool any() const { return any_.load(std::memory_order_relaxed); }
  /// Null: none.
  ApiServicePtr find(std::string_view group, std::string_view version) const;
  /// Never null.
  std::shared_ptr<const AggregatedSet> current() const;
  /// Records a server's documents; drops those of an APIService that is gone.
  void learn(const std::string& name, ServedApi served);
  void stop();

 private:
  struct Entry {
    store::Revision revision = 0;
    ApiServicePtr service = nullptr;  // null: it is gone, or names none
  };
  void take(const std::vector<store::EventPtr>& events);
  void note(const store::Object& object, bool deleted) SUBLET_REQUIRES(mutex_);
  std::shared_ptr<const AggregatedSet> make() const SUBLET_REQUIRES(mutex_);

  const bool measures_;
  std::atomic<bool> any_{false};
  mutable Mutex mutex_;
  std::map<std::string, Entry, std::less<>> entries_ SUBLET_GUARDED_BY(mutex_);  // by name
  std::map<std::string, ServedApi> served_ SUBLET_GUARDED_BY(mutex_);            // by name
  mutable std::shared_ptr<const AggregatedSet> set_ SUBLET_GUARDED_BY(mutex_);   // null: must be rebuilt
  bool loaded_ SUBLET_GUARDED_BY(mutex_) = false;
  std::unique_ptr<store::Subscription> following_;
};

}  // namespace sublet::apiserver
