#include "controllers/pods/pod.h"

#include <algorithm>

#include "controllers/runtime/object_ref.h"
#include "sublet/controllers/lister.h"

namespace sublet::controllers {
namespace {

using schema::Document;
using schema::Value;

Document part_of(const store::Object& object, std::string_view member) {
  auto parsed = Document::parse_json(raw_of(object, {member}));
  return parsed ? std::move(*parsed) : Document();
}

}  // namespace

bool has_ended(const store::Object& pod) {
  const auto phase = raw_of(pod, {"status", "phase"});
  return phase == "\"Succeeded\"" || phase == "\"Failed\"";
}

Pod::Pod(store::ObjectPtr object) : object_(std::move(object)) {
  auto parsed = std::make_shared<Parsed>();
  parsed->metadata = part_of(*object_, "metadata");
  parsed->status = part_of(*object_, "status");
  parsed_ = std::move(parsed);
}

std::string_view Pod::name() const { return name_of(*object_); }

std::string_view Pod::namespace_name() const { return namespace_of(*object_); }

std::string Pod::key() const { return key_of(*object_); }

std::string_view Pod::node() const {
  for (const auto& [path, value] : object_->index.fields)
    if (path == "spec.nodeName") return value;
  return {};
}

Document Pod::spec() const { return part_of(*object_, "spec"); }

std::string_view Pod::label(std::string_view name) const {
  for (const auto& [key, value] : object_->index.labels)
    if (key == name) return value;
  return {};
}

Value Pod::condition(std::string_view type) const {
  for (auto condition : status()["conditions"])
    if (condition["type"].text() == type) return condition;
  return {};
}

std::optional<WallTime> Pod::ready_since() const {
  const auto condition_ = condition("Ready");
  return condition_["status"].text() == "True" ? parse_time(condition_["lastTransitionTime"].text()) : std::nullopt;
}

std::optional<WallTime> Pod::created() const { return parse_time(metadata()["creationTimestamp"].text()); }

std::optional<WallTime> Pod::available_at(std::chrono::seconds min_ready) const {
  auto since = ready_since();
  return since ? std::optional(*since + min_ready) : std::nullopt;
}

bool Pod::available(std::chrono::seconds min_ready, WallTime now) const {
  if (!ready()) return false;
  if (min_ready.count() == 0) return true;
  const auto at = available_at(min_ready);
  return at && *at <= now;
}

std::vector<Pod> pods_of(const std::vector<store::ObjectPtr>& objects) {
  std::vector<Pod> pods;
  pods.reserve(objects.size());
  for (const auto& object : objects) pods.emplace_back(object);
  return pods;
}

std::optional<std::chrono::milliseconds> next_availability(const std::vector<Pod>& pods, std::chrono::seconds min_ready,
                                                           WallTime now) {
  std::optional<WallTime> first;
  for (const auto& pod : pods) {
    const auto at = min_ready.count() > 0 ? pod.available_at(min_ready) : std::nullopt;
    if (at && *at > now) first = std::min(first.value_or(*at), *at);
  }
  if (!first) return std::nullopt;
  return std::chrono::ceil<std::chrono::milliseconds>(*first - now);
}

}  // namespace sublet::controllers
