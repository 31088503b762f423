#include "syncer/from_host/custom_status.h"

#include <algorithm>

#include "sublet/syncer/node_names.h"
#include "syncer/from_host/text_for_tenant.h"
#include "syncer/translate/names.h"

namespace sublet::syncer {
namespace {

using schema::Document;
using schema::Value;

class StatusTranslation {
 public:
  StatusTranslation(Border& border, const Value& host_object, const Value& tenant_object)
      : border_(border),
        about_{tenant_object["metadata"]["namespace"].string(), tenant_object["metadata"]["name"].string(),
               tenant_object["metadata"]["uid"].string()},
        host_name_(host_object["metadata"]["name"].string()),
        behind_(tenant_object["metadata"]["generation"].integer() - host_object["metadata"]["generation"].integer()) {}

  void translate(Value value) const {
    if (value.is_string()) return translate_text(value);
    if (value.is_integer() && value.key() == "observedGeneration")
      return value.set(std::max<std::int64_t>(value.integer() + behind_, 0));
    if (value.is_object()) name_what_is_shown(value);
    if (value.is_object() || value.is_array())
      for (Value child : value) translate(child);
  }

 private:
  // A reference to an object that the host shows under other names.
  void name_what_is_shown(Value value) const {
    const std::string space = value["namespace"].string(), name = value["name"].string();
    if (space.empty() || name.empty()) return;
    for (const patches::HostMapping& one : config_of(border_.context()).mappings) {
      const std::string& from = one.host_namespace.empty() ? border_.host_namespace() : one.host_namespace;
      const std::string shown = from == space ? one.tenant_name_of(name) : "";
      const auto served = border_.context().served_kinds.find(one.kind);
      if (shown.empty() || served == border_.context().served_kinds.end()) continue;
      if (!value["kind"].text().empty() && value["kind"].text() != served->second.kind) continue;
      value.put("namespace", one.tenant_namespace);
      value.put("name", shown);
      return;
    }
  }

  void translate_text(Value value) const {
    const std::string text = value.string();
    if (text == host_name_) return value.set(about_.name);
    if (text == border_.host_namespace()) return value.set(about_.namespace_name);
    if (const auto names = tenant_names(text, border_.context().virtual_cluster)) return value.set(names->name);
    if (may_be_hashed_name(text))
      for (const KindSides& one : border_.kinds()) {
        if (one.kind.direction != Direction::to_host || !one.host) continue;
        const auto tenant = tenant_of(border_, one, text);
        if (tenant && !tenant->name.empty()) return value.set(tenant->name);
      }
    // Words, as a condition's message is, or "namespace/name".
    if (text.find_first_of(" /_") != std::string::npos)
      value.set(text_for_tenant(border_, text, host_name_, about_));
    else if (border_.nodes().are_pseudo())
      value.set(border_.nodes().member_to_tenant(text));
  }

  Border& border_;
  TenantIdentity about_;
  std::string host_name_;
  std::int64_t behind_;
};

}  // namespace

Document custom_status(Border& border, const Value& host_object, const Value& tenant_object) {
  Document status = Document::copy_of(host_object["status"]);
  if (!status.root().is_object()) status.root().make_object();
  StatusTranslation(border, host_object, tenant_object).translate(status.root());
  return status;
}

}  // namespace sublet::syncer
