#include <algorithm>

#include "apiserver/admission/admission.h"
#include "apiserver/codec/object_bytes.h"
#include "apiserver/verbs/phases.h"
#include "apiserver/verbs/read_steps.h"
#include "sublet/base/status_json.h"
#include "sublet/schema/registry.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

constexpr std::string_view kDeleteOptions = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions";
constexpr std::string_view kOrphanFinalizer = "orphan";
constexpr std::string_view kForegroundFinalizer = "foregroundDeletion";
constexpr std::string_view kOwnsNothing = "events";                     // they have no dependents
constexpr std::string_view kOwnsItsKind = "customresourcedefinitions";  // which go first, whatever is asked

struct PolicyFacts {
  std::string_view policy, finalizer;
};
constexpr PolicyFacts kPropagationPolicies[] = {
    {"", ""}, {"Background", ""}, {"Foreground", kForegroundFinalizer}, {"Orphan", kOrphanFinalizer}};

bool is_policy(std::string_view text) {
  for (const auto& facts : kPropagationPolicies)
    if (facts.policy == text) return true;
  return false;
}

Status invalid_options(std::vector<Cause> causes) {
  return invalid_status("meta.k8s.io", "DeleteOptions", "", std::move(causes));
}

Outcome check_request(const DeleteRequest& request) {
  std::vector<Cause> causes;
  if (request.orphan_dependents && !request.propagation_policy.empty())
    causes.push_back({"FieldValueInvalid",
                      "Invalid value: \"" + request.propagation_policy +
                          "\": orphanDependents and deletionPropagation cannot be both set",
                      "propagationPolicy"});
  if (!is_policy(request.propagation_policy))
    causes.push_back({"FieldValueNotSupported",
                      "Unsupported value: \"" + request.propagation_policy +
                          "\": supported values: \"Foreground\", \"Background\", \"Orphan\", \"nil\"",
                      "propagationPolicy"});
  if (causes.empty()) return {};
  return fail(invalid_options(std::move(causes)));
}

Result<DeleteRequest> request_from_query(const RequestContext& context) {
  DeleteRequest request;
  if (const auto grace = context.query.find("gracePeriodSeconds")) {
    const auto seconds = parse_query_integer(*grace);
    if (!seconds) return fail(seconds.error());
    request.grace_seconds = *seconds;
  }
  request.propagation_policy = context.query.get("propagationPolicy");
  if (context.query.find("orphanDependents")) request.orphan_dependents = context.query.flag("orphanDependents");
  return request;
}

// The garbage collection finalizer that the deletion asks for; when nothing is said the object's own one counts, and
// then the kind's habit.
std::string_view collection_finalizer(const Strategy& strategy, const DeleteRequest& request, const Value& object) {
  if (strategy.resource == kOwnsNothing) return {};
  if (strategy.resource == kOwnsItsKind && strategy.holds_deletion(object)) return {};
  // Upstream's namespaces, which have a way of their own to go, take "no orphans" for the foreground.
  if (request.orphan_dependents && !*request.orphan_dependents && strategy.holds_deletion &&
      strategy.holds_deletion(object))
    return kForegroundFinalizer;
  if (request.orphan_dependents) return *request.orphan_dependents ? kOrphanFinalizer : std::string_view();
  if (!request.propagation_policy.empty())
    for (const auto& facts : kPropagationPolicies)
      if (facts.policy == request.propagation_policy) return facts.finalizer;
  for (Value finalizer : object["metadata"]["finalizers"])
    if (finalizer.text() == kOrphanFinalizer || finalizer.text() == kForegroundFinalizer) return finalizer.text();
  return strategy.orphans_by_default ? kOrphanFinalizer : std::string_view();
}

// Replaces the collection finalizers by the asked one.
void set_collection_finalizer(Value object, std::string_view wanted) {
  Value meta = object["metadata"];
  const std::string keep(wanted);  // may point into the list that changes
  if (meta.has("finalizers"))
    meta["finalizers"].retain(
        [](const Value& item) { return item.text() != kOrphanFinalizer && item.text() != kForegroundFinalizer; });
  if (!keep.empty()) meta.array("finalizers").push(keep);
  if (meta["finalizers"].empty()) meta.erase("finalizers");
}

enum class Grace { none, shortened, running };

void set_deletion(Value meta, WallTime at, std::int64_t grace) {
  meta.put("deletionTimestamp", format_time(at));
  meta.put("deletionGracePeriodSeconds", grace);
}

void bump_generation(Value meta) {
  if (const auto generation = meta["generation"].integer(); generation > 0) meta.put("generation", generation + 1);
}

// A grace period that already runs can only be shortened.
Grace shorten_grace(Value meta, std::optional<std::int64_t> requested) {
  if (!meta.has("deletionGracePeriodSeconds")) return Grace::none;
  const std::int64_t running = meta["deletionGracePeriodSeconds"].integer();
  if (running == 0) return Grace::none;  // it is over: what holds the object is all that counts
  const auto deadline = parse_time(meta["deletionTimestamp"].text());
  if (!requested || *requested >= running || !deadline) return Grace::running;
  const std::int64_t grace = *requested < 0 ? 1 : *requested;
  set_deletion(meta, *deadline - std::chrono::seconds(running) + std::chrono::seconds(grace), grace);
  return Grace::shortened;
}

Grace begin_grace(Write& write, Value object, std::optional<std::int64_t> requested) {
  const auto grace_seconds = strategy_of(*write.request.route).grace_seconds;
  Value meta = object["metadata"];
  if (meta.has("deletionTimestamp")) return grace_seconds ? shorten_grace(meta, requested) : Grace::none;
  if (!grace_seconds) return Grace::none;
  std::int64_t grace = grace_seconds(object, requested);
  if (grace < 0) grace = 1;
  set_deletion(meta, write.context.clock.now() + std::chrono::seconds(grace), grace);
  bump_generation(meta);
  return Grace::shortened;
}

// Something still holds the object: it stays, marked.
void mark_deleted(Write& write, Value object) {
  Value meta = object["metadata"];
  const WallTime now = write.context.clock.now();
  const auto& holds = strategy_of(*write.request.route).holds_deletion;
  // What holds its own deletion (a namespace) has a way of ending and no grace period.
  const bool own_way = holds && holds(object);
  if (!holds && !meta.has("deletionGracePeriodSeconds")) bump_generation(meta);
  const auto deadline = parse_time(meta["deletionTimestamp"].text());
  if (!deadline || *deadline > now) meta.put("deletionTimestamp", format_time(now));
  if (!own_way) meta.put("deletionGracePeriodSeconds", 0);
}

Outcome check_delete_preconditions(const RequestContext& context, const store::Object& current,
                                   const DeleteRequest& request) {
  const auto& served = context.served();
  const auto conflict = [&](const std::string& what, const std::string& sent, const std::string& stored,
                            std::string_view happened) {
    // Of what goes in its own way (namespaces, definitions) upstream speaks as of an update's.
    if (strategy_of(*context.route).holds_deletion)
      return fail(conflict_status(
          served.group, served.resource, name_of_key(current.key),
          "Precondition failed: " + what + " in precondition: " + sent + ", " + what + " in object meta: " + stored));
    // Otherwise it names the kind here where other conflicts name the resource.
    return fail(conflict_status(served.group, served.kind, name_of_key(current.key),
                                "the " + what + " in the precondition (" + sent + ") does not match the " + what +
                                    " in record (" + stored + "). The object might have been " +
                                    std::string(happened)));
  };
  if (request.uid && *request.uid != current.index.uid)
    return conflict("UID", *request.uid, current.index.uid.str(), "deleted and then recreated");
  const std::string version = std::to_string(current.revision);
  if (request.resource_version && *request.resource_version != version)
    return conflict("ResourceVersion", *request.resource_version, version, "modified");
  return {};
}

// A final delete answers with a Status, or the last object for the kinds that say so.
void answer_removed(const RequestContext& context, const store::Object& current, Plan& plan) {
  if (strategy_of(*context.route).delete_returns_object) return;
  plan.answer.op.reset();
  plan.answer.object.reset();
  plan.answer.json = success_json(context.served().group, context.served().resource, name_of_key(current.key),
                                  current.index.uid.str());
}

Result<Plan> remove_now(Write& write, const store::ObjectPtr& current, Value object) {
  const Strategy& strategy = strategy_of(*write.request.route);
  if (strategy.on_removed) strategy.on_removed(write.context, object);
  auto put = write.stored_form(object);
  if (!put) return fail(put.error());
  Plan plan = write.erase(current, std::move(*put));
  answer_removed(write.request, *current, plan);
  return plan;
}

// Once, however many go.
void warn_of_orphans(RequestContext& context, const Strategy& strategy) {
  auto& warnings = context.warnings;
  if (strategy.orphan_warning.empty() ||
      std::find(warnings.begin(), warnings.end(), strategy.orphan_warning) != warnings.end())
    return;
  warnings.emplace_back(strategy.orphan_warning);
}

// What a removal does once nothing forbids it. `object` is changed.
Result<Plan> plan_removal(Write& write, const store::ObjectPtr& current, Value object, const DeleteRequest& request) {
  RequestContext& context = write.request;
  const Strategy& strategy = strategy_of(*context.route);
  // It goes already, and in its own way: a further delete says nothing new.
  if (strategy.holds_deletion && object["metadata"].has("deletionTimestamp") && strategy.holds_deletion(object))
    return write.keep(current);
  const Grace grace = begin_grace(write, object, request.grace_seconds);
  if (grace == Grace::running) return write.keep(current);
  if (request.propagation_policy.empty() && !request.orphan_dependents) warn_of_orphans(context, strategy);
  const std::string finalizer(collection_finalizer(strategy, request, object));
  set_collection_finalizer(object, finalizer);
  const bool held =
      !object["metadata"]["finalizers"].empty() || (strategy.holds_deletion && strategy.holds_deletion(object));
  if (held && grace == Grace::none) mark_deleted(write, object);
  const bool waits = grace == Grace::shortened && object["metadata"]["deletionGracePeriodSeconds"].integer() > 0;
  if (!held && !waits) return remove_now(write, current, object);
  if (strategy.mark_deleting) strategy.mark_deleting(object);
  const int code = request.orphan_dependents && !*request.orphan_dependents ? 202 : 200;
  return write.put(code, current->key, current, object);
}

class RemoveRun : public WriteRun {
 public:
  RemoveRun(const ContextPtr& context, DeleteRequest request) : WriteRun(context), request_(std::move(request)) {}

 private:
  virtual Result<store::ObjectPtr> find(Write& write) { return find_current(write.request, write.pending); }

  Result<Draft> draft(Write& write) override {
    auto current = find(write);
    if (!current) return fail(current.error());
    if (auto allowed = check_delete_preconditions(write.request, **current, request_); !allowed)
      return fail(allowed.error());
    auto old = working_document(**current, *write.request.route);
    if (!old) return fail(old.error());
    Draft draft;
    draft.verb = WriteVerb::remove;
    draft.current = std::move(*current);
    draft.old = std::move(*old);
    return draft;
  }

  Result<Plan> plan(Write& write, Draft& draft) override {
    if (draft.spent) {
      auto again = working_document(*draft.current, *write.request.route);
      if (!again) return fail(again.error());
      draft.old = std::move(*again);
    }
    draft.spent = true;
    write.context.dry_run = write.context.dry_run || request_.dry_run;
    return plan_removal(write, draft.current, draft.old.root(), request_);
  }
  const DeleteRequest request_;
};

class RemoveOfCollection final : public RemoveRun {
 public:
  RemoveOfCollection(const ContextPtr& context, std::string key, const DeleteRequest& request,
                     std::function<void(Outcome)> done)
      : RemoveRun(context, request), key_(std::move(key)), done_(std::move(done)) {}

 private:
  Result<store::ObjectPtr> find(Write& write) override {
    if (auto current = write.pending.get(key_)) return current;
    const auto& served = write.request.served();
    return fail(not_found_status(served.group, served.resource, name_of_key(key_)));
  }
  void finish(const Result<Answer>& answer) override { done_(answer ? Outcome() : fail(answer.error())); }

  const std::string key_;
  const std::function<void(Outcome)> done_;
};

}  // namespace

void remove_asking(const ContextPtr& context, std::string key, const DeleteRequest& request,
                   std::function<void(Outcome)> done) {
  std::make_shared<RemoveOfCollection>(context, std::move(key), request, std::move(done))->start();
}

Result<DeleteRequest> delete_request_of(const Value& options) {
  DeleteRequest request;
  if (options.has("gracePeriodSeconds")) request.grace_seconds = options["gracePeriodSeconds"].integer();
  request.propagation_policy = options["propagationPolicy"].string();
  if (options.has("orphanDependents")) request.orphan_dependents = options["orphanDependents"].boolean();
  const Value preconditions = options["preconditions"];
  if (preconditions.has("uid")) request.uid = preconditions["uid"].string();
  if (preconditions.has("resourceVersion")) request.resource_version = preconditions["resourceVersion"].string();
  std::vector<std::string_view> dry_run;
  for (Value value : options["dryRun"]) dry_run.push_back(value.text());
  std::vector<Cause> causes;
  check_dry_run(dry_run, causes);
  if (!causes.empty()) return fail(invalid_options(std::move(causes)));
  request.dry_run = !dry_run.empty();
  if (auto valid = check_request(request); !valid) return fail(valid.error());
  return request;
}

Result<DeleteRequest> read_delete_request(RequestContext& context) {
  std::vector<Cause> causes;
  check_dry_run(context.query.all("dryRun"), causes);
  if (!causes.empty()) return fail(invalid_options(std::move(causes)));
  if (context.request.body.empty()) {
    auto request = request_from_query(context);
    if (!request) return request;
    request->dry_run = context.dry_run();
    if (auto valid = check_request(*request); !valid) return fail(valid.error());
    return request;
  }
  const ExpectedKind expected{"", "v1", "DeleteOptions", context.kinds->find_type(kDeleteOptions), true};
  auto options = decode_body({context.request.headers.get("Content-Type"), context.request.body}, expected,
                             FieldValidation::ignore, context.warnings);
  if (!options) return fail(options.error());
  auto request = delete_request_of(options->root());
  if (request) request->dry_run = request->dry_run || context.dry_run();
  return request;
}

Result<Plan> plan_delete(Write& write, const store::ObjectPtr& current, const DeleteRequest& request) {
  auto document = working_document(*current, *write.request.route);
  if (!document) return fail(document.error());
  return plan_delete_of(write, current, document->root(), request);
}

Result<Plan> plan_delete_of(Write& write, const store::ObjectPtr& current, Value changed,
                            const DeleteRequest& request) {
  write.context.dry_run = write.context.dry_run || request.dry_run;
  if (auto allowed = check_delete_preconditions(write.request, *current, request); !allowed)
    return fail(allowed.error());
  if (auto admitted = admit_validating(write.context, WriteVerb::remove, Value(), changed); !admitted)
    return fail(admitted.error());
  auto plan = plan_removal(write, current, changed, request);
  const bool is_kept = plan && !plan->submit && !write.context.dry_run;
  return is_kept ? write.put(plan->answer.code, current->key, current, changed) : std::move(plan);
}

void remove_object(const ContextPtr& context) {
  auto request = read_delete_request(*context);
  if (!request) return reply_status(*context, request.error());
  context->dry_run_in_body = request->dry_run;
  std::make_shared<RemoveRun>(context, std::move(*request))->start();
}

}  // namespace sublet::apiserver
