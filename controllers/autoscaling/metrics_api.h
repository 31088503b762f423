// MetricsApi: the three metrics APIs that autoscaling reads (metrics.k8s.io, custom.metrics.k8s.io,
// external.metrics.k8s.io), where the virtual cluster serves them.
//
// Errors are in upstream's words, with which HorizontalPodAutoscalers explain why they do nothing. Blocks on the API.
// Threads: any. Source: pkg/controller/podautoscaler/metrics/client.go of Kubernetes.
#pragma once

#include <string>
#include <vector>

#include "controllers/autoscaling/replica_math.h"
#include "sublet/kube/client.h"

namespace sublet::controllers {

class MetricsApi {
 public:
  explicit MetricsApi(const kube::Client& client) : client_(client) {}

  /// What the selected pods use of a resource; `container` "": all of theirs together.
  Result<Samples> resource(const std::string& namespace_name, const std::string& selector, const std::string& resource,
                           const std::string& container) const;
  /// A metric of the selected pods.
  Result<Samples> of_pods(const std::string& namespace_name, const std::string& selector, const std::string& metric,
                          const std::string& metric_selector) const;
  /// A metric of one object; `path` is "services/web", or "" for the namespace itself.
  Result<std::int64_t> of_object(const std::string& namespace_name, const std::string& path, const std::string& metric,
                                 const std::string& metric_selector) const;
  /// The sum of all series of an external metric.
  Result<std::int64_t> external(const std::string& namespace_name, const std::string& metric,
                                const std::string& metric_selector) const;

 private:
  Result<schema::Document> custom(const std::string& namespace_name, const std::string& path,
                                  const std::string& selector, const std::string& metric_selector) const;
  /// `what` for the message when the path is not served: "pods.metrics.k8s.io".
  Result<schema::Document> read(const std::string& target, const std::string& what) const;

  const kube::Client& client_;
};

}  // namespace sublet::controllers
