#include "apiserver/system_objects.h"

#include "apiserver/codec/object_bytes.h"
#include "apiserver/verbs/phases.h"
#include "sublet/apiserver/bootstrap.h"

namespace sublet::apiserver {
namespace {

using schema::Document;
using schema::Value;

// Answers go nowhere: plans are committed directly.
class NullSink final : public net::ResponseSink {
 public:
  void respond(int, net::Headers, std::string) override {}
  void start(int, net::Headers) override {}
  void write(std::shared_ptr<const std::string>) override {}
  void end() override {}
  void abort() override {}
  std::size_t backlog() const override { return 0; }
  bool closed() const override { return false; }
  void on_close(std::function<void()>) override {}
  void on_drain(std::function<void()>) override {}
  const std::shared_ptr<net::Courier>& courier() const override {
    static const std::shared_ptr<net::Courier> none;  // nobody has anything to say to it
    return none;
  }
};

// Objects whose content is the server's own: changed back when it differs.
bool is_ours(const BootstrapObject& object) {
  return object.resource == "endpoints" || object.resource == "endpointslices" ||
         (object.resource == "configmaps" &&
          (object.name == "kube-root-ca.crt" || object.name == "extension-apiserver-authentication"));
}

ContextPtr context_for(const std::shared_ptr<ServerCore>& core, const BootstrapObject& object) {
  net::Request request;
  request.headers.add("User-Agent", "kube-apiserver");  // who manages these objects, as upstream's own do
  auto context = std::make_shared<RequestContext>(core, std::move(request), std::make_shared<NullSink>());
  context->route = context->routes().find(object.group, object.version, object.resource);
  context->info.namespace_name = object.namespace_name;
  context->info.name = object.name;
  context->user = {"system:apiserver", "", {"system:masters"}, {}};
  return context;
}

// What is stored, with our content in place of its own.
Result<Draft> draft_of_repair(const store::ObjectPtr& current, const Value& wanted) {
  auto object = stored_document(*current);
  if (!object) return fail(object.error());
  for (Value member : wanted)
    if (member.key() != "metadata" && member.key() != "kind" && member.key() != "apiVersion")
      object->root().put(member.key(), member);
  return draft_of_change(current, std::move(*object));
}

Result<Plan> plan_system_object(RequestContext& context, const store::Snapshot& pending,
                                const BootstrapObject& object) {
  Write write(context, pending);
  Draft draft;
  if (const auto current = pending.get(context.key())) {
    if (!is_ours(object)) return Plan{};
    auto repair = draft_of_repair(current, object.object.root());
    if (!repair) return fail(repair.error());
    draft = std::move(*repair);
  } else {
    draft.object = object.object.clone();
  }
  return plan_at_once(write, draft);
}

}  // namespace

Outcome create_system_objects(const std::shared_ptr<ServerCore>& core) {
  for (const auto& object : bootstrap_objects(core->options)) {
    const auto context = context_for(core, object);
    if (!context->route) continue;  // a table without that kind
    auto plan = plan_system_object(*context, core->store.pending(), object);
    if (!plan) return fail(plan.error());
    if (!plan->submit) continue;
    // A guard that fails means that somebody else wrote the object just now, so it is there.
    auto committed = core->store.commit(std::move(plan->txn));
    if (!committed && !committed.error().is(Reason::conflict)) return fail(committed.error());
  }
  return {};
}

}  // namespace sublet::apiserver
