// HostDescriptions: the host's descriptions of Kubernetes' own fields, from its OpenAPI v3, fetched on request.
//
// Keeps the hashes of the host's documents (some KiB) for a minute, and no documents: their texts are written into
// ours, which the DocumentCache holds. A host that does not answer is not asked again for ten seconds. Meanwhile its
// last hashes are used: a client keeps its document with texts, and a new client gets one without texts.
//
// Lifecycle: stop() drops waiting calls. Threads: any; `then` runs on the caller's thread or on that of the answer.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "apiserver/discovery/host_texts.h"
#include "sublet/apiserver/options.h"
#include "sublet/base/clock.h"

namespace sublet::apiserver {

class HostDescriptions {
 public:
  HostDescriptions(HostOpenApi ask, Clock& clock);
  ~HostDescriptions();
  /// Calls `then` at once when they are known or no host is connected; never with null.
  void with_hashes(std::function<void(std::shared_ptr<const HostHashes>)> then);
  /// Its document of a group version; null: there is none now.
  void with_document(const std::string& path, std::function<void(std::shared_ptr<const std::string>)> then);
  void stop();

 private:
  struct Impl;
  const std::shared_ptr<Impl> impl_;
};

}  // namespace sublet::apiserver
