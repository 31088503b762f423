#include "apiserver/verbs/host_address.h"

#include "apiserver/codec/object_bytes.h"
#include "apiserver/strategies/service_allocation.h"
#include "apiserver/watch/watch_hub.h"
#include "sublet/net/courier.h"

namespace sublet::apiserver {
namespace {

bool lacks_addresses(const store::Object& service) {
  const auto document = stored_document(service);
  return document && lacks_host_addresses(document->root());
}

// The object is looked at whenever something happens to it.
class Await final : public WatchSession, public std::enable_shared_from_this<Await> {
 public:
  Await(ContextPtr context, Answer answer, std::function<void(Answer)> then)
      : context_(std::move(context)), key_(answer.object->key), answer_(std::move(answer)), then_(std::move(then)) {}

  void start() {
    auto& core = *context_->core;
    timer_ = core.loop.after(core.options.service_address_wait, [self = shared_from_this()] {
      self->context_->warnings.emplace_back("the host has not given this Service its address yet; it comes by itself");
      self->finish();
    });
    core.watches.add(shared_from_this(), key_);
  }

  void run(FrameCache&) override {
    if (done_) return;
    const store::Snapshot now = context_->core->store.snapshot();
    if (!std::exchange(live_, true)) context_->core->watches.went_live(now.revision());
    look(now.get(key_));
  }

  void deliver(const std::vector<store::EventPtr>& events, store::Revision, store::Revision, FrameCache&) override {
    for (const auto& event : events)
      if (!done_ && event->object->key == key_)
        look(event->type == store::Event::Type::deleted ? nullptr : event->object);
  }

  void fall_behind() override {}
  void finish_after(store::Revision) override { finish(); }

  void finish() override {
    if (std::exchange(done_, true)) return;
    const auto self = shared_from_this();
    auto& core = *context_->core;
    core.loop.cancel(timer_);
    core.watches.remove(this, key_);
    if (live_) core.watches.left_live();
    context_->sink->courier()->post([self] { std::exchange(self->then_, nullptr)(std::move(self->answer_)); });
  }

 private:
  // A Service that was deleted or recreated meanwhile is answered as written.
  void look(const store::ObjectPtr& now) {
    if (!now || now->create_revision != answer_.object->create_revision) return finish();
    if (lacks_addresses(*now)) return;
    answer_.object = now;
    finish();
  }

  const ContextPtr context_;
  const std::string key_;
  Answer answer_;
  std::function<void(Answer)> then_;
  net::Loop::TimerId timer_ = 0;
  bool live_ = false, done_ = false;
};

}  // namespace

bool awaits_host_address(const RequestContext& context, const Answer& answer) {
  const ServerOptions& options = context.core->options;
  if (!options.service_addresses_of_host || !answer.object || answer.view) return false;
  const auto& resource = context.storage();
  const bool writes =
      context.info.verb == Verb::create || context.info.verb == Verb::update || context.info.verb == Verb::patch;
  if (resource.resource != "services" || !resource.group.empty() || !writes || !context.info.subresource.empty())
    return false;
  return context.user.name != options.unix_socket_user && lacks_addresses(*answer.object);
}

void await_host_address(const ContextPtr& context, Answer answer, std::function<void(Answer answer)> then) {
  // The hub is the loop's; a serving thread of its own may be the request's.
  context->core->loop.post(
      [wait = std::make_shared<Await>(context, std::move(answer), std::move(then))] { wait->start(); });
}

}  // namespace sublet::apiserver
