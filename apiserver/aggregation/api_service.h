// ApiService: one APIService that names a Service: its group version and its server; or the local APIService of
// metrics.k8s.io, which ServerOptions::metrics serves (own_metrics.h).
//
// A value, read from the stored object; available as its status says, a local one always.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/admission/webhook_caller.h"
#include "sublet/schema/document.h"

namespace sublet::apiserver {

struct ApiService {
  /// Null: it names no service, and is not that of metrics.k8s.io.
  static std::shared_ptr<const ApiService> read(const schema::Value& object);

  std::string name, group, version;
  ServicePeer peer;    // of the Service
  bool local = false;  // without a Service: metrics.k8s.io
  std::int64_t group_priority = 0, version_priority = 0;
  bool available = false;

  /// "/apis/GROUP/VERSION".
  std::string path() const { return "/apis/" + group + "/" + version; }
};
using ApiServicePtr = std::shared_ptr<const ApiService>;

}  // namespace sublet::apiserver
