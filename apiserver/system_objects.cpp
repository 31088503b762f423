#include "apiserver/system_objects.h"

#include "apiserver/authz/bootstrap_rights.h"
#include "apiserver/codec/object_bytes.h"
#include "apiserver/verbs/phases.h"
#include "sublet/apiserver/bootstrap.h"
#include "sublet/apiserver/flow_objects.h"

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
    static const std::shared_ptr<net::Courier> none;  // never used
    return none;
  }
};

// Objects whose content is the server's own: changed back when it differs.
bool is_ours(const BootstrapObject& object) {
  return object.resource == "endpoints" || object.resource == "endpointslices" ||
         (object.resource == "configmaps" &&
          (object.name == "kube-root-ca.crt" || object.name == "extension-apiserver-authentication"));
}

/// `manager`: of these objects, as upstream's own are managed.
ContextPtr context_for(const std::shared_ptr<ServerCore>& core, const BootstrapObject& object,
                       std::string_view manager = "kube-apiserver") {
  net::Request request;
  request.headers.add("User-Agent", std::string(manager));
  auto context = std::make_shared<RequestContext>(core, std::move(request), std::make_shared<NullSink>());
  context->route = context->routes().find(object.group, object.version, object.resource);
  context->info.namespace_name = object.namespace_name;
  context->info.name = object.name;
  context->user = {"system:apiserver", "", {"system:masters"}, {}};
  return context;
}

// What is stored, with our content in place of its own.
Result<Draft> draft_of_repair(const Route& route, const store::ObjectPtr& current, const Value& wanted) {
  auto object = stored_document(*current);
  if (!object) return fail(object.error());
  for (Value member : wanted)
    if (member.key() != "metadata" && member.key() != "kind" && member.key() != "apiVersion")
      object->root().put(member.key(), member);
  return draft_of_change(route, current, std::move(*object));
}

Result<Plan> plan_system_object(RequestContext& context, const store::Snapshot& pending,
                                const BootstrapObject& object) {
  Write write(context, pending);
  Draft draft;
  if (const auto current = pending.get(context.key())) {
    if (!is_ours(object)) return Plan{};
    auto repair = draft_of_repair(*context.route, current, object.object.root());
    if (!repair) return fail(repair.error());
    draft = std::move(*repair);
  } else {
    draft.object = object.object.clone();
  }
  return plan_at_once(write, draft);
}

// --- roles and bindings ---

BootstrapObject right_of(Document object) {
  constexpr std::pair<std::string_view, std::string_view> kResources[] = {
      {"Role", "roles"},
      {"ClusterRole", "clusterroles"},
      {"RoleBinding", "rolebindings"},
      {"ClusterRoleBinding", "clusterrolebindings"}};
  BootstrapObject right{"rbac.authorization.k8s.io",
                        "v1",
                        {},
                        object["metadata"]["namespace"].string(),
                        object["metadata"]["name"].string(),
                        std::move(object)};
  for (const auto& [kind, resource] : kResources)
    if (right.object["kind"].text() == kind) right.resource = resource;
  return right;
}

/// Null: there is nothing to write.
Result<std::optional<Draft>> draft_of_right(ServerCore& core, const RequestContext& context,
                                            const store::Snapshot& pending, const BootstrapObject& right) {
  Draft draft;
  const auto current = pending.get(context.key());
  if (current) {
    auto stored = stored_document(*current);
    if (!stored) return fail(stored.error());
    const auto reconciled = reconcile_right(stored->root(), right.object.root());
    if (reconciled == Reconciled::nothing) return std::optional<Draft>();
    if (reconciled == Reconciled::changed) {
      auto changed = draft_of_change(*context.route, current, std::move(*stored));
      if (!changed) return fail(changed.error());
      return std::optional<Draft>(std::move(*changed));
    }
    if (auto gone = core.store.commit({{{current->key, current->revision}}, {{current->key, {}, {}}}}); !gone)
      return fail(gone.error());
  }
  draft.object = right.object.clone();
  return std::optional<Draft>(std::move(draft));
}

/// Plans the draft, when there is one, and puts what it does to the rest.
Outcome add_to(store::Txn& all, RequestContext& context, Result<std::optional<Draft>> draft) {
  if (!draft) return fail(draft.error());
  if (!*draft) return {};
  const auto now = context.core->store.pending();
  Write write(context, now);
  auto plan = plan_at_once(write, **draft);
  if (!plan) return fail(plan.error());
  std::move(plan->txn.guards.begin(), plan->txn.guards.end(), std::back_inserter(all.guards));
  std::move(plan->txn.ops.begin(), plan->txn.ops.end(), std::back_inserter(all.ops));
  return {};
}

Outcome add_rights(const std::shared_ptr<ServerCore>& core, store::Txn& all) {
  for (const auto json : bootstrap_rights()) {
    auto object = Document::parse_json(json);
    if (!object) return fail(object.error());
    add_rights_of_served(object->root(), *core->kinds.get());
    const auto right = right_of(std::move(*object));
    const auto context = context_for(core, right);
    if (!context->route) continue;
    const auto pending = core->store.pending();
    auto added = add_to(all, *context, draft_of_right(*core, *context, pending, right));
    if (!added) return added;
  }
  return {};
}

// --- flow schemas and priority levels ---

/// Null: there is nothing to write.
Result<std::optional<Draft>> draft_of_flow_object(const RequestContext& context, const store::Snapshot& pending,
                                                  const FlowObject& wanted) {
  const auto current = pending.get(context.key());
  if (!current) {
    Draft draft;
    draft.object = wanted.object.clone();
    return std::optional<Draft>(std::move(draft));
  }
  auto stored = stored_document(*current);
  if (!stored) return fail(stored.error());
  if (!restore_flow_object(stored->root(), wanted)) return std::optional<Draft>();
  auto changed = draft_of_change(*context.route, current, std::move(*stored));
  if (!changed) return fail(changed.error());
  return std::optional<Draft>(std::move(*changed));
}

Outcome add_flow_objects(const std::shared_ptr<ServerCore>& core, store::Txn& all) {
  for (const auto& wanted : flow_objects()) {
    const auto context =
        context_for(core, {kFlowControlGroup, kFlowControlVersion, wanted.resource, {}, wanted.name, {}},
                    "api-priority-and-fairness-config-producer-v1");
    if (!context->route) continue;
    auto added = add_to(all, *context, draft_of_flow_object(*context, core->store.pending(), wanted));
    if (!added) return added;
  }
  return {};
}

/// All in one Txn: a new cluster writes them at once.
Outcome reconcile_rights_and_flows(const std::shared_ptr<ServerCore>& core) {
  store::Txn all;
  if (auto added = add_rights(core, all); !added) return added;
  if (auto added = add_flow_objects(core, all); !added) return added;
  if (all.ops.empty()) return {};
  auto committed = core->store.commit(std::move(all));
  return committed ? Outcome() : fail(committed.error());
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
  return core->options.bootstrap_rights ? reconcile_rights_and_flows(core) : Outcome();
}

}  // namespace sublet::apiserver
