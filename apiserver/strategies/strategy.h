// Strategy: the rules of one kind, as one row of functions over documents; everything else is generic. A column of the
// Registry: rows of built-in kinds are constant, a kind made at run time may bring one with state (Hook).
//
// The verbs call a strategy's functions in upstream's order (k8s.io/apiserver registry/rest): create = defaults,
// mutating admission, prepare_create; validation, validating admission; claim_create; update = the same with
// prepare_update (or prepare_status_update) and claim_update. Only the claims write into the Txn. A null function means
// "no rule". A kind with functions of its own has a file in this folder, kinds that differ by facts alone are rows of
// others.cpp, and kinds without a row get the generic one; strategy_of() finds it for a route. Functions are pure
// except for what WriteContext gives them. Threads: any.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/request/route.h"
#include "apiserver/validation/object_meta.h"
#include "apiserver/validation/reported_fields.h"
#include "sublet/apiserver/options.h"
#include "sublet/base/clock.h"
#include "sublet/base/hook.h"
#include "sublet/base/random.h"
#include "sublet/schema/document.h"
#include "sublet/schema/table.h"
#include "sublet/store/store.h"

namespace sublet::apiserver {

class AdmissionHooks;  // admission/admission_hooks.h
class Authorizer;      // authz/authorizer.h
class Query;           // request/request_info.h

/// What a strategy or admission plugin may read and add while a write is prepared.
struct WriteContext {
  const schema::Registry& kinds;  // the request's snapshot
  const schema::ResourceFacts& resource;
  std::string_view namespace_name;  // "" for cluster scope
  std::string_view subresource;
  const User& user;
  const store::Snapshot& pending;  // latest state, accepted writes included
  const ServerOptions& options;
  Clock& clock;
  Random& random;
  bool dry_run = false;
  store::Txn& txn;                     // extra guards and ops (IP allocations, counters), committed with the write
  std::vector<std::string>& warnings;  // Warning headers
  /// The resource as the client named it, when it is another than `resource` (the storage form): events.k8s.io events.
  const schema::ResourceFacts* served = nullptr;
  const Authorizer* authorizer = nullptr;  // null only in tests of a strategy
  std::string_view request_name = {};      // of the URL; "" for a POST
  const AdmissionHooks* hooks = nullptr;   // the tenant's webhooks and policies; null only in tests
  const Query* query = nullptr;            // of the request
  std::string_view request_body = {};      // as it came

  /// A stored object as Document (with apiVersion/kind unset), null when absent: "namespaces", "", "x".
  std::optional<schema::Document> read(std::string_view group_resource, std::string_view namespace_name_,
                                       std::string_view name) const;
};

struct SelectableField {
  std::string_view label;  // "spec.nodeName"
  std::string_view path;   // dotted path in the stored object
  std::string_view when_empty = "";
  std::string_view fallback_path = "";  // read when there is nothing at `path`
};

/// Where a kind keeps what /scale shows: paths of members. Without a selector path, spec.selector selects.
struct ScalePaths {
  std::vector<std::string> spec_replicas{"spec", "replicas"}, status_replicas{"status", "replicas"}, selector{};
};

/// A subresource that shows the object and changes only part of it: pods/resize.
struct View {
  std::string_view subresource;
  Hook<Outcome(WriteContext& context, schema::Value object, const schema::Value& old)> prepare;
  Hook<void(const schema::Value& object, const schema::Value& old, std::vector<Cause>& causes)> validate;
  bool changes_spec = false;  // else what is beside status and metadata is as it was before `prepare` is called
};

struct Strategy {
  std::string_view group, resource;
  NameRule name_rule = NameRule::dns_subdomain;
  FinalizerRule finalizers = FinalizerRule::known_or_qualified;
  bool create_on_update = false;         // PUT of a missing name creates
  bool unconditional_update = true;      // PUT without resourceVersion is allowed
  bool delete_returns_object = false;    // final delete answers with the object instead of a Status
  bool orphans_by_default = false;       // a delete without a policy orphans what the object owns
  std::string_view orphan_warning = "";  // what it then warns of
  bool generation = false;               // metadata.generation 1 at create, +1 when spec changes
  bool says_version = false;             // objects are stored with their apiVersion, which may be an older one
  bool is_slow_to_validate = false;      // its writes run on workers, not on the loop (verbs/placement.h)
  Hook<void(schema::Value object)> defaults;
  Hook<Outcome(WriteContext& context, schema::Value object)> prepare_create;
  Hook<Outcome(WriteContext& context, schema::Value object, const schema::Value& old)> prepare_update;
  /// What must be claimed in the same Txn (addresses, ports): after validation, and again with every Txn that is tried.
  Hook<Outcome(WriteContext& context, schema::Value object)> claim_create;
  Hook<Outcome(WriteContext& context, schema::Value object, const schema::Value& old)> claim_update;
  Hook<Outcome(WriteContext& context, schema::Value object, const schema::Value& old)> prepare_status_update;
  Hook<void(const schema::Value& object, std::vector<Cause>& causes)> validate;         // create and update
  Hook<void(const schema::Value& object, std::vector<Cause>& causes)> validate_create;  // after that
  /// Returns true if upstream does not validate the field (its path as in causes) of such an object, so that the errors
  /// of the schema are not reported either. Called for errors only.
  Hook<bool(const schema::Value& object, std::string_view field)> is_skipped;
  /// The same for whole places that depend on the object; called once for it.
  Hook<void(const schema::Value& object, ReportedFields& reported)> skip_places;
  /// As validate_create, for rules that depend on more than the object.
  Hook<void(WriteContext& context, const schema::Value& object, std::vector<Cause>& causes)> judge_create;
  Hook<void(const schema::Value& object, const schema::Value& old, std::vector<Cause>& causes)> validate_update;
  Hook<void(const schema::Value& object, const schema::Value& old, std::vector<Cause>& causes)> validate_status_update;
  /// After validate_update or validate_status_update; may also warn.
  Hook<void(WriteContext& context, const schema::Value& object, const schema::Value& old, std::vector<Cause>& causes)>
      judge_update;
  std::vector<View> views = {};  // beyond /status, /scale and /finalize
  /// Grace in seconds for a delete, 0 for at once; null: the kind has no graceful deletion.
  Hook<std::int64_t(const schema::Value& object, std::optional<std::int64_t> requested)> grace_seconds;
  /// Something beyond metadata.finalizers still holds the object (Namespace: spec.finalizers): a delete only marks it,
  /// and the update that lets go removes it.
  Hook<bool(const schema::Value& object)> holds_deletion;
  /// Called when a delete marks the object (metadata.deletionTimestamp is set): Namespace turns Terminating.
  Hook<void(schema::Value object)> mark_deleting;
  /// Called when the object is really removed (releases IP allocations and the like).
  Hook<void(WriteContext& context, const schema::Value& object)> on_removed;
  std::vector<SelectableField> selectable_fields = {};  // beyond metadata.name and metadata.namespace
  /// Whether what a served version needs is compiled (a custom resource's schemas), and compiling it, which a worker
  /// does. Null: nothing to compile.
  Hook<bool(std::string_view version)> ready;
  Hook<void(std::string_view version)> make_ready;
  /// Of /scale, in a served version; null: where the workloads have it.
  Hook<const ScalePaths*(std::string_view version)> scale_paths;

  /// The row of a built-in resource, by its storage form; the generic row for kinds without one, another for kinds made
  /// at run time without a Strategy of their own.
  static const Strategy* row_of(const schema::ResourceFacts& facts);
};

/// A warning that every answer of a served version carries, because the version is deprecated; a column of the
/// Registry.
struct VersionWarning {
  std::string text;
  /// Null: the version is not deprecated.
  static const VersionWarning* row_of(const schema::ResourceFacts& facts);
};

/// The strategy of the route's resource, in its storage form.
inline const Strategy& strategy_of(const Route& route) { return *route.kinds->entry<Strategy>(*route.storage); }

/// The steps of an update that depend on the endpoint: null ones included.
struct UpdateSteps {
  Hook<Outcome(WriteContext& context, schema::Value object, const schema::Value& old)> prepare;
  Hook<void(const schema::Value& object, const schema::Value& old, std::vector<Cause>& causes)> validate;
  Hook<Outcome(WriteContext& context, schema::Value object, const schema::Value& old)> claim = nullptr;
};
UpdateSteps update_steps(const Strategy& strategy, std::string_view subresource);
/// Null: the kind has no view of that name.
const View* find_view(const Strategy& strategy, std::string_view subresource);

/// Adds the errors of the table of types that neither `causes` nor the kind report.
void add_structural_causes(const Strategy& strategy, const schema::Value& object, schema::Type type,
                           std::vector<Cause>& causes);

/// The row of a built-in resource; the generic row for kinds without one. `group` and `resource` of the storage form.
const Strategy& strategy_for(std::string_view group, std::string_view resource);
/// The strategy of kinds made at run time; their own strategies begin as a copy of it.
const Strategy& custom_strategy();

}  // namespace sublet::apiserver
