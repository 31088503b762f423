// HostDescriptions: what the host says of Kubernetes' own fields in its OpenAPI v3, asked for when somebody reads ours.
//
// Kept are the hashes of its documents (some KiB), for a minute; of the documents nothing: the texts are written into
// ours, which the DocumentCache keeps, compressed, as long as somebody reads them. A host that does not answer is not
// asked again for ten seconds, and meanwhile its hashes are those that it last said: who has a document with texts
// keeps it, and who asks for one is given it without texts, to ask again.
//
// Lifecycle: stop() forgets who waits. Threads: any; `then` runs on the caller's thread or on that of the answer.
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
  /// Calls `then` at once when they are known, or nobody could be asked; never with null.
  void with_hashes(std::function<void(std::shared_ptr<const HostHashes>)> then);
  /// Its document of a group version; null: there is none now.
  void with_document(const std::string& path, std::function<void(std::shared_ptr<const std::string>)> then);
  void stop();

 private:
  struct Impl;
  const std::shared_ptr<Impl> impl_;
};

}  // namespace sublet::apiserver
