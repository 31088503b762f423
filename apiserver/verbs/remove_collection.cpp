#include <mutex>

#include "apiserver/codec/object_filter.h"
#include "apiserver/request/object_key.h"
#include "apiserver/verbs/list_source.h"
#include "apiserver/verbs/read_steps.h"
#include "apiserver/verbs/write_steps.h"
#include "sublet/net/courier.h"

namespace sublet::apiserver {
namespace {

// One deletecollection: as many small transactions as there are objects, answered when the last is durable.
struct Collection {
  ContextPtr context;
  DeleteRequest request;
  ListMeta meta;
  std::vector<store::ObjectPtr> listed;
  std::atomic<std::size_t> open{1};  // submitted and not yet durable, plus one while submitting
  std::mutex mutex;
  std::optional<Status> failure;  // the first, guarded by mutex
};
using CollectionPtr = std::shared_ptr<Collection>;

void answer_collection(Collection& collection) {
  if (collection.failure) return reply_status(*collection.context, *collection.failure);
  Output output = collection.context->output;
  if (output.form == Form::partial) output.form = Form::partial_list;
  const ObjectWriter writer(*collection.context->route, output);
  reply_in_steps(
      collection.context, writer.content_type(),
      std::make_unique<ListSource>(collection.context, writer, collection.meta, std::move(collection.listed)));
}

void note_failure(Collection& collection, const Status& status) {
  if (status.is(Reason::not_found)) return;  // gone is what was asked for
  const std::lock_guard lock(collection.mutex);
  if (!collection.failure) collection.failure = status;
}

void finish_one(const CollectionPtr& collection) {
  if (collection->open.fetch_sub(1) != 1) return;
  collection->context->sink->courier()->post([collection] { answer_collection(*collection); });
}

// Prepares and submits the delete of one object; false when a guard failed and it is to be tried again.
bool remove_one(const CollectionPtr& collection, const std::string& key) {
  RequestContext& context = *collection->context;
  const auto pending = context.core->store.pending();
  const auto current = pending.get(key);
  if (!current) return true;
  Write write(context, pending);
  auto plan = plan_delete(write, current, collection->request);
  if (!plan) {
    note_failure(*collection, plan.error());
    return true;
  }
  if (!plan->submit) return true;
  collection->open.fetch_add(1);
  const bool accepted =
      context.core->store.submit(std::move(plan->txn), [collection](const Result<store::Committed>& committed) {
        if (!committed) note_failure(*collection, committed.error());
        finish_one(collection);
      });
  if (!accepted) collection->open.fetch_sub(1);
  return accepted;
}

}  // namespace

void remove_collection(const ContextPtr& context) {
  constexpr int kAttemptsMax = 64;
  auto request = read_delete_request(*context);
  if (!request) return reply_status(*context, request.error());
  auto filter = ObjectFilter::parse(*context->route, context->query);
  if (!filter) return reply_status(*context, filter.error());
  auto collection = std::make_shared<Collection>();
  collection->context = context;
  collection->request = *request;
  const auto snapshot = context->core->store.snapshot();
  collection->meta.revision = snapshot.revision();
  snapshot.scan(key_prefix(context->storage(), context->info.namespace_name), "", [&](const store::ObjectPtr& object) {
    if (filter->matches(*object)) collection->listed.push_back(object);
    return true;
  });
  for (const auto& object : collection->listed)
    for (int attempt = 0; attempt < kAttemptsMax && !remove_one(collection, object->key); ++attempt) {
    }
  finish_one(collection);
}

}  // namespace sublet::apiserver
