
#include "apiserver/admission/admission_hooks.h"
#include "apiserver/codec/object_filter.h"
#include "apiserver/conversion/conversion.h"
#include "apiserver/request/object_key.h"
#include "apiserver/verbs/list_source.h"
#include "apiserver/verbs/placement.h"
#include "apiserver/verbs/read_steps.h"
#include "apiserver/verbs/write_steps.h"
#include "sublet/base/mutex.h"
#include "sublet/net/courier.h"

namespace sublet::apiserver {
namespace {

constexpr int kDeletesPerStep = 32;     // then others have their turn
constexpr std::size_t kOpenMax = 1024;  // submitted and not yet durable: other writers wait behind them
constexpr int kRemovalAttemptsMax = 64;

// One deletecollection: as many small transactions as there are objects, found and submitted in steps on the request's
// loop, answered when the last is durable.
struct Collection {
  Collection(ContextPtr context_, DeleteRequest request_, Selection selection_)
      : context(std::move(context_)), request(std::move(request_)), selection(std::move(selection_)) {}

  const ContextPtr context;
  const DeleteRequest request;
  bool asks_outside = false;
  Selection selection;
  ListMeta meta;
  std::vector<const store::Object*> listed;  // the selection holds them
  std::size_t at = 0;                        // of listed, the next to delete
  std::atomic<std::size_t> open{1};          // submitted and not yet durable, plus one while submitting
  std::atomic<bool> waits{false};            // the next step comes when fewer are open
  Mutex mutex;
  std::optional<Status> failure SUBLET_GUARDED_BY(mutex);  // the first
};
using CollectionPtr = std::shared_ptr<Collection>;

std::optional<Status> first_failure(Collection& collection) {
  const MutexLock lock(collection.mutex);
  return collection.failure;
}

void answer_collection(Collection& collection) {
  if (const auto failure = first_failure(collection)) return reply_status(*collection.context, *failure);
  Output output = collection.context->output;
  if (output.form == Form::partial) output.form = Form::partial_list;
  const ObjectWriter writer(*collection.context->route, output);
  if (collection.context->moved_to == Place::conversions)
    return reply_converted(collection.context, writer, collection.meta, std::move(collection.selection),
                           std::move(collection.listed));
  reply_in_steps(collection.context, writer.content_type(),
                 std::make_unique<ListSource>(collection.context, writer, collection.meta,
                                              std::move(collection.selection), std::move(collection.listed)));
}

void note_failure(Collection& collection, const Status& status) {
  if (status.is(Reason::not_found)) return;  // gone is what was asked for
  const MutexLock lock(collection.mutex);
  if (!collection.failure) collection.failure = status;
}

void take_step(const CollectionPtr& collection);

void step_later(const CollectionPtr& collection) {
  resume_later(collection->context, [collection] { take_step(collection); });
}

void finish_one(const CollectionPtr& collection) {
  const auto before = collection->open.fetch_sub(1);
  if (before <= kOpenMax && collection->waits.exchange(false)) step_later(collection);
  if (before == 1) resume_later(collection->context, [collection] { answer_collection(*collection); });
}

// Prepares and submits the delete of one object; false when a guard failed and it is to be tried again.
bool remove_one(const CollectionPtr& collection, const std::string& key) {
  RequestContext& context = *collection->context;
  auto& state = context.core->store;
  const auto pending = state.pending();
  const auto current = pending.get(key);
  store::Txn
      txn;  // stays empty when the object is being removed: a barrier, so that the answer waits until that is durable
  if (current) {
    Write write(context, pending);
    auto plan = plan_delete(write, current, collection->request);
    if (!plan) {
      note_failure(*collection, plan.error());
      return true;
    }
    if (plan->submit) txn = std::move(plan->txn);
  }
  if (txn.ops.empty() && pending.revision() <= state.snapshot().revision()) return true;
  collection->open.fetch_add(1);
  const bool accepted = state.submit(std::move(txn), [collection](const Result<store::Committed>& committed) {
    if (!committed) note_failure(*collection, committed.error());
    if (committed) collection->context->record_writers(*committed);
    finish_one(collection);
  });
  if (!accepted) collection->open.fetch_sub(1);
  return accepted;
}

void remove_listed(const CollectionPtr& collection, const std::string& key) {
  for (int attempt = 0; attempt < kRemovalAttemptsMax; ++attempt)
    if (remove_one(collection, key)) return;
  note_failure(
      *collection,
      fail(Reason::server_timeout, key + " is being changed too often to be deleted; please try again").value());
}

// Where webhooks are about removals: one object after the other.
void ask_and_remove_one(const CollectionPtr& collection) {
  if (collection->at == collection->listed.size()) return finish_one(collection);
  const std::string key = collection->listed[collection->at++]->key;
  remove_asking(collection->context, key, collection->request, [collection](const Outcome& removed) {
    if (!removed) note_failure(*collection, removed.error());
    step_later(collection);
  });
}

void take_step(const CollectionPtr& collection) {
  auto& listed = collection->listed;
  if (!collection->selection.done()) {
    if (const auto looked_at = collection->selection.step(listed); !looked_at) {
      note_failure(*collection, looked_at.error());
      return finish_one(collection);
    }
  }
  if (!collection->selection.done()) return step_later(collection);
  if (collection->asks_outside) return ask_and_remove_one(collection);
  for (int count = 0; count < kDeletesPerStep && collection->at < listed.size(); ++count, ++collection->at)
    remove_listed(collection, listed[collection->at]->key);
  if (collection->at == listed.size()) return finish_one(collection);
  if (collection->open <= kOpenMax) return step_later(collection);
  collection->waits = true;
  if (collection->open <= kOpenMax && collection->waits.exchange(false)) step_later(collection);
}

void begin(const ContextPtr& context, const ListRequest& listed, const ObjectFilter& filter,
           const DeleteRequest& request) {
  const auto snapshot = snapshot_of_list(*context->core, listed);
  if (!snapshot) return reply_status(*context, snapshot.error());
  Selection selection(*snapshot, key_prefix(context->storage(), context->info.namespace_name), listed.start_after,
                      filter, listed.limit);
  auto collection = std::make_shared<Collection>(context, request, std::move(selection));
  collection->meta.revision = snapshot->revision();
  const auto hooks = context->core->hooks.current();
  collection->asks_outside = hooks && hooks->removals_ask;
  // Admission webhooks may want the objects in a version that only a conversion webhook gives.
  Work work;
  work.needs_webhook = hooks && webhook_conversion_of(*context->route);
  run_placed(context, work, [collection] { take_step(collection); });
}

}  // namespace

void remove_collection(const ContextPtr& context) {
  auto listed = read_list_request(context->query);  // what goes is a list, with all that a list can be asked for
  if (!listed) return reply_status(*context, listed.error());
  auto filter = ObjectFilter::parse(*context->route, context->query);
  if (!filter) return reply_status(*context, filter.error());
  auto request = read_delete_request(*context);
  if (!request) return reply_status(*context, request.error());
  context->dry_run_in_body = request->dry_run;
  when_revision_reached(context, listed->revision,
                        [context, listed = *listed, filter = *filter, request = *request](const Outcome& reached) {
                          if (!reached) return reply_status(*context, reached.error());
                          begin(context, listed, filter, request);
                        });
}

}  // namespace sublet::apiserver
