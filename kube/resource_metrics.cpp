#include "sublet/kube/resource_metrics.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "sublet/base/status_json.h"

namespace sublet::kube {
namespace {

using About = MetricsQuestion::About;
using schema::Document;
using schema::Value;

constexpr std::string_view kApiVersion = "metrics.k8s.io/v1beta1";
constexpr std::pair<About, std::string_view> kWords[] = {
    {About::pods, "pods"}, {About::nodes, "nodes"}, {About::api, "api"}};

void sort_items(Value list) {
  std::vector<Value> items(list.begin(), list.end());
  std::ranges::sort(items, {}, [](const Value& item) {
    return std::pair(item["metadata"]["namespace"].text(), item["metadata"]["name"].text());
  });
  list.reorder(items);
}

std::string_view kind_of(About about) { return about == About::pods ? "PodMetrics" : "NodeMetrics"; }

}  // namespace

void MetricsQuestion::put(Value out) const {
  for (const auto& [each, word] : kWords)
    if (each == about) out.put("about", word);
  out.put("namespace", namespace_name);
  out.put("name", name);
  out.put("labelSelector", label_selector);
  out.put("fieldSelector", field_selector);
}

MetricsQuestion MetricsQuestion::read(const Value& from) {
  MetricsQuestion question;
  for (const auto& [about, word] : kWords)
    if (from["about"].text() == word) question.about = about;
  question.namespace_name = from["namespace"].string();
  question.name = from["name"].string();
  question.label_selector = from["labelSelector"].string();
  question.field_selector = from["fieldSelector"].string();
  return question;
}

Result<MetricsAnswer> MetricsAnswer::to(const MetricsQuestion& question) {
  MetricsAnswer answer(question);
  auto labels = LabelSelector::parse(question.label_selector);
  if (!labels) return fail(labels.error());
  auto fields = FieldSelector::parse(question.field_selector);
  if (!fields) return fail(fields.error());
  for (const FieldTerm& term : fields->terms())
    if (term.path != "metadata.name" && (term.path != "metadata.namespace" || question.about == About::nodes))
      return bad_request("field label not supported: " + term.path);
  answer.labels_ = std::move(*labels);
  answer.fields_ = std::move(*fields);
  answer.list_ = Document::object();
  Value root = answer.list_.root();
  root.put("kind", std::string(kind_of(question.about)) + "List");
  root.put("apiVersion", kApiVersion);
  root.object("metadata");
  root.array("items");
  return answer;
}

bool MetricsAnswer::wants(std::string_view namespace_name, std::string_view name, const Value& labels) const {
  if (!question_.namespace_name.empty() && question_.namespace_name != namespace_name) return false;
  if (!question_.name.empty()) return question_.name == name;
  return labels_.matches(labels) &&
         fields_.matches([&](std::string_view path) { return path == "metadata.namespace" ? namespace_name : name; });
}

Value MetricsAnswer::add(std::string_view namespace_name, std::string_view name, const Value& labels,
                         std::string_view creation) {
  Value item = list_.root()["items"].push_object();
  if (!question_.name.empty()) {
    item.put("kind", kind_of(question_.about));
    item.put("apiVersion", kApiVersion);
  }
  Value metadata = item.object("metadata");
  metadata.put("name", name);
  if (!namespace_name.empty()) metadata.put("namespace", namespace_name);
  metadata.put("creationTimestamp", creation);
  if (!labels.empty()) metadata.put("labels", labels);
  return item;
}

Result<std::string> MetricsAnswer::json() {
  if (question_.name.empty()) {
    sort_items(list_.root()["items"]);
    return list_.to_json();
  }
  if (const Value only = list_["items"].at(0)) return only.to_json();
  if (question_.about == About::nodes) return fail(not_found_status(kMetricsGroup, "nodemetrics", question_.name));
  return fail(not_found_status(kMetricsGroup, "podmetrics", question_.namespace_name + "/" + question_.name));
}

net::Response MetricsAnswer::response() {
  const auto text = json();
  if (text) return {200, {{"Content-Type", "application/json"}}, *text};
  return {text.error().http_code(), {{"Content-Type", "application/json"}}, status_json(text.error())};
}

}  // namespace sublet::kube
