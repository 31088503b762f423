// WriteSteps: shared steps of create, update, patch and delete.
//
// Objects here are Documents of the storage version. All functions are pure but for what WriteContext hands in.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "apiserver/codec/object_bytes.h"
#include "apiserver/codec/request_body.h"
#include "apiserver/verbs/verb.h"

namespace sublet::apiserver {

/// Everything a write's function needs while it runs: the Txn and the view that strategies and plugins get.
struct Write {
  Write(RequestContext& request_, const store::Snapshot& pending_);
  RequestContext& request;
  const store::Snapshot& pending;
  store::Txn txn;
  WriteContext context;

  /// Adds the guard and the op of the object itself; the answer will be that op's object. What does not differ from
  /// `current` is kept; a dry run stores nothing. `object` is changed (make_put).
  Result<Plan> put(int code, std::string key, const store::ObjectPtr& current, schema::Value object);
  /// An object as it is stored: make_put(), of what somebody else may have to convert first.
  Result<store::Put> stored_form(schema::Value object, StoredVersion version = StoredVersion::hole);
  /// The object goes away; watchers and the answer see `last_state`.
  Plan erase(const store::ObjectPtr& current, std::optional<store::Put> last_state);
  /// Answers with what is stored, once that is durable.
  Plan keep(const store::ObjectPtr& current);
};

/// fieldManager, dryRun and fieldValidation of a write's query; `kind` names the options in errors ("CreateOptions").
/// `causes`: what else is wrong with them.
Result<FieldValidation> check_write_options(const RequestContext& context, std::string_view kind,
                                            std::vector<Cause> causes = {});

/// What is wrong with the values of dryRun, together; nothing: each is "All".
void check_dry_run(const std::vector<std::string_view>& values, std::vector<Cause>& causes);

/// Returns true for `managedFields: []`, which asks to remove all managers. Go's form of the object has no empty list,
/// so this is read before decoding; clear_managed_fields() then writes the equivalent `[{}]`.
bool clears_managed_fields(const schema::Value& object);
void clear_managed_fields(schema::Value object);

/// The request's body as the served kind, brought into the storage version.
Result<schema::Document> decode_object(RequestContext& context, FieldValidation validation);
/// The body of a write for each draft that is made of it: the first takes it, a further one (seldom) decodes it again.
class DraftBody {
 public:
  DraftBody(schema::Document decoded, FieldValidation validation)
      : decoded_(std::move(decoded)), validation_(validation) {}
  Result<schema::Document> take(RequestContext& context);

 private:
  std::optional<schema::Document> decoded_;
  const FieldValidation validation_;
};
/// The same for a body of another kind (Binding, TokenRequest).
ExpectedKind expected_kind(const Route& route);
/// Brings an object of the served version into the storage version in place.
void to_storage(const Route& route, schema::Value object);

/// Name and namespace of the body against the URL's.
Outcome match_url(const RequestContext& context, schema::Value object);

// Metadata that the server owns.
void begin_metadata(Write& write, schema::Value object);
/// uid and creationTimestamp of what is made: after mutating admission, as upstream.
void identify(Write& write, schema::Value object);
/// Gives a name to an object that asks for one; false: it has one already.
bool generate_name(Write& write, schema::Value object);
void keep_metadata(schema::Value object, const schema::Value& old);

/// Table defaults, then the strategy's.
void apply_defaults(const RequestContext& context, schema::Value object);
/// Everything that is wrong with an object. The kind's own rules speak first, in upstream's order and words; the
/// schema adds what they left unsaid.
void collect_causes(const RequestContext& context, const schema::Value& object, NameRule names,
                    std::vector<Cause>& causes);

/// Adds upstream's warnings about a valid object (validation/warnings.h); `old` is missing for a create.
void warn(WriteContext& context, const schema::Value& object, const schema::Value& old);

/// What a DELETE asks for, from body or query.
struct DeleteRequest {
  std::optional<std::int64_t> grace_seconds;
  std::string propagation_policy;
  std::optional<bool> orphan_dependents;
  std::optional<std::string> uid, resource_version;  // preconditions
  bool dry_run = false;
};
Result<DeleteRequest> read_delete_request(RequestContext& context);
Result<DeleteRequest> delete_request_of(const schema::Value& options);
/// The removal of one object of a collection, by itself, with calls outside: `done` instead of an answer.
void remove_asking(const ContextPtr& context, std::string key, const DeleteRequest& request,
                   std::function<void(Outcome)> done);
Result<Plan> plan_delete(Write& write, const store::ObjectPtr& current, const DeleteRequest& request);
/// The same for an object that the request has changed first (`changed`, of which `current` is the stored state): the
/// change is stored with the deletion, whatever becomes of it.
Result<Plan> plan_delete_of(Write& write, const store::ObjectPtr& current, schema::Value changed,
                            const DeleteRequest& request);

/// Whether nothing holds an object any more that was asked to go.
bool may_be_removed(const Strategy& strategy, const schema::Value& object, const schema::Value& old);
/// The object under the request's key, or not_found.
Result<store::ObjectPtr> find_current(const RequestContext& context, const store::Snapshot& pending);

}  // namespace sublet::apiserver
