#include "apiserver/codec/object_filter.h"
#include "apiserver/codec/object_writer.h"
#include "apiserver/request/object_key.h"
#include "apiserver/verbs/read_steps.h"

namespace sublet::apiserver {
namespace {

constexpr std::string_view kTokenTooOld =
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list.";
constexpr std::string_view kVersionTooOld = "The resourceVersion for the provided list is too old.";

struct Page {
  std::vector<store::ObjectPtr> objects;
  bool more = false;  // another match stands behind the page
};

Page read_page(const store::Snapshot& snapshot, std::string_view prefix, const ListRequest& request,
               const ObjectFilter& filter) {
  Page page;
  if (const auto name = filter.name(); name && prefix.find('/') != prefix.rfind('/')) {
    auto object = snapshot.get(std::string(prefix) + std::string(*name));
    if (object && filter.matches(*object)) page.objects.push_back(std::move(object));
    return page;
  }
  const std::string start = request.start_after.empty() ? std::string() : std::string(prefix) + request.start_after;
  const bool all = filter.everything();
  snapshot.scan(prefix, start, [&](const store::ObjectPtr& object) {
    if (!all && !filter.matches(*object)) return true;
    if (request.limit > 0 && page.objects.size() == static_cast<std::size_t>(request.limit)) {
      page.more = true;
      return false;
    }
    page.objects.push_back(object);
    return true;
  });
  return page;
}

std::int64_t count_behind(const store::Snapshot& snapshot, std::string_view prefix, std::string_view key) {
  std::int64_t count = 0;
  snapshot.scan(prefix, key, [&](const store::ObjectPtr&) {
    ++count;
    return true;
  });
  return count;
}

Status expired_status(const ListRequest& request) {
  Status status;
  status.reason = Reason::expired;
  status.message = request.continued ? kTokenTooOld : kVersionTooOld;
  if (request.continued) status.continue_token = encode_continue({-1, request.start_after});
  return status;
}

Result<store::Snapshot> snapshot_for(const ServerCore& core, const ListRequest& request) {
  if (!request.exact) return core.store.snapshot();
  auto snapshot = core.store.snapshot_at(request.revision);
  if (!snapshot && snapshot.error().is(Reason::expired)) return fail(expired_status(request));
  return snapshot;
}

void answer_list(RequestContext& context, const ListRequest& request, const ObjectFilter& filter) {
  auto snapshot = snapshot_for(*context.core, request);
  if (!snapshot) return reply_status(context, snapshot.error());
  const std::string prefix = key_prefix(context.storage(), context.info.namespace_name);
  const Page page = read_page(*snapshot, prefix, request, filter);
  ListMeta meta{.revision = snapshot->revision(), .continue_token = {}, .remaining = std::nullopt};
  if (page.more) {
    const std::string& last = page.objects.back()->key;
    meta.continue_token = encode_continue({snapshot->revision(), last.substr(prefix.size())});
    if (filter.everything()) meta.remaining = count_behind(*snapshot, prefix, last);
  }
  const ObjectWriter writer(*context.route, context.output);
  auto body = writer.list(page.objects, meta, context.core->clock.now());
  if (!body) return reply_status(context, body.error());
  reply_body(context, 200, writer.content_type(), std::move(*body));
}

}  // namespace

void list_objects(const ContextPtr& context) {
  if (auto causes = check_list_options(context->query, false); !causes.empty())
    return reply_status(*context, invalid_status("meta.k8s.io", "ListOptions", "", std::move(causes)));
  auto request = parse_list_request(context->query);
  if (!request) return reply_status(*context, request.error());
  auto filter = ObjectFilter::parse(*context->route, context->query);
  if (!filter) return reply_status(*context, filter.error());
  when_revision_reached(context, request->revision,
                        [context, request = *request, filter = *filter](const Outcome& reached) {
                          if (!reached) return reply_status(*context, reached.error());
                          answer_list(*context, request, filter);
                        });
}

}  // namespace sublet::apiserver
