#include "controllers/autoscaling/metrics_api.h"

#include <limits>

#include "sublet/net/http.h"

namespace sublet::controllers {
namespace {

using schema::Document;
using schema::Value;

constexpr std::string_view kCustomVersions[] = {"v1beta2", "v1beta1"};

/// "30s", "1m0s", "1m30.5s": a Go duration, as far as windows have one.
std::chrono::seconds duration_of(std::string_view text) {
  double total = 0, number = 0, fraction = 0;
  for (const char c : text) {
    if (c >= '0' && c <= '9') {
      if (fraction > 0) {
        number += (c - '0') * fraction;
        fraction /= 10;
      } else {
        number = number * 10 + (c - '0');
      }
    } else if (c == '.') {
      fraction = 0.1;
    } else {
      total += number * (c == 'h' ? 3600 : c == 'm' ? 60 : 1);
      number = fraction = 0;
    }
  }
  return std::chrono::seconds(static_cast<std::int64_t>(total));
}

/// What the containers of one pod use together, or the named one; nullopt when any has no such number.
std::optional<std::int64_t> usage_of(const Value& pod, const std::string& resource, const std::string& container) {
  std::int64_t total = 0;
  bool any = false;
  for (auto each : pod["containers"]) {
    if (!container.empty() && each["name"].text() != container) continue;
    const auto used = each["usage"][resource];
    if (!used) return std::nullopt;
    total += milli_of(used);
    any = true;
  }
  return any ? std::optional(total) : std::nullopt;
}

tl::unexpected<Status> unable(std::string_view api, const Status& why) {
  return fail(why.reason, "unable to fetch metrics from " + std::string(api) + " metrics API: " + why.message);
}

std::string query(std::string_view name, const std::string& value) {
  return value.empty() ? "" : std::string(name) + "=" + net::percent_encode(value) + "&";
}

}  // namespace

Result<Document> MetricsApi::read(const std::string& target, const std::string& what) const {
  auto answer = client_.raw("GET", target);
  if (!answer) return fail(answer.error());
  auto document = Document::parse_json(answer->body);
  if (answer->code == 200) return document;
  // A metrics server's error has a message; an unserved path has none.
  if (document && (*document)["details"].has("kind"))
    return fail(kube::status_from_document(document->root(), answer->code));
  if (answer->code == 404)
    return fail(Reason::not_found, "the server could not find the requested resource (get " + what + ")");
  if (document) return fail(kube::status_from_document(document->root(), answer->code));
  return fail(reason_from_http_code(answer->code), answer->body);
}

Result<Samples> MetricsApi::resource(const std::string& namespace_name, const std::string& selector,
                                     const std::string& resource, const std::string& container) const {
  const auto answer = read("/apis/metrics.k8s.io/v1beta1/namespaces/" + net::percent_encode(namespace_name) + "/pods?" +
                               query("labelSelector", selector),
                           "pods.metrics.k8s.io");
  if (!answer) return unable("resource", answer.error());
  if ((*answer)["items"].empty()) return fail(Reason::not_found, "no metrics returned from resource metrics API");
  Samples samples;
  for (auto item : (*answer)["items"])
    if (const auto used = usage_of(item, resource, container))
      samples[item["metadata"]["name"].string()] = {*used, parse_time(item["timestamp"].text()).value_or(WallTime()),
                                                    duration_of(item["window"].text())};
  return samples;
}

Result<Document> MetricsApi::custom(const std::string& namespace_name, const std::string& path,
                                    const std::string& selector, const std::string& metric_selector) const {
  for (const auto version : kCustomVersions) {
    auto answer = read("/apis/custom.metrics.k8s.io/" + std::string(version) + "/namespaces/" +
                           net::percent_encode(namespace_name) + "/" + path + "?" + query("labelSelector", selector) +
                           query("metricLabelSelector", metric_selector),
                       "");
    const bool unserved = !answer && answer.error().message.ends_with("(get )");
    if (!unserved) return answer;
  }
  return fail(Reason::not_found, "no custom metrics API (custom.metrics.k8s.io) registered");
}

Result<Samples> MetricsApi::of_pods(const std::string& namespace_name, const std::string& selector,
                                    const std::string& metric, const std::string& metric_selector) const {
  const auto answer = custom(namespace_name, "pods/*/" + net::percent_encode(metric), selector, metric_selector);
  if (!answer) return unable("custom", answer.error());
  if ((*answer)["items"].empty()) return fail(Reason::not_found, "no metrics returned from custom metrics API");
  Samples samples;
  for (auto item : (*answer)["items"])
    samples[item["describedObject"]["name"].string()] = {milli_of(item["value"]),
                                                         parse_time(item["timestamp"].text()).value_or(WallTime()),
                                                         std::chrono::seconds(item["windowSeconds"].integer(60))};
  return samples;
}

Result<std::int64_t> MetricsApi::of_object(const std::string& namespace_name, const std::string& path,
                                           const std::string& metric, const std::string& metric_selector) const {
  const auto full = (path.empty() ? "metrics" : path) + "/" + net::percent_encode(metric);
  const auto answer = custom(namespace_name, full, "", metric_selector);
  if (!answer) return unable("custom", answer.error());
  const auto items = (*answer)["items"];
  if (items.size() != 1)
    return fail(Reason::not_found,
                "unable to fetch metrics from custom metrics API: the custom metrics API server "
                "returned " +
                    std::to_string(items.size()) + " results when we asked for exactly one");
  return milli_of(items.at(0)["value"]);
}

Result<std::int64_t> MetricsApi::external(const std::string& namespace_name, const std::string& metric,
                                          const std::string& metric_selector) const {
  const auto answer = read("/apis/external.metrics.k8s.io/v1beta1/namespaces/" + net::percent_encode(namespace_name) +
                               "/" + net::percent_encode(metric) + "?" + query("labelSelector", metric_selector),
                           metric + ".external.metrics.k8s.io");
  if (!answer) return unable("external", answer.error());
  if ((*answer)["items"].empty()) return fail(Reason::not_found, "no metrics returned from external metrics API");
  std::int64_t sum = 0;
  for (auto item : (*answer)["items"])
    if (__builtin_add_overflow(sum, milli_of(item["value"]), &sum)) sum = std::numeric_limits<std::int64_t>::max();
  return sum;
}

}  // namespace sublet::controllers
