#include "syncer/gateway/host_refusal.h"

#include "sublet/schema/document.h"

namespace sublet::syncer {

using schema::Value;

namespace {

void translate_status(Value status, const HostTextNames& names) {
  const auto translate = [&](Value holder, const char* member) {
    if (const auto text = holder[member].string(); !text.empty()) holder.put(member, tenant_text(text, names));
  };
  translate(status, "message");
  const Value details = status["details"];
  translate(details, "name");
  for (const Value cause : details["causes"]) translate(cause, "message");
}

}  // namespace

std::string tenant_refusal(const std::string& body, const HostTextNames& names, bool named_only) {
  const auto read = schema::Document::parse_json(body);
  if (!read || (*read)["kind"].text() != "Status" || (*read)["apiVersion"].text() != "v1") return {};
  if (named_only && (*read)["message"].text().find(names.host_name) == std::string_view::npos) return {};
  translate_status(read->root(), names);
  return read->to_json();
}

std::string tenant_session_error(std::string_view message, const HostTextNames& names) {
  const auto read = schema::Document::parse_json(message);
  if (!read || !read->root().is_object()) return tenant_text(message, names);
  translate_status(read->root(), names);
  return read->to_json();
}

}  // namespace sublet::syncer
