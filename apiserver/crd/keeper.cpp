#include "apiserver/crd/keeper.h"

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <set>

#include "apiserver/apply/reset_fields.h"
#include "apiserver/conversion/conversion.h"
#include "apiserver/crd/custom_kind.h"
#include "apiserver/crd/naming.h"
#include "apiserver/discovery/custom_schema.h"
#include "apiserver/printers/printer.h"
#include "apiserver/request/object_key.h"
#include "apiserver/request/server_core.h"
#include "apiserver/strategies/strategy.h"
#include "apiserver/strategies/version_fields.h"
#include "apiserver/structural/check_definition.h"
#include "apiserver/structural/definition.h"
#include "apiserver/watch/watch_hub.h"
#include "sublet/base/log.h"
#include "sublet/base/worker_pool.h"
#include "sublet/kube/client.h"
#include "sublet/kube/conditions.h"
#include "sublet/store/events_watcher.h"

namespace sublet::apiserver {
namespace {

using schema::Document;
using schema::Value;

const std::string kDefinitionPrefix = "customresourcedefinitions.apiextensions.k8s.io/";
const kube::Resource kDefinitionResource{"apiextensions.k8s.io", "v1", "customresourcedefinitions"};

/// True: something changed. A condition's time is when its status became what it is.
bool put_naming_condition(Value object, const Condition& wanted, const std::string& now) {
  Value condition = kube::find_condition(object["status"]["conditions"], wanted.type);
  if (condition && condition["status"].text() == wanted.status && condition["reason"].text() == wanted.reason &&
      condition["message"].text() == wanted.message)
    return false;
  const bool moved = !condition || condition["status"].text() != wanted.status;
  if (!condition) condition = object.object("status").array("conditions").push_object();
  condition.put("type", wanted.type);
  condition.put("status", wanted.status);
  if (moved) condition.put("lastTransitionTime", now);
  condition.put("reason", wanted.reason);
  condition.put("message", wanted.message);
  return true;
}

/// What a pass asks of a definition and writes to it. The rest is in the store and in the compiled kind: a tree of all
/// of it would be several times its bytes.
Document head_of(const Value& object) {
  Document head = Document::object();
  for (const Value finalizer : object["metadata"]["finalizers"])
    head.root().object("metadata").array("finalizers").push(finalizer.text());
  if (object.has("status")) head.root().put("status", object["status"]);
  return head;
}

/// What is said of a definition in a group of the Kubernetes community (upstream's controller/apiapproval).
std::optional<Condition> approval_condition(const Value& object) {
  using State = Approval::State;
  const Approval approval = approval_of(object);
  if (approval.state == State::unprotected) return std::nullopt;
  struct Row {
    State state;
    const char *status, *reason;
  };
  constexpr Row kRows[] = {{State::missing, "False", "MissingAnnotation"},
                           {State::invalid, "False", "InvalidAnnotation"},
                           {State::bypassed, "False", "UnapprovedAnnotation"},
                           {State::approved, "True", "ApprovedAnnotation"}};
  for (const Row& row : kRows)
    if (row.state == approval.state)
      return Condition{"KubernetesAPIApprovalPolicyConformant", row.status, row.reason, approval.reason};
  return std::nullopt;
}

/// A stored definition, as the last pass saw it.
struct Known {
  store::ObjectPtr stored;
  Document head;
  CustomKindPtr kind;
  Naming naming;
  std::optional<Condition> approval;
  std::optional<Naming> written;  // the naming in the status of `stored`; nullopt: not read yet
  bool served() const { return naming.all_accepted() || established; }
  /// Those that it has, or else that it had.
  KindNames names() const {
    return naming.accepted.plural.empty() ? KindNames::read(head["status"]["acceptedNames"]) : naming.accepted;
  }
  /// Whether this is what it was, with the same spec. That it is to go counts as a generation of its own.
  bool same_spec(const Known& was) const {
    const bool marked = deleting && !was.deleting && generation == was.generation + 1;
    return uid == was.uid && (generation == was.generation || marked);
  }
  std::string uid;
  std::int64_t generation = 0;
  bool established = false, deleting = false;
};

std::string instances_prefix(const Definition& definition) {
  return group_resource(definition.group, definition.names.plural) + "/";
}

}  // namespace

struct DefinitionKeeper::Impl : std::enable_shared_from_this<DefinitionKeeper::Impl> {
  Impl(ServerCore& core_, net::Handler self)
      : core(core_),
        client(net::make_in_process_transport(std::move(self), identity(), &core_.loop),
               {.user_agent = "kube-apiserver"}) {}

  static net::PeerIdentity identity() {
    net::PeerIdentity made;
    made.kind = net::PeerIdentity::Kind::in_process;
    made.common_name = "system:apiserver";
    return made;
  }

  // --- waking ---

  std::shared_ptr<store::Watcher> waker() {
    return store::watch_events([weak = weak_from_this()](const auto&) {
      if (const auto self = weak.lock()) self->wake();
    });
  }

  void wake() {
    if (woken.exchange(true)) return;
    if (!worker.submit([self = shared_from_this()] { self->work(); })) woken = false;  // stopped
  }

  void wake_later() {
    constexpr std::chrono::seconds kDelay{1};
    core.loop.after(kDelay, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->wake();
    });
  }

  void work() {
    woken = false;
    pass(true);
  }

  // --- one look at everything ---

  void pass(bool writes) {
    read();
    install();
    if (!writes) return;
    for (auto& [name, known] : all) {
      if (core.stopping) return;
      known.deleting ? clean_up(known) : write_status(known);
    }
  }

  void read() {
    std::map<std::string, Known, std::less<>> now;
    core.store.snapshot().scan(kDefinitionPrefix, "", [&](const store::ObjectPtr& stored) {
      read_one(stored, now);
      return true;
    });
    all = std::move(now);
    give_names();
  }

  void read_one(const store::ObjectPtr& stored, std::map<std::string, Known, std::less<>>& now) {
    const std::string name = stored->key.substr(kDefinitionPrefix.size());
    const auto before = all.find(name);
    if (before != all.end() && before->second.stored == stored) {
      now.emplace(name, std::move(before->second));
      return;
    }
    auto object = Document::parse_json(stored->json());
    if (!object) {
      log::error("definitions.unreadable", {{"name", name}, {"error", object.error().message}});
      return;
    }
    Known known;
    known.stored = stored;
    known.established = kube::has_condition(object->root(), "Established");
    known.deleting = object->root()["metadata"].has("deletionTimestamp");
    known.approval = approval_condition(object->root());
    Definition definition = Definition::read(object->root());
    if (definition.versions.empty()) return;
    known.uid = definition.uid;
    known.generation = definition.generation;
    if (before != all.end() && known.same_spec(before->second)) {
      known.kind = before->second.kind;
      known.kind->set_source(stored);
      known.naming = before->second.naming;
    } else {
      auto converter = WebhookConverter::make(core, definition, object->root());
      known.kind =
          std::make_shared<const CustomKind>(stored, std::move(definition), object->root(), std::move(converter));
    }
    known.head = head_of(object->root());
    now.emplace(name, std::move(known));
  }

  // In the order in which they came, so that who was first keeps its names.
  void give_names() {
    std::vector<Known*> order;
    std::map<std::string, TakenNames> taken;  // by group
    for (auto& [name, known] : all) {
      order.push_back(&known);
      const auto [group, first] = taken.try_emplace(known.kind->definition().group);
      if (first) add_builtin(group->second, group->first);
      group->second.add(known.names());
    }
    std::ranges::sort(order, {}, [](const Known* known) { return known->stored->create_revision; });
    for (Known* known : order) {
      TakenNames& others = taken[known->kind->definition().group];
      others.remove(known->names());
      known->naming = accept_names(known->kind->definition().names,
                                   KindNames::read(known->head["status"]["acceptedNames"]), others);
      others.add(known->names());
    }
  }

  static void add_builtin(TakenNames& taken, const std::string& group) {
    for (const auto& facts : schema::Registry::builtin()->resources()) {
      if (facts.group != group) continue;
      taken.add({std::string(facts.resource),
                 std::string(facts.singular),
                 std::string(facts.kind),
                 std::string(facts.list_kind),
                 {facts.short_names.begin(), facts.short_names.end()},
                 {}});
    }
  }

  // --- kinds ---

  /// The kinds of a group as they are installed.
  struct Group {
    std::vector<ServedKind> kinds;
    schema::KindSet set;
  };

  void install() {
    std::map<std::string, std::vector<ServedKind>> wanted;
    for (const auto& [name, known] : all)
      if (known.served())
        wanted[known.kind->definition().group].push_back({known.kind, known.naming.accepted, known.deleting});
    if (is_installed(wanted)) return;
    std::map<std::string, Group> groups;
    std::vector<schema::KindSet> sets;
    for (auto& [name, kinds] : wanted) {
      const auto before = installed.find(name);
      const bool same = before != installed.end() && before->second.kinds == kinds;
      auto set = same ? Result<schema::KindSet>(before->second.set) : kinds_of_group(kinds);
      if (!set) {
        log::error("definitions.not_served", {{"group", name}, {"error", set.error().message}});
        continue;
      }
      sets.push_back(*set);
      groups.emplace(name, Group{std::move(kinds), std::move(*set)});
    }
    auto registry = schema::Registry::with(std::move(sets), core.kinds.get()->also_served());
    if (!registry) {
      log::error("definitions.not_served", {{"error", registry.error().message}});
      return;
    }
    warm(**registry);
    core.kinds.set(std::move(*registry));
    groups.swap(installed);
    finish_watches(groups);
  }

  bool is_installed(const std::map<std::string, std::vector<ServedKind>>& wanted) const {
    return std::ranges::equal(wanted, installed, [](const auto& group, const auto& there) {
      return group.first == there.first && group.second == there.second.kinds;
    });
  }

  /// Ends the watches of a kind that was removed or changed; their clients begin again.
  void finish_watches(const std::map<std::string, Group>& before) {
    const store::Revision now = core.store.snapshot().revision();
    for (const auto& [name, group] : before)
      for (const ServedKind& was : group.kinds) {
        const auto there = installed.find(name);
        const bool stays = there != installed.end() && std::ranges::any_of(there->second.kinds, [&](const auto& kind) {
                             return kind.kind == was.kind && kind.names == was.names;
                           });
        if (!stays) core.watches.finish_under(group_resource(name, was.names.plural) + "/", now);
      }
  }

  /// What the next request of each loop would have to make first.
  static void warm(const schema::Registry& kinds) {
    (void)kinds.part<Routes>();
    const schema::ResourceFacts& any = kinds.resources().front();
    (void)kinds.entry<Strategy>(any);
    (void)kinds.entry<Printer>(any);
    (void)kinds.entry<Conversion>(any);
    (void)kinds.entry<ResetFields>(any);
    (void)kinds.entry<VersionWarning>(any);
    (void)kinds.entry<VersionFields>(any);
    (void)kinds.entry<patches::MergeRoot>(any);
    (void)kinds.entry<CustomSchema>(any);
  }

  // --- status ---

  std::string now() const { return format_time(core.clock.now()); }

  void write_status(Known& known) {
    if (known.written == known.naming) return;
    Document wanted = known.head.clone();
    Value status = wanted.root().object("status");
    const bool names_changed = KindNames::read(status["acceptedNames"]) != known.naming.accepted;
    if (names_changed) known.naming.accepted.write(status.object("acceptedNames"));
    bool changed = put_naming_condition(wanted.root(), known.naming.condition, now()) || names_changed;
    if (known.approval) changed |= put_naming_condition(wanted.root(), *known.approval, now());
    if (known.naming.all_accepted() && !known.established)
      changed |= put_naming_condition(
          wanted.root(), {"Established", "True", "InitialNamesAccepted", "the initial names have been accepted"},
          now());
    else if (!kube::find_condition(wanted["status"]["conditions"], "Established"))
      changed |= put_naming_condition(wanted.root(),
                                      {"Established", "False", "NotAccepted", "not all names are accepted"}, now());
    if (changed)
      put_status(known, wanted["status"]);
    else
      known.written = known.naming;
  }

  bool put_status(const Known& known, const Value& status) {
    auto object = Document::parse_json(known.stored->json());
    if (!object) return false;  // read_one() could read it
    object->root().put("status", status);
    return put(object->root(), "status");
  }

  bool put(Value object, std::string_view subresource) {
    object.put("kind", "CustomResourceDefinition");
    object.put("apiVersion", "apiextensions.k8s.io/v1");
    const std::string name = object["metadata"]["name"].string();
    auto written = client.update(kDefinitionResource, "", name, object, subresource);
    if (written) return true;
    // Who changed it meanwhile wakes us again.
    if (written.error().is(Reason::conflict) || written.error().is(Reason::not_found) || core.stopping) return false;
    log::warning("definitions.status_not_written", {{"name", name}, {"error", written.error().message}});
    wake_later();
    return false;
  }

  // --- deletion ---

  void clean_up(Known& known) {
    const Definition& definition = known.kind->definition();
    Document wanted = known.head.clone();
    bool held = false;
    for (const Value finalizer : wanted["metadata"]["finalizers"]) held = held || finalizer.text() == kCleanupFinalizer;
    if (!held) return;
    if (!known.established) return release(known, "NeverEstablished", "resource was never established");
    if (put_naming_condition(
            wanted.root(),
            {"Terminating", "True", "InstanceDeletionInProgress", "CustomResource deletion is in progress"}, now()) &&
        !put_status(known, wanted["status"]))
      return;
    const std::string prefix = instances_prefix(definition);
    delete_instances(definition, prefix);
    if (core.store.snapshot().count(prefix) != 0) {
      auto& waiting = waits[definition.uid];
      if (!waiting) waiting = core.store.snapshot_and_watch(prefix, waker()).second;
      if (core.store.snapshot().count(prefix) == 0) wake();  // the last one went meanwhile
      return;
    }
    waits.erase(definition.uid);
    release(known, "InstanceDeletionCompleted", "removed all instances");
  }

  void delete_instances(const Definition& definition, const std::string& prefix) {
    std::set<std::string> namespaces;
    core.store.snapshot().scan(prefix, "", [&](const store::ObjectPtr& object) {
      namespaces.emplace(namespace_of_key(object->key));
      return true;
    });
    auto& asked = collections[definition.uid];
    for (const auto& name : namespaces) {
      if (!asked.insert(name).second) continue;  // those that still are there have finalizers
      const kube::Resource resource{definition.group, definition.stored().name, definition.names.plural};
      auto answer = client.raw("DELETE", resource.path(name));
      if (answer && answer->code < 300) continue;
      log::warning(
          "definitions.instances_not_deleted",
          {{"name", definition.name}, {"namespace", name}, {"error", answer ? answer->body : answer.error().message}});
      asked.erase(name);
      if (!core.stopping) wake_later();
    }
  }

  void release(Known& known, std::string_view reason, std::string_view message) {
    auto current = client.get(kDefinitionResource, "", known.kind->definition().name);
    if (!current) return;
    Value object = current->root();
    if (object["metadata"]["uid"].text() != known.kind->definition().uid) return;
    if (put_naming_condition(object, {"Terminating", "False", std::string(reason), std::string(message)}, now())) {
      if (!put(object, "status")) return;
      current = client.get(kDefinitionResource, "", known.kind->definition().name);
      if (!current) return;
      object = current->root();
    }
    Value meta = object["metadata"];
    meta["finalizers"].retain([](const Value& finalizer) { return finalizer.text() != kCleanupFinalizer; });
    collections.erase(known.kind->definition().uid);
    put(object, "");
  }

  ServerCore& core;
  const kube::Client client;
  WorkerPool worker{{.name = "definitions", .threads_max = 1, .queue_max = 2}};
  std::atomic<bool> woken{false};
  std::unique_ptr<store::Subscription> watching;

  // The worker's (and start()'s, before that).
  std::map<std::string, Known, std::less<>> all;                      // by name
  std::map<std::string, Group> installed;                             // by its name
  std::map<std::string, std::unique_ptr<store::Subscription>> waits;  // for the last objects, by the definition's uid
  std::map<std::string, std::set<std::string>> collections;           // namespaces whose objects were deleted
};

DefinitionKeeper::DefinitionKeeper(ServerCore& core, net::Handler self)
    : impl_(std::make_shared<Impl>(core, std::move(self))) {}

DefinitionKeeper::~DefinitionKeeper() { stop(); }

Outcome DefinitionKeeper::start() {
  impl_->pass(false);
  if (!impl_->all.empty()) ::malloc_trim(0);  // their trees were many times what stays
  auto [snapshot, watching] = impl_->core.store.snapshot_and_watch(kDefinitionPrefix, impl_->waker());
  impl_->watching = std::move(watching);
  // Most have none, and need no thread to see that.
  if (snapshot.count(kDefinitionPrefix) > 0 || !impl_->all.empty()) impl_->wake();
  return {};
}

void DefinitionKeeper::stop() {
  impl_->watching.reset();
  impl_->worker.stop();
  impl_->waits.clear();
}

}  // namespace sublet::apiserver
