#include "apiserver/verbs/manage_fields.h"

#include "apiserver/conversion/conversion.h"
#include "sublet/schema/engine.h"

namespace sublet::apiserver {
namespace {

using schema::Document;
using schema::Value;

Document in_served_version(const Route& route, const Conversion& conversion, const Value& stored) {
  Document document = Document::copy_of(stored);
  if (!route.served->custom) conversion.from_storage(document.root());  // defaults, which the client did not send
  (void)schema::conform(document.root(), route.type());                 // it was of that version when it came
  return document;
}

bool same_but_time(const Value& entry, const Value& old) {
  if (entry.size() + (entry.has("time") ? 0 : 1) != old.size() + (old.has("time") ? 0 : 1)) return false;
  for (const Value member : entry)
    if (member.key() != "time" && !member.equals(old[member.key()])) return false;
  return true;
}

/// Whether the lists differ in times alone, and in one at least.
bool only_times_differ(const Value& entries, const Value& old) {
  if (entries.empty() || entries.size() != old.size()) return false;
  bool differs = false;
  auto before = old.begin();
  for (const Value entry : entries) {
    if (!same_but_time(entry, *before)) return false;
    differs = differs || entry["time"].text() != (*before)["time"].text();
    ++before;
  }
  return differs;
}

bool same_but(const Value& value, const Value& old, std::initializer_list<std::string_view> ignored) {
  const auto is_ignored = [&ignored](std::string_view key) {
    return std::find(ignored.begin(), ignored.end(), key) != ignored.end();
  };
  for (const Value member : value)
    if (!is_ignored(member.key()) && !member.equals(old[member.key()])) return false;
  for (const Value member : old)
    if (!is_ignored(member.key()) && !value.has(member.key())) return false;
  return true;
}

}  // namespace

ManagedEndpoint managed_endpoint(const RequestContext& request) {
  const auto& served = request.served();
  return {*request.kinds, served.group, served.version, served.kind, served.type, request.info.subresource, &served};
}

std::string field_manager(const RequestContext& request) {
  return manager_name(request.query.get("fieldManager"), request.request.headers.get("User-Agent"));
}

Document managed_fields_of(Write& write, Draft& draft) {
  if (draft.managed_fields) return std::move(*std::exchange(draft.managed_fields, std::nullopt));
  const RequestContext& request = write.request;
  const FieldManager manager(managed_endpoint(request));
  const std::string name = field_manager(request);
  const WallTime now = write.context.clock.now();
  const Value object = draft.object.root(), old = draft.current ? draft.old.root() : Value();
  const Conversion* conversion = conversion_of(*request.route);
  if (!conversion) return manager.update(old, object, name, now);
  const Document served = in_served_version(*request.route, *conversion, object);
  if (!old) return manager.update(Value(), served.root(), name, now);
  return manager.update(in_served_version(*request.route, *conversion, old).root(), served.root(), name, now);
}

void put_managed_fields(Value object, const Value& managed_fields) {
  Value meta = object.object("metadata");
  if (managed_fields.is_array())
    meta.put("managedFields", managed_fields);
  else
    meta.erase("managedFields");
}

void manage_fields(Write& write, Draft& draft) {
  if (draft.is_managed) return;
  const Document managed_fields = managed_fields_of(write, draft);
  put_managed_fields(draft.object.root(), managed_fields.root());
}

void keep_managed_times(Value object, const Value& old) {
  Value meta = object["metadata"];
  const Value before = old["metadata"];
  if (!only_times_differ(meta["managedFields"], before["managedFields"])) return;
  if (!same_but(meta, before, {"managedFields", "resourceVersion"})) return;
  if (!same_but(object, old, {"metadata", "kind", "apiVersion"})) return;
  meta.put("managedFields", before["managedFields"]);
}

}  // namespace sublet::apiserver
