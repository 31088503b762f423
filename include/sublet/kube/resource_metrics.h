// ResourceMetrics: questions of metrics.k8s.io/v1beta1 (what pods and nodes use, as `kubectl top` and autoscalers ask),
// and answers in metrics-server's form, for whoever measures nothing itself: a syncer says what its host says,
// simulated nodes what they simulate. Values; pure.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "sublet/base/status.h"
#include "sublet/kube/selectors.h"
#include "sublet/net/http.h"
#include "sublet/schema/document.h"

namespace sublet::kube {

inline constexpr std::string_view kMetricsGroup = "metrics.k8s.io", kMetricsVersion = "v1beta1";
inline constexpr std::string_view kMetricsPath = "/apis/metrics.k8s.io/v1beta1";

struct MetricsQuestion {
  enum class About : std::uint8_t { pods, nodes, api };  // api: whether anybody answers such questions
  About about = About::api;
  std::string namespace_name{};                    // of pods; "": of all
  std::string name{};                              // "": a list
  std::string label_selector{}, field_selector{};  // of a list

  /// As JSON, for a job of the tunnel.
  void put(schema::Value out) const;
  static MetricsQuestion read(const schema::Value& from);
};

/// Who answers: once, through the sink. About the API: 200 when there is one, 404 when not; anything else says nothing
/// of it.
using MetricsSource =
    std::function<void(const MetricsQuestion& question, const std::shared_ptr<net::ResponseSink>& sink)>;

/// An answer that is being put together.
class MetricsAnswer {
 public:
  /// bad_request when a selector is malformed, or is one of fields other than name and namespace.
  static Result<MetricsAnswer> to(const MetricsQuestion& question);

  bool wants(std::string_view namespace_name, std::string_view name, const schema::Value& labels) const;
  /// Adds an object of the one who is wanted, and gives it back: it lacks what was measured, behind its metadata.
  schema::Value add(std::string_view namespace_name, std::string_view name, const schema::Value& labels,
                    std::string_view creation);
  /// The list, by namespace and name; or the one object, not_found (in metrics-server's words) when it was not added.
  Result<std::string> json();
  /// The same as a response, a Status where there is none.
  net::Response response();

 private:
  explicit MetricsAnswer(MetricsQuestion question) : question_(std::move(question)) {}
  MetricsQuestion question_;
  LabelSelector labels_;
  FieldSelector fields_;
  schema::Document list_;
};

}  // namespace sublet::kube
