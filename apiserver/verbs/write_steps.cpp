#include "apiserver/verbs/write_steps.h"

#include <algorithm>

#include "apiserver/codec/object_bytes.h"
#include "apiserver/conversion/conversion.h"
#include "apiserver/validation/field_errors.h"
#include "apiserver/validation/warnings.h"
#include "sublet/schema/engine.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

constexpr std::string_view kMetaGroup = "meta.k8s.io";
// A deletion's writes are accepted on a full disk and beyond the quota, so they may add little.
constexpr std::size_t kDeletionGrowthMax = 4096;

// What a dry run answers with: the would-be object.
store::ObjectPtr unsaved_object(std::string key, store::Put put, store::Revision revision) {
  auto object = std::make_shared<store::Object>();
  object->key = std::move(key);
  object->revision = revision;
  object->hole = put.hole;
  object->bytes = std::move(put.bytes);
  object->index = std::move(put.index);
  return object;
}

void unsupported_option(std::vector<Cause>& causes, std::string_view field, std::string_view value,
                        std::string_view supported) {
  causes.push_back({"FieldValueNotSupported",
                    "Unsupported value: " + std::string(value) + ": supported values: " + std::string(supported),
                    std::string(field)});
}

// Printable ASCII and whatever is written in more bytes.
void check_field_manager(std::string_view name, std::vector<Cause>& causes) {
  constexpr std::size_t kBytesMax = 128;
  if (name.size() > kBytesMax) too_long(causes, "fieldManager", kBytesMax);
  for (std::size_t at = 0; at < name.size(); ++at) {
    const auto byte = static_cast<unsigned char>(name[at]);
    if (byte >= 0x20 && byte != 0x7f) continue;
    constexpr char kDigits[] = "0123456789ABCDEF";
    const std::string code{kDigits[byte >> 4], kDigits[byte & 0xf]};
    invalid(causes, "fieldManager", name,
            "invalid character U+00" + code + " (at position " + std::to_string(at) + ")");
  }
}

// Looks at the body again where it names managedFields and the decoded object has none.
bool body_clears_managed_fields(const std::string& body, const Value& decoded) {
  if (decoded["metadata"].has("managedFields") || body.find("managedFields") == std::string::npos) return false;
  auto raw = schema::Document::parse_json(body);
  if (!raw) raw = schema::parse_yaml(body);
  return raw && clears_managed_fields(raw->root());
}

// What upstream's etcd takes in one request, less what it takes beside the object itself.
constexpr std::size_t kStoredBytesMax = 1536 * 1024 - 512;

// Upstream stores protobuf, which is never longer than our JSON, and custom resources as JSON. Its words, too: clients
// look for them.
Outcome check_stored_size(const Value& object, const schema::ResourceFacts& facts, std::size_t json_size) {
  if (!facts.custom && schema::encode_protobuf(object, facts.type).size() <= kStoredBytesMax) return {};
  if (facts.custom && json_size <= kStoredBytesMax) return {};
  Status status;
  status.message = "etcdserver: request is too large";
  return fail(std::move(status));
}

}  // namespace

Write::Write(RequestContext& request_, const store::Snapshot& pending_)
    : request(request_),
      pending(pending_),
      context{.kinds = *request_.kinds,
              .resource = request_.storage(),
              .namespace_name = request_.info.namespace_name,
              .subresource = request_.info.subresource,
              .user = request_.user,
              .pending = pending_,
              .options = request_.core->options,
              .clock = request_.core->clock,
              .random = request_.core->random,
              .dry_run = request_.dry_run(),
              .txn = txn,
              .warnings = request_.warnings,
              .served = &request_.served(),
              .authorizer = &request_.core->authorizer,
              .request_name = request_.info.name,
              .hooks = &request_.core->hooks,
              .query = &request_.query,
              .request_body = request_.request.body} {}

Result<store::Put> Write::stored_form(Value object, StoredVersion version) {
  const Strategy& strategy = strategy_of(*request.route);
  const Conversion* storing = request.kinds->entry<Conversion>(request.storage());
  if (!storing || !storing->outside) {
    const bool other = request.served().custom && &request.served() != &request.storage();
    if (other)  // what the stored version does not know is not stored
      if (auto fits = schema::conform(object, request.storage().type); !fits) return fail(fits.error());
    return make_put(object, request.storage(), strategy, version);
  }
  schema::Document stored = schema::Document::copy_of(object);  // which may be wanted again, as it was
  stored.root().put("kind", request.served().kind);
  stored.root().put("apiVersion", api_version(request.served().group, request.served().version));
  if (auto converted = storing->outside->convert(stored.root()); !converted) return fail(converted.error());
  return make_put(stored.root(), request.storage(), strategy, version);
}

Result<Plan> Write::put(int code, std::string key, const store::ObjectPtr& current, Value object) {
  // What would be created has no revision yet, as upstream answers it.
  const auto version = context.dry_run && !current ? StoredVersion::none : StoredVersion::hole;
  auto made = stored_form(object, version);
  if (!made) return fail(made.error());
  if (current && made->bytes == current->bytes) return keep(current);
  Plan plan;
  plan.answer.code = code;
  if (context.dry_run) {
    plan.answer.object = unsaved_object(std::move(key), std::move(*made), current ? current->revision : 0);
    return plan;
  }
  const bool of_deletion = current && object["metadata"].has("deletionTimestamp") &&
                           made->bytes.size() <= current->bytes.size() + kDeletionGrowthMax;
  if (!of_deletion && made->bytes.size() > kStoredBytesMax)
    if (auto fits = check_stored_size(object, request.storage(), made->bytes.size()); !fits) return fail(fits.error());
  txn.guards.push_back({key, current ? current->revision : 0});
  txn.ops.push_back({std::move(key), std::move(*made), std::nullopt, of_deletion});
  plan.answer.op = txn.ops.size() - 1;
  plan.txn = std::move(txn);
  plan.submit = true;
  return plan;
}

Plan Write::erase(const store::ObjectPtr& current, std::optional<store::Put> last_state) {
  Plan plan;
  if (context.dry_run) {
    plan.answer.object = last_state ? unsaved_object(current->key, std::move(*last_state), current->revision) : current;
    return plan;
  }
  txn.guards.push_back({current->key, current->revision});
  txn.ops.push_back({current->key, std::nullopt, std::move(last_state)});
  plan.answer.op = txn.ops.size() - 1;
  plan.txn = std::move(txn);
  plan.submit = true;
  return plan;
}

Plan Write::keep(const store::ObjectPtr& current) {
  Plan plan;
  plan.answer.object = current;
  plan.seen = current->revision;
  return plan;
}

void check_dry_run(const std::vector<std::string_view>& values, std::vector<Cause>& causes) {
  if (std::all_of(values.begin(), values.end(), [](std::string_view value) { return value == "All"; })) return;
  std::string list;
  for (const auto value : values) {
    list += list.empty() ? "[" : ",";
    schema::append_json_string(list, value);
  }
  unsupported_option(causes, "dryRun", list + "]", "\"All\"");
}

Result<FieldValidation> check_write_options(const RequestContext& context, std::string_view kind,
                                            std::vector<Cause> causes) {
  check_field_manager(context.query.get("fieldManager"), causes);
  check_dry_run(context.query.all("dryRun"), causes);
  const auto text = context.query.get("fieldValidation");
  const auto validation = parse_field_validation(text);
  if (!validation)
    unsupported_option(causes, "fieldValidation", "\"" + std::string(text) + "\"",
                       "\"\", \"Ignore\", \"Strict\", \"Warn\"");
  if (causes.empty()) return *validation;
  return fail(invalid_status(kMetaGroup, kind, "", std::move(causes)));
}

ExpectedKind expected_kind(const Route& route) {
  return {route.served->group, route.served->version, route.served->kind, route.type(), false, !route.served->custom};
}

void to_storage(const Route& route, Value object) {
  if (const auto* conversion = conversion_of(route)) conversion->to_storage(object);
}

bool clears_managed_fields(const Value& object) {
  const Value sent = object["metadata"]["managedFields"];
  return sent.is_array() && sent.empty();
}

void clear_managed_fields(Value object) {
  Value list = object.object("metadata").array("managedFields");
  list.clear();
  list.push_object();
}

Result<schema::Document> decode_object(RequestContext& context, FieldValidation validation) {
  auto document = decode_body({context.request.headers.get("Content-Type"), context.request.body},
                              expected_kind(*context.route), validation, context.warnings);
  if (!document) return document;
  if (body_clears_managed_fields(context.request.body, document->root())) clear_managed_fields(document->root());
  to_storage(*context.route, document->root());
  return document;
}

Result<schema::Document> DraftBody::take(RequestContext& context) {
  if (decoded_) return *std::exchange(decoded_, std::nullopt);
  const std::size_t warned = context.warnings.size();
  auto document = decode_object(context, validation_);
  context.warnings.resize(warned);  // has been said the first time
  return document;
}

Outcome match_url(const RequestContext& context, Value object) {
  Value meta = object.object("metadata");
  const auto namespace_name = meta["namespace"].text();
  if (!context.served().namespaced) {
    meta.erase("namespace");
  } else if (namespace_name.empty()) {
    meta.put("namespace", context.info.namespace_name);
  } else if (namespace_name != context.info.namespace_name) {
    return bad_request("the namespace of the provided object does not match the namespace sent on the request");
  }
  const auto name = meta["name"].text();
  if (context.info.name.empty() || name == context.info.name) return {};
  if (name.empty())
    return bad_request("the name of the object (" + context.info.name +
                       " based on URL) was undeterminable: name must be provided");
  return bad_request("the name of the object (" + std::string(name) + ") does not match the name on the URL (" +
                     context.info.name + ")");
}

void begin_metadata(Write& write, Value object) {
  Value meta = object.object("metadata");
  for (const auto* field : {"selfLink", "deletionTimestamp", "deletionGracePeriodSeconds", "uid", "creationTimestamp"})
    meta.erase(field);
  if (strategy_of(*write.request.route).generation) meta.put("generation", 1);
}

void identify(Write& write, Value object) {
  Value meta = object.object("metadata");
  meta.put("uid", uuid_v4(write.context.random));
  meta.put("creationTimestamp", format_time(write.context.clock.now()));
}

bool generate_name(Write& write, Value object) {
  constexpr std::size_t kBaseMax = 58;
  constexpr int kSuffix = 5, kAttempts = 8;
  Value meta = object["metadata"];
  const std::string base = meta["generateName"].string();
  if (!meta["name"].text().empty() || base.empty()) return false;
  std::string name;
  for (int i = 0; i < kAttempts; ++i) {
    name = base.substr(0, kBaseMax) + name_suffix(write.context.random, kSuffix);
    const auto key = object_key(write.request.storage(), write.request.info.namespace_name, name);
    if (!write.pending.get(key)) break;
  }
  meta.put("name", name);
  return true;
}

void keep_metadata(Value object, const Value& old) {
  // Server-owned: taken from the stored object whatever was sent.
  constexpr std::string_view kOwned[] = {"generation", "selfLink", "creationTimestamp"};
  // May be left out by clients; when sent, validation checks that they did not change.
  constexpr std::string_view kStable[] = {"uid", "deletionTimestamp", "deletionGracePeriodSeconds"};
  Value meta = object.object("metadata");
  const Value before = old["metadata"];
  for (const auto field : kOwned) {
    if (before.has(field))
      meta.put(field, before[field]);
    else
      meta.erase(field);
  }
  for (const auto field : kStable)
    if (!meta.has(field) && before.has(field)) meta.put(field, before[field]);
}

void apply_defaults(const RequestContext& context, Value object) {
  schema::apply_table_defaults(object, context.route->storage_type());
  if (strategy_of(*context.route).defaults) strategy_of(*context.route).defaults(object);
}

void collect_causes(const RequestContext& context, const Value& object, NameRule names, std::vector<Cause>& causes) {
  const Strategy& strategy = strategy_of(*context.route);
  validate_object_meta(object["metadata"], context.served().namespaced, names, causes, strategy.finalizers);
  if (strategy.validate) strategy.validate(object, causes);
  add_structural_causes(strategy, object, context.route->storage_type(), causes);
}

bool may_be_removed(const Strategy& strategy, const Value& object, const Value& old) {
  if (!object["metadata"]["finalizers"].empty() || !old["metadata"].has("deletionTimestamp")) return false;
  if (old["metadata"]["deletionGracePeriodSeconds"].integer() > 0) return false;
  return !strategy.holds_deletion || !strategy.holds_deletion(object);
}

Result<store::ObjectPtr> find_current(const RequestContext& context, const store::Snapshot& pending) {
  if (auto current = pending.get(context.key())) return current;
  return fail(not_found_status(context.served().group, context.served().resource, context.info.name));
}

void warn(WriteContext& context, const Value& object, const Value& old) {
  for (auto& warning : warnings_of(context.resource.group, context.resource.resource, context.subresource, object, old))
    context.warnings.push_back(std::move(warning));
}

}  // namespace sublet::apiserver
