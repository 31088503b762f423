#include "controllers/pods/status.h"

namespace sublet::controllers {

using schema::Document;
using schema::Value;

void put_count(Value status, std::string_view field, std::int64_t count) {
  if (count == 0)
    status.erase(field);
  else
    status.put(field, count);
}

void erase_condition(Value status, std::string_view type) {
  auto conditions = status["conditions"];
  if (!conditions) return;
  conditions.retain([&](const Value& condition) { return condition["type"].text() != type; });
  if (conditions.empty()) status.erase("conditions");
}

bool put_condition(Value status, const Condition& condition, WallTime now) {
  const auto found = find_condition(status["conditions"], condition.type);
  if (found && found["status"].text() == condition.status && found["reason"].text() == condition.reason) return false;
  erase_condition(status, condition.type);
  auto fresh = status.array("conditions").push_object();
  fresh.put("type", condition.type);
  fresh.put("status", condition.status);
  fresh.put("lastTransitionTime", format_time(now));
  fresh.put("reason", condition.reason);
  fresh.put("message", condition.message);
  return true;
}

Result<Document> put_status(const kube::Client& client, const kube::Resource& resource, const Value& object) {
  auto updated = client.update(resource, object["metadata"]["namespace"].text(), object["metadata"]["name"].text(),
                               object, "status");
  if (!updated && updated.error().is(Reason::not_found)) return Document();
  return updated;
}

}  // namespace sublet::controllers
