// AutoscalerPass: one reconcile of one HorizontalPodAutoscaler: its metrics, the limits of its behaviour, the
// scale and the status that follow.
//
// One call of run(), on one thread. Blocks on the API.
// Source: pkg/controller/podautoscaler/horizontal.go of Kubernetes.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "controllers/autoscaling/metrics_api.h"
#include "controllers/autoscaling/scale_history.h"
#include "controllers/pods/status.h"
#include "controllers/runtime/object_ref.h"
#include "sublet/controllers/controller.h"

namespace sublet::controllers {

inline const KindFacts kAutoscaler{
    "autoscaling/v2", "HorizontalPodAutoscaler", {"autoscaling", "v2", "horizontalpodautoscalers"}};

/// The autoscalers (keys, sorted) that scale any of these pods, this one included.
using WhoScales = std::function<std::vector<std::string>(const std::string& selector, const std::vector<Pod>& pods)>;

class AutoscalerPass {
 public:
  /// `autoscaler` is changed: it is the object that is written in the end.
  AutoscalerPass(const Context& context, const Lister& pods, ScaleHistory& history, WhoScales who_scales,
                 schema::Document autoscaler);
  Outcome run();

 private:
  struct Target {
    kube::Resource resource;
    schema::Document scale;
  };
  /// What one metric proposes; `name` as events speak of it.
  struct Metric {
    std::int64_t replicas = 0;
    std::string name;
  };
  struct Refusal {
    std::string reason, cause;  // as the condition has them
    Status why;                 // with what was being done
  };
  using MetricResult = tl::expected<Metric, Refusal>;

  Result<Target> find_target() const;
  Outcome scale_target(Target& target);
  Outcome follow_metrics(const Target& target, std::int64_t& desired, std::string& why);
  Result<std::int64_t> propose(const Target& target, std::string& metric);
  Outcome check_selector(const std::string& selector);
  MetricResult evaluate(const schema::Value& metric, schema::Value status, std::int64_t there);
  MetricResult evaluate_resource(const schema::Value& metric, schema::Value status, bool of_container);
  MetricResult evaluate_pods(const schema::Value& metric, schema::Value status);
  MetricResult evaluate_object(const schema::Value& metric, schema::Value status, std::int64_t there);
  MetricResult evaluate_external(const schema::Value& metric, schema::Value status, std::int64_t there);
  /// Of a metric that is one number for all pods: so much each on average, or so much in all. `current`: its place in
  /// the status.
  Result<Metric> by_one_number(const schema::Value& metric, bool average, schema::Value current, std::int64_t usage,
                               std::int64_t there) const;
  Outcome rescale(Target& target, std::int64_t desired, const std::string& why);
  void put_condition(std::string_view type, bool good, std::string_view reason, std::string_view message);
  Tolerances tolerances() const;
  ScaledPods scaled() const { return {pods_, current_, tolerances(), context_.clock().now()}; }
  Outcome write(std::int64_t desired, bool rescaled);

  const Context& context_;
  const Lister& pod_lister_;
  ScaleHistory& history_;
  const WhoScales who_scales_;
  schema::Document autoscaler_, conditions_, metrics_;
  const ObjectRef ref_;
  MetricsApi api_;
  std::string selector_;
  std::vector<Pod> pods_;
  std::int64_t current_ = 0, min_ = 1, max_ = 1;
};

}  // namespace sublet::controllers
