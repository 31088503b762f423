#include "sublet/base/status_json.h"

#include "sublet/base/json_text.h"

namespace sublet {
namespace {

// A member with a comma in front unless it is the first; empty texts are left out.
void add(std::string& out, std::string_view key, std::string_view text) {
  if (text.empty()) return;
  if (out.back() != '{') out += ',';
  out.append("\"").append(key).append("\":");
  append_json_string(out, text);
}

void add_causes(std::string& out, const std::vector<Cause>& causes) {
  if (causes.empty()) return;
  if (out.back() != '{') out += ',';
  out += "\"causes\":[";
  for (const auto& cause : causes) {
    if (&cause != &causes.front()) out += ',';
    out += '{';
    add(out, "reason", cause.reason);
    add(out, "message", cause.message);
    add(out, "field", cause.field);
    out += '}';
  }
  out += ']';
}

std::string details_json(const Status& status) {
  std::string out = "{";
  add(out, "name", status.name);
  add(out, "group", status.group);
  add(out, "kind", status.kind);
  add(out, "uid", status.uid);
  add_causes(out, status.causes);
  if (status.retry_after_seconds > 0) {
    if (out.back() != '{') out += ',';
    out += "\"retryAfterSeconds\":" + std::to_string(status.retry_after_seconds);
  }
  out += '}';
  return out;
}

}  // namespace

std::string status_json(const Status& status) {
  std::string out = R"({"kind":"Status","apiVersion":"v1","metadata":{)";
  add(out, "continue", status.continue_token);
  out += R"(},"status":"Failure")";
  add(out, "message", status.message);
  add(out, "reason", reason_name(status.reason));
  const auto details = details_json(status);
  if (details != "{}" || status.is(Reason::forbidden)) out += ",\"details\":" + details;
  out += ",\"code\":" + std::to_string(status.http_code()) + "}";
  return out;
}

std::string success_json(std::string_view group, std::string_view resource, std::string_view name,
                         std::string_view uid) {
  std::string out = R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","details":{)";
  add(out, "name", name);
  add(out, "group", group);
  add(out, "kind", resource);
  add(out, "uid", uid);
  return out + "}}";
}

}  // namespace sublet
