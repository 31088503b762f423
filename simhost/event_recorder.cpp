#include "simhost/event_recorder.h"

#include <algorithm>
#include <cstdio>

namespace sublet::simhost {
namespace {

const kube::Resource kEvents{"", "v1", "events"};
constexpr const char* kDefaultNamespace = "default";  // where events about cluster-scoped objects live
constexpr std::size_t kRememberedPerObject = 16;

std::string hex(std::uint64_t number) {
  char out[17];
  std::snprintf(out, sizeof(out), "%016lx", static_cast<unsigned long>(number));
  return out;
}

std::string namespace_of(const ObjectReference& about) {
  return about.namespace_name.empty() ? kDefaultNamespace : about.namespace_name;
}

void put_text(schema::Value object, std::string_view key, const std::string& text) {
  if (!text.empty()) object.put(key, text);
}

}  // namespace

void EventRecorder::record(const ObjectReference& about, const EventSource& source, Type type,
                           const std::string& reason, const std::string& message, std::uint64_t moment) {
  // Only warnings repeat; remembering every normal event would only cost memory.
  const std::string key = source.component + "/" + reason + "/" + about.field_path + "/" + message;
  if (type == Type::warning) {
    auto& known = remembered_[about.uid];
    const auto same = std::ranges::find(known, key, &Remembered::key);
    if (same != known.end()) return repeat(about, *same);
  }

  schema::Document event = schema::Document::object();
  schema::Value root = event.root();
  root.put("kind", "Event");
  root.put("apiVersion", "v1");
  schema::Value metadata = root.object("metadata");
  const std::string name = about.name + "." + hex(moment != 0 ? moment : next_moment());
  metadata.put("name", name);
  metadata.put("namespace", namespace_of(about));
  schema::Value object = root.object("involvedObject");
  object.put("kind", about.kind);
  put_text(object, "namespace", about.namespace_name);
  object.put("name", about.name);
  put_text(object, "uid", about.uid);
  object.put("apiVersion", "v1");
  put_text(object, "resourceVersion", about.resource_version);
  put_text(object, "fieldPath", about.field_path);
  root.put("reason", reason);
  root.put("message", message);
  schema::Value from = root.object("source");
  from.put("component", source.component);
  put_text(from, "host", source.host);
  const std::string now = format_time(clock_.now());
  root.put("firstTimestamp", now);
  root.put("lastTimestamp", now);
  root.put("count", 1);
  root.put("type", type == Type::warning ? "Warning" : "Normal");
  root.put("reportingComponent", source.component);
  root.put("reportingInstance", source.host);
  pipeline_.send(client_.create_request(kEvents, namespace_of(about), root), {}, kube::Pipeline::Line::background);

  if (type != Type::warning) return;
  auto& known = remembered_[about.uid];
  if (known.size() == kRememberedPerObject) known.erase(known.begin());
  known.push_back({key, name, 1});
}

// Events are named by it: listed by name, those of one second stay in their order.
std::uint64_t EventRecorder::next_moment() {
  const auto now = std::chrono::nanoseconds(clock_.now().time_since_epoch()).count();
  return last_moment_ = std::max(last_moment_ + 1, static_cast<std::uint64_t>(now));
}

void EventRecorder::repeat(const ObjectReference& about, Remembered& event) {
  ++event.count;
  const std::string patch =
      R"({"count":)" + std::to_string(event.count) + R"(,"lastTimestamp":")" + format_time(clock_.now()) + "\"}";
  pipeline_.send(client_.patch_request(kEvents, namespace_of(about), event.event_name, kube::PatchType::merge, patch),
                 {}, kube::Pipeline::Line::background);
}

}  // namespace sublet::simhost
