#include "apiserver/filters/flow.h"

#include <algorithm>
#include <charconv>
#include <climits>
#include <utility>

#include "apiserver/authz/request_attributes.h"
#include "apiserver/flowcontrol/flow_control.h"
#include "apiserver/request/object_key.h"
#include "apiserver/verbs/verb.h"
#include "sublet/net/courier.h"

namespace sublet::apiserver {
namespace {

constexpr std::string_view kLongRunning[] = {"attach", "exec", "log", "portforward", "proxy"};
constexpr std::size_t kBytesPerSeat = 100'000;
constexpr std::size_t kSampled = 8;  // objects whose size says what the others' may be
constexpr int kWaitPart = 4;         // of the time that a request may take, for its seats

bool takes_a_seat(const RequestInfo& info) {
  return !info.is_resource || std::ranges::find(kLongRunning, info.subresource) == std::end(kLongRunning);
}

// A watch that says from where does not begin with what there is.
bool reads_many(const RequestContext& context, const Attributes& attributes) {
  const auto verb = context.info.verb;
  if (!attributes.is_resource || !attributes.name.empty() || !context.info.subresource.empty()) return false;
  if (verb == Verb::list) return true;
  if (verb != Verb::watch) return false;
  const auto version = context.query.get("resourceVersion");
  return version.empty() || version == "0" || context.query.flag("sendInitialEvents");
}

std::size_t most_objects(const RequestContext& context) {
  const auto text = context.query.get("limit");
  std::size_t limit = 0;
  std::from_chars(text.data(), text.data() + text.size(), limit);
  return limit > 0 ? limit : SIZE_MAX;
}

/// How many seats a list is as wide as: by the bytes that have to be written, which is what it costs the loops.
/// (Upstream counts those that it keeps in memory, a MiB at most; here a list keeps next to none.)
unsigned width_of(const RequestContext& context, const Attributes& attributes, const Flow& flow) {
  if (!reads_many(context, attributes)) return 1;
  const auto* route = context.routes().find(context.info.group, context.info.version, context.info.resource);
  if (!route) return 1;
  const auto snapshot = context.core->store.snapshot();
  const auto prefix = key_prefix(*route->storage, context.info.namespace_name);
  const auto count = std::min(snapshot.count(prefix), most_objects(context));
  if (count == 0) return 1;
  std::size_t sampled = 0, bytes = 0;
  snapshot.scan(prefix, {}, [&](const store::ObjectPtr& object) {
    bytes += object->bytes.size();
    return ++sampled < kSampled;
  });
  const auto wide = count * (bytes / std::max<std::size_t>(sampled, 1)) / kBytesPerSeat + 1;
  const auto seats = static_cast<unsigned>(std::min<std::size_t>(wide, UINT_MAX));
  return std::clamp(seats, 1u, context.core->flow_control.widest(flow));
}

void refuse_too_many(RequestContext& context, const Flow& flow) {
  net::Headers headers = context.headers("text/plain; charset=utf-8");
  headers.add("Retry-After", std::to_string(context.core->flow_control.retry_after(flow)));
  headers.add("X-Content-Type-Options", "nosniff");
  constexpr int kCode = 429;
  context.record(kCode);
  context.sink->respond(kCode, std::move(headers), "Too many requests, please try again later.\n");
}

class Parked final : public ParkedRequest, public std::enable_shared_from_this<Parked> {
 public:
  Parked(ContextPtr context, std::shared_ptr<const Flow> sorted, void (*next)(const ContextPtr&))
      : context_(std::move(context)), flow_(std::move(sorted)), next_(next) {}

  void wait(unsigned width, std::uint64_t flow_value) {
    const auto self = shared_from_this();
    const auto limit = context_->core->options.request_timeout / kWaitPart;
    timer_ = context_->sink->courier()->after(limit, [core = context_->core, weak = weak_from_this()] {
      if (const auto waiting = weak.lock()) core->flow_control.give_up(waiting);
    });
    context_->core->flow_control.park(*flow_, width, flow_value, context_->seat, self);
  }

  void resume() override {
    const auto courier = context_->sink->courier();
    courier->post([self = shared_from_this()] {
      self->context_->sink->courier()->cancel(self->timer_);
      if (!self->context_->sink->closed()) self->next_(self->context_);
    });
  }

  void refuse(Refusal why) override {
    context_->sink->courier()->cancel(timer_);
    if (why != Refusal::stopping) return refuse_too_many(*context_, *flow_);
    Status status;
    status.reason = Reason::service_unavailable;
    status.message = "the server is shutting down";
    status.retry_after_seconds = 1;
    reply_status(*context_, status);
  }

 private:
  const ContextPtr context_;
  const std::shared_ptr<const Flow> flow_;
  void (*const next_)(const ContextPtr&);
  net::Loop::TimerId timer_ = 0;
};

}  // namespace

void with_seat(const ContextPtr& context, void (*next)(const ContextPtr& context)) {
  const Attributes attributes = attributes_of(*context);
  FlowControl& control = context->core->flow_control;
  if (!takes_a_seat(context->info)) return next(context);
  const auto flow = control.classify(attributes);
  context->flow = flow;
  const bool limited = !flow->exempt;
  const unsigned seats = limited ? width_of(*context, attributes, *flow) : 1;
  const std::uint64_t flow_value = flow->schema->flow_of(attributes);
  if (control.enter(*flow, seats, flow_value, context->seat)) return next(context);
  std::make_shared<Parked>(context, flow, next)->wait(seats, flow_value);
}

}  // namespace sublet::apiserver
