// ResourceClaims (DRA): made from the templates that pods name, reserved for pods that were put on a node without a
// scheduler, and taken back from pods that are done: the last one's end frees what was allocated.
// Source: pkg/controller/resourceclaim of Kubernetes.

#include <map>
#include <optional>

#include "controllers/pods/pod.h"
#include "controllers/runtime/calls.h"
#include "controllers/runtime/event_recorder.h"
#include "controllers/runtime/kinds.h"
#include "controllers/storage/protection.h"

namespace sublet::controllers {
namespace {

using schema::Document;
using schema::Value;

const kube::Resource kResourceClaims{"resource.k8s.io", "v1", "resourceclaims"},
    kResourceClaimTemplates{"resource.k8s.io", "v1", "resourceclaimtemplates"};
constexpr std::string_view kConsumerKey = "pod/", kResourceClaimKey = "claim/";
constexpr std::string_view kPodClaim = "resource.kubernetes.io/pod-claim-name",
                           kDeleteProtection = "resource.kubernetes.io/delete-protection";
constexpr std::size_t kConsumersMax = 256, kBaseMax = 57;  // of generated names: space for five more letters

bool has_claims(const store::Object& pod) { return raw_of(pod, {"spec", "resourceClaims"}).size() > 2; }

/// None of its containers runs or ever will.
bool is_done(const Pod& pod) { return pod.terminal() || (pod.ending() && pod.node().empty()); }

/// "<pod>-<claim>-", both cut by as much when that is too long.
std::string base_name(std::string_view pod, std::string_view claim) {
  auto base = std::string(pod).append("-").append(claim).append("-");
  if (base.size() <= kBaseMax) return base;
  const auto part = [&](std::string_view text) { return text.substr(0, text.size() * kBaseMax / base.size()); };
  return std::string(part(pod)).append("-").append(part(claim));
}

/// The name under which the pod has this claim; "": not made yet; nullopt: it needs none.
std::optional<std::string> resource_claim_name(const Pod& pod, const Value& entry) {
  if (entry.has("resourceClaimName")) return entry["resourceClaimName"].string();
  for (auto known : pod.status()["resourceClaimStatuses"])
    if (known["name"].text() == entry["name"].text())
      return known.has("resourceClaimName") ? std::optional(known["resourceClaimName"].string()) : std::nullopt;
  return std::string();
}

class ResourceClaimController final : public Controller {
 public:
  explicit ResourceClaimController(Context& context)
      : context_(context),
        pods_(context.lister(kPodKind.resource)),
        claims_(context.lister(kResourceClaims, {By::owner})),
        templates_(context.lister(kResourceClaimTemplates)) {}

  void start() override {
    context_.on_change(kPodKind.resource, [this](const Change& change) {
      if (!has_claims(change.object())) return;
      if (change.after) context_.enqueue(std::string(kConsumerKey) + key_of(*change.after));
      wake_claims_of(change.object());
    });
    context_.on_change(kResourceClaims, [this](const Change& change) {
      context_.enqueue(std::string(kResourceClaimKey) + key_of(change.object()));
      const auto owner = controller_of(change.object());
      if (!change.after && owner && owner->kind == kPodKind.kind)  // it is made again
        context_.enqueue(std::string(kConsumerKey) + key_of(namespace_of(change.object()), owner->name));
    });
    context_.on_change(kResourceClaimTemplates, [this](const Change& change) {
      if (!change.before) wake_waiting(namespace_of(*change.after));
    });
  }

  Outcome reconcile(const std::string& key) override {
    const bool of_pod = key.starts_with(kConsumerKey);
    const auto parts = parts_of(key.substr((of_pod ? kConsumerKey : kResourceClaimKey).size()));
    if (of_pod) {
      const auto stored = pods_.get(parts.namespace_name, parts.name);
      return stored && !is_ending(*stored) ? sync_pod(Pod(stored)) : Outcome();
    }
    const auto stored = claims_.get(parts.namespace_name, parts.name);
    return stored ? sync_claim(*stored) : Outcome();
  }

 private:
  /// Claims look at their pods when these end.
  void wake_claims_of(const store::Object& stored) const {
    const Pod pod{std::make_shared<store::Object>(stored)};
    const auto spec = pod.spec();
    for (auto entry : spec["resourceClaims"])
      if (const auto name = resource_claim_name(pod, entry); name && !name->empty())
        context_.enqueue(std::string(kResourceClaimKey) + key_of(pod.namespace_name(), *name));
  }

  void wake_waiting(std::string_view namespace_name) const {
    for (const auto& pod : pods_.list(namespace_name))
      if (has_claims(*pod)) context_.enqueue(std::string(kConsumerKey) + key_of(*pod));
  }

  Outcome sync_pod(const Pod& pod) {
    if (pod.terminal()) return {};
    const auto spec = pod.spec();
    std::map<std::string, std::string> made;
    for (auto entry : spec["resourceClaims"]) {
      auto done = ensure(pod, entry, made);
      if (done || is_namespace_ending(done.error())) continue;
      context_.events().warning(ref_of(kPodKind, pod.stored()), "FailedResourceClaimCreation",
                                "PodResourceClaim " + entry["name"].string() + ": " + done.error().message);
      return done;
    }
    if (!made.empty())
      if (auto written = write_claim_names(pod, made); !written) return written;
    return pod.node().empty() ? Outcome() : reserve_all(pod, spec["resourceClaims"]);
  }

  Outcome ensure(const Pod& pod, const Value& entry, std::map<std::string, std::string>& made) {
    const auto name = resource_claim_name(pod, entry);
    if (!name || !entry.has("resourceClaimTemplateName")) return {};
    if (!name->empty())
      if (const auto claim = claims_.get(pod.namespace_name(), *name); claim && is_controlled_by(*claim, pod.uid()))
        return {};
    if (const auto before = find_made(pod, entry["name"].text()); !before.empty()) {
      made[entry["name"].string()] = before;
      return {};
    }
    auto claim = from_template(pod, entry);
    if (!claim) return fail(claim.error());
    auto created = context_.client().create(kResourceClaims, pod.namespace_name(), claim->root());
    if (!created) return fail(created.error().reason, "create ResourceClaim : " + created.error().message);
    made[entry["name"].string()] = (*created)["metadata"]["name"].string();
    return {};
  }

  /// One that was made, but the pod does not know it yet.
  std::string find_made(const Pod& pod, std::string_view entry) const {
    for (const auto& claim : claims_.owned_by(pod.uid()))
      if (document_of(*claim)["metadata"]["annotations"][kPodClaim].text() == entry && !is_ending(*claim))
        return std::string(name_of(*claim));
    return {};
  }

  Result<Document> from_template(const Pod& pod, const Value& entry) const {
    const auto name = entry["resourceClaimTemplateName"].string();
    const auto stored = templates_.get(pod.namespace_name(), name);
    if (!stored)
      return fail(Reason::not_found, "resource claim template \"" + name +
                                         "\": resourceclaimtemplate.resource.k8s.io \"" + name + "\" not found");
    const auto found = document_of(*stored);
    const auto wanted = found["spec"];
    auto claim = Document::object();
    auto metadata = claim.root().object("metadata");
    metadata.put("generateName", base_name(pod.name(), entry["name"].text()));
    for (auto member : {"annotations", "labels"})
      if (wanted["metadata"].has(member)) metadata.put(member, wanted["metadata"][member]);
    metadata.object("annotations").put(kPodClaim, entry["name"].text());
    auto owner = metadata.array("ownerReferences").push_object();
    owner.put("apiVersion", kPodKind.api_version);
    owner.put("kind", kPodKind.kind);
    owner.put("name", pod.name());
    owner.put("uid", pod.uid());
    owner.put("controller", true);
    claim.root().put("spec", wanted["spec"]);
    return claim;
  }

  Outcome write_claim_names(const Pod& pod, const std::map<std::string, std::string>& made) {
    auto config = Document::object();
    config.root().put("apiVersion", kPodKind.api_version);
    config.root().put("kind", kPodKind.kind);
    auto metadata = config.root().object("metadata");
    metadata.put("name", pod.name());
    metadata.put("namespace", pod.namespace_name());
    auto statuses = config.root().object("status").array("resourceClaimStatuses");
    for (const auto& [entry, claim] : made) {
      auto status = statuses.push_object();
      status.put("name", entry);
      status.put("resourceClaimName", claim);
    }
    return settled(context_.client().apply(kPodKind.resource, pod.namespace_name(), pod.name(), config.root(),
                                           {.field_manager = "ResourceClaimController", .force = true}, "status"));
  }

  /// A pod that no scheduler put on its node uses claims that were allocated before.
  Outcome reserve_all(const Pod& pod, const Value& entries) {
    for (auto entry : entries) {
      const auto name = resource_claim_name(pod, entry);
      const auto stored = name && !name->empty() ? claims_.get(pod.namespace_name(), *name) : nullptr;
      if (!stored) continue;
      auto claim = document_of(*stored);
      auto consumers = claim["status"]["reservedFor"];
      const bool reserved = std::any_of(consumers.begin(), consumers.end(),
                                        [&](const Value& each) { return each["uid"].text() == pod.uid(); });
      if (!claim["status"].has("allocation") || reserved || consumers.size() >= kConsumersMax) continue;
      auto consumer = claim["status"].array("reservedFor").push_object();
      consumer.put("resource", "pods");
      consumer.put("name", pod.name());
      consumer.put("uid", pod.uid());
      if (auto written = write_status(*stored, claim); !written) return written;
    }
    return {};
  }

  Outcome write_status(const store::Object& stored, Document& claim) {
    claim["metadata"].put("resourceVersion", std::to_string(stored.revision));
    return settled(
        context_.client().update(kResourceClaims, namespace_of(stored), name_of(stored), claim.root(), "status"));
  }

  bool is_needed_by(const std::string& namespace_name, const Value& consumer) const {
    if (consumer["resource"].text() != "pods" || !consumer["apiGroup"].text().empty()) return true;  // who knows
    const auto pod = pods_.get(namespace_name, consumer["name"].text());
    return pod && pod->index.uid == consumer["uid"].text() && !is_done(Pod(pod));
  }

  Outcome sync_claim(const store::Object& stored) {
    const std::string namespace_name(namespace_of(stored));
    auto claim = document_of(stored);
    auto status = claim["status"];
    auto consumers = status["reservedFor"];
    const auto before = consumers.size();
    if (consumers) consumers.retain([&](const Value& consumer) { return is_needed_by(namespace_name, consumer); });
    const bool idle = consumers.empty(), has = has_finalizer(stored, kDeleteProtection);
    const bool freed = idle && before > 0, ends = idle && has && is_ending(stored);
    if (idle && status) status.erase("reservedFor");
    if (has && (freed || ends) && status) status.erase("allocation");
    if (!status.equals(document_of(stored)["status"]))
      if (auto written = write_status(stored, claim); !written) return written;
    if (const auto fresh = claims_.get(namespace_name, name_of(stored)); fresh && has && (freed || ends))
      if (auto released = remove_finalizer(context_.client(), kResourceClaims, *fresh, kDeleteProtection); !released)
        return released;
    return idle ? remove_unneeded(stored) : Outcome();
  }

  /// One that was made for a pod which is done goes before the pod does.
  Outcome remove_unneeded(const store::Object& claim) {
    const auto owner = controller_of(claim);
    if (!owner || owner->kind != kPodKind.kind || is_ending(claim)) return {};
    const auto pod = pods_.get(namespace_of(claim), owner->name);
    if (!pod || (pod->index.uid == owner->uid && !is_done(Pod(pod)))) return {};
    kube::DeleteOptions options;
    options.uid = claim.index.uid;
    return settled(context_.client().remove(kResourceClaims, namespace_of(claim), name_of(claim), options),
                   {Reason::not_found, Reason::conflict});
  }

  Context& context_;
  const Lister pods_, claims_, templates_;
};

}  // namespace

std::unique_ptr<Controller> make_resource_claim_controller(Context& context) {
  return std::make_unique<ResourceClaimController>(context);
}

}  // namespace sublet::controllers
