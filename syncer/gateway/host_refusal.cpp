#include "syncer/gateway/host_refusal.h"

#include "sublet/schema/document.h"

namespace sublet::syncer {

using schema::Value;

std::string tenant_refusal(const std::string& body, const HostTextNames& names, bool named_only) {
  const auto read = schema::Document::parse_json(body);
  if (!read || (*read)["kind"].text() != "Status" || (*read)["apiVersion"].text() != "v1") return {};
  if (named_only && (*read)["message"].text().find(names.host_name) == std::string_view::npos) return {};
  const auto tell = [&](Value holder, const char* member) {
    if (const auto text = holder[member].string(); !text.empty()) holder.put(member, tenant_text(text, names));
  };
  tell(read->root(), "message");
  const Value details = (*read)["details"];
  tell(details, "name");
  for (const Value cause : details["causes"]) tell(cause, "message");
  return read->to_json();
}

}  // namespace sublet::syncer
