#include "apiserver/admission/admission_request.h"

#include "apiserver/conversion/conversion.h"
#include "apiserver/request/members.h"
#include "apiserver/request/object_key.h"
#include "apiserver/request/request_info.h"
#include "sublet/schema/engine.h"

namespace sublet::apiserver {
namespace {

using schema::Document;
using schema::Value;

std::string_view operation_name(WriteVerb verb) {
  switch (verb) {
    case WriteVerb::update:
      return "UPDATE";
    case WriteVerb::remove:
      return "DELETE";
    case WriteVerb::connect:
      return "CONNECT";
    case WriteVerb::create:
    case WriteVerb::subresource:
      break;
  }
  return "CREATE";
}

const schema::SubresourceFacts* subresource_of(const schema::ResourceFacts& resource, std::string_view name) {
  for (const auto& facts : resource.subresources)
    if (facts.name == name) return &facts;
  return nullptr;
}

const ScalePaths& scale_paths_of(const Strategy& strategy, std::string_view version) {
  static const ScalePaths workloads;
  const ScalePaths* own = strategy.scale_paths ? strategy.scale_paths(version) : nullptr;
  return own ? *own : workloads;
}

// A workload as its Scale.
Document reviewed_scale(const Value& workload, const ScalePaths& paths) {
  Document document = Document::object();
  Value root = document.root(), metadata = root.object("metadata");
  for (const char* name : {"name", "namespace", "uid", "resourceVersion", "creationTimestamp"})
    if (workload["metadata"].has(name)) metadata.put(name, workload["metadata"][name]);
  Value spec = root.object("spec"), status = root.object("status");
  if (const auto replicas = at_path(workload, paths.spec_replicas).integer(); replicas != 0)
    spec.put("replicas", replicas);
  status.put("replicas", at_path(workload, paths.status_replicas).integer());
  return document;
}

// With apiVersion and kind first, as clients know it.
void put_type(Value object, const KindName& kind) {
  object.put("apiVersion", api_version(kind.group, kind.version));
  object.put("kind", kind.kind);
}

void put_names(Value target, std::string_view field, std::string_view group, std::string_view version,
               std::string_view last, std::string_view last_name) {
  Value names = target.object(field);
  names.put("group", group);
  names.put("version", version);
  names.put(last_name, last);
}

void put_user_info(Value target, const User& user) {
  Value info = target.object("userInfo");
  if (!user.name.empty()) info.put("username", user.name);
  if (!user.uid.empty()) info.put("uid", user.uid);
  if (!user.groups.empty())
    for (const auto& group : user.groups) info.array("groups").push(group);
  for (const auto& [key, values] : user.extra) {
    Value list = info.object("extra").array(key);
    for (const auto& value : values) list.push(value);
  }
}

void put_delete_options(Value options, const WriteContext& context) {
  if (auto sent = Document::parse_json(context.request_body); sent && sent->root().is_object())
    for (const Value member : sent->root())
      if (member.key() != "kind" && member.key() != "apiVersion") options.put(member.key(), member);
  if (!context.query) return;
  if (const auto policy = context.query->get("propagationPolicy"); !policy.empty())
    options.put("propagationPolicy", policy);
}

void put_options(Value request, const WriteContext& context, std::string_view operation) {
  Value options = request.object("options");
  options.put("kind", operation == "CREATE"   ? "CreateOptions"
                      : operation == "UPDATE" ? "UpdateOptions"
                                              : "DeleteOptions");
  options.put("apiVersion", "meta.k8s.io/v1");
  if (operation == "DELETE") put_delete_options(options, context);
  if (context.dry_run && !options.has("dryRun")) options.array("dryRun").push("All");
  if (!context.query || operation == "DELETE") return;
  for (const char* name : {"fieldManager", "fieldValidation"})
    if (const auto value = context.query->get(name); !value.empty()) options.put(name, value);
}

}  // namespace

AdmissionRequest::AdmissionRequest(const Attempt& attempt)
    : attempt_(attempt),
      served_(attempt.context.served ? *attempt.context.served : attempt.context.resource),
      operation_(operation_name(attempt.verb)),
      name_(attempt.context.request_name),
      namespace_(attempt.context.namespace_name) {
  // A name that the server generates is not visible yet.
  if (name_.empty() && attempt.verb != WriteVerb::remove) {
    const Value meta = attempt.object["metadata"];
    if (meta["generateName"].text().empty()) name_ = meta["name"].text();
  }
  if (name_.empty() && attempt.verb == WriteVerb::remove) name_ = attempt.old["metadata"]["name"].text();
  if (is_namespace()) namespace_ = name_;
}

std::vector<const schema::ResourceFacts*> AdmissionRequest::equivalents() const {
  std::vector<const schema::ResourceFacts*> others;
  for (const auto& facts : attempt_.context.kinds.resources()) {
    if (&facts == &served_ || !facts.served || facts.resource != served_.resource ||
        facts.storage_group != served_.storage_group)
      continue;
    if (subresource().empty() || subresource_of(facts, subresource())) others.push_back(&facts);
  }
  return others;
}

KindName AdmissionRequest::kind_of(const schema::ResourceFacts& resource) const {
  const auto* facts = subresource().empty() ? nullptr : subresource_of(resource, subresource());
  if (!facts) return {resource.group, resource.version, resource.kind};
  // Where discovery says no version, it is the resource's.
  if (facts->version.empty()) return {resource.group, resource.version, facts->kind};
  return {facts->group, facts->version, facts->kind};
}

Outcome AdmissionRequest::convert_outside(const Conversion& conversion, Value object) const {
  if (!conversion.outside) return {};
  put_type(object, {served_.group, served_.version, served_.kind});  // in which the verbs have it
  return conversion.outside->convert(object);
}

Outcome AdmissionRequest::check_version(const MatchedResource& matched) const {
  if (matched.resource == &served_ || is_scale() || has_own_body(attempt_.verb)) return {};
  const auto* conversion = attempt_.context.kinds.entry<Conversion>(*matched.resource);
  if (!conversion || !conversion->outside) return {};
  for (const Value& state : {attempt_.object, attempt_.old}) {
    if (state.missing() || state.is_null()) continue;
    Document document = Document::copy_of(state);
    if (auto converted = convert_outside(*conversion, document.root()); !converted)
      return fail(Reason::internal_error, "Internal error occurred: " + converted.error().message);
  }
  return {};
}

Document AdmissionRequest::in_version(const MatchedResource& matched, const Value& stored) const {
  if (stored.missing() || stored.is_null()) return {};
  const WriteContext& context = attempt_.context;
  if (is_scale()) {  // of which the attempt has the workload, which is what is changed
    const auto& strategy = *context.kinds.entry<Strategy>(context.resource);
    Document scale = reviewed_scale(stored, scale_paths_of(strategy, served_.version));
    put_type(scale.root(), matched.kind);
    return scale;
  }
  Document document = Document::copy_of(stored);
  // The body of a subresource has one version only.
  if (!has_own_body(attempt_.verb))
    if (const auto* conversion = context.kinds.entry<Conversion>(*matched.resource)) {
      if (!convert_outside(*conversion, document.root())) return {};  // matching has checked that it can be converted
      conversion->from_storage(document.root());
    }
  put_type(document.root(), matched.kind);
  if (!has_own_body(attempt_.verb)) (void)schema::conform(document.root(), matched.resource->type);
  return document;
}

Document AdmissionRequest::object_as(const MatchedResource& matched) const {
  return in_version(matched, attempt_.object);
}

Document AdmissionRequest::old_as(const MatchedResource& matched) const { return in_version(matched, attempt_.old); }

Result<bool> AdmissionRequest::take(const MatchedResource& matched, Value changed) const {
  const auto& kinds = attempt_.context.kinds;
  if (is_scale()) {
    const auto& paths = scale_paths_of(*kinds.entry<Strategy>(attempt_.context.resource), served_.version);
    const auto replicas = changed["spec"]["replicas"].integer();
    if (replicas == at_path(attempt_.object, paths.spec_replicas).integer()) return false;
    Value place = attempt_.object;
    for (std::size_t i = 0; i + 1 < paths.spec_replicas.size(); ++i) place = place.object(paths.spec_replicas[i]);
    place.put(paths.spec_replicas.back(), replicas);
    return true;
  }
  if (has_own_body(attempt_.verb)) {
    Value object = attempt_.object;
    if (changed.equals(object)) return false;
    object.set(changed);
    return true;
  }
  if (auto fits = schema::conform(changed, matched.resource->type); !fits) return fail(fits.error());
  if (const auto* conversion = kinds.entry<Conversion>(*matched.resource)) conversion->to_storage(changed);
  if (const auto* back = kinds.entry<Conversion>(served_); back && back->outside && matched.resource != &served_)
    if (auto converted = back->outside->convert(changed); !converted) return fail(converted.error());
  put_type(changed, {served_.group, served_.version, served_.kind});
  // Who owns what is not for others to say.
  if (const Value owners = attempt_.object["metadata"]["managedFields"]; owners)
    changed.object("metadata").put("managedFields", owners);
  else
    changed.object("metadata").erase("managedFields");
  const schema::ResourceFacts& storage = attempt_.context.resource;
  schema::apply_table_defaults(changed, storage.type);
  if (const auto& defaults = kinds.entry<Strategy>(storage)->defaults) defaults(changed);
  Value object = attempt_.object;
  // Kind and version are the request's; who compares must not see their absence as a change.
  Document before = Document::copy_of(object);
  put_type(before.root(), {served_.group, served_.version, served_.kind});
  if (changed.equals(before.root())) return false;
  object.set(changed);
  return true;
}

Document AdmissionRequest::document(const MatchedResource& matched) const {
  Document document = Document::object();
  Value root = document.root();
  const WriteContext& context = attempt_.context;
  const KindName own = kind_of(served_);
  put_names(root, "kind", matched.kind.group, matched.kind.version, matched.kind.kind, "kind");
  put_names(root, "resource", matched.resource->group, matched.resource->version, matched.resource->resource,
            "resource");
  if (!subresource().empty()) root.put("subResource", subresource());
  put_names(root, "requestKind", own.group, own.version, own.kind, "kind");
  put_names(root, "requestResource", served_.group, served_.version, served_.resource, "resource");
  if (!subresource().empty()) root.put("requestSubResource", subresource());
  if (!name_.empty()) root.put("name", name_);
  if (!namespace_.empty()) root.put("namespace", namespace_);
  root.put("operation", operation_);
  put_user_info(root, context.user);
  root.put("dryRun", context.dry_run && attempt_.verb != WriteVerb::connect);
  if (attempt_.verb == WriteVerb::connect)
    root.add_member("options");  // null: what is asked for is the object
  else
    put_options(root, context, operation_);
  return document;
}

Status forbidden_request(const AdmissionRequest& request, std::string_view why) {
  return sublet::forbidden_status(request.resource().group, request.resource().resource,
                                  request.name().empty() ? request.attempt().name() : std::string(request.name()), why);
}

}  // namespace sublet::apiserver
