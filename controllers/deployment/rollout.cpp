#include "controllers/deployment/rollout.h"

#include <algorithm>
#include <limits>

#include "controllers/deployment/revisions.h"
#include "controllers/deployment/rollout_math.h"
#include "controllers/pods/claim.h"
#include "controllers/pods/pod.h"
#include "controllers/pods/pod_control.h"
#include "controllers/pods/template_hash.h"
#include "controllers/runtime/calls.h"
#include "controllers/runtime/event_recorder.h"

namespace sublet::controllers {

using schema::Document;
using schema::Value;

const KindFacts kDeploymentKind{"apps/v1", "Deployment", {"apps", "v1", "deployments"}};
const kube::Resource kReplicaSetResource{"apps", "v1", "replicasets"};

namespace {

constexpr std::string_view kPaused = "DeploymentPaused", kResumed = "DeploymentResumed";
constexpr std::string_view kCreateError = "ReplicaSetCreateError";

int replicas_of(const Value& set) { return static_cast<int>(set["spec"]["replicas"].integer(1)); }

/// The number in an annotation; nullopt when there is none that is one.
std::optional<int> noted(const Value& set, std::string_view annotation) {
  const auto text = set["metadata"]["annotations"][annotation].text();
  std::int64_t number = 0;
  for (const char digit : text) {
    if (digit < '0' || digit > '9' || number > std::numeric_limits<std::int32_t>::max()) return std::nullopt;
    number = 10 * number + (digit - '0');
  }
  if (text.empty() || number > std::numeric_limits<std::int32_t>::max()) return std::nullopt;
  return static_cast<int>(number);
}

SetSize set_size_of(const Value& set) {
  return {replicas_of(set), static_cast<int>(set["status"]["availableReplicas"].integer()), noted(set, kMaxReplicas),
          set["metadata"]["creationTimestamp"].string(), name_of(set)};
}

bool older(const SetPtr& a, const SetPtr& b) {
  const auto first = (*a)["metadata"]["creationTimestamp"].text(),
             second = (*b)["metadata"]["creationTimestamp"].text();
  return first != second ? first < second : name_of(a->root()) < name_of(b->root());
}

bool has_pods(const SetPtr& set) { return set && replicas_of(set->root()) > 0; }

std::vector<SetPtr> with_pods(std::vector<SetPtr> sets) {
  std::erase_if(sets, [](const SetPtr& set) { return !has_pods(set); });
  return sets;
}

int pods_of_all(const std::vector<SetPtr>& sets) {
  int sum = 0;
  for (const auto& set : sets) sum += replicas_of(set->root());
  return sum;
}

/// The set that alone has to be scaled: the only one with pods, or the latest when none has; null: there are several.
SetPtr active_or_latest(const SetsOf& sets) {
  const auto active = with_pods(sets.all());
  if (active.size() > 1) return nullptr;
  if (active.size() == 1) return active.front();
  if (sets.fresh) return sets.fresh;
  const auto latest = std::max_element(sets.old.begin(), sets.old.end(), older);
  return latest == sets.old.end() ? nullptr : *latest;
}

bool is_saturated(const RolloutSize& size, const SetPtr& set) {
  return set && replicas_of(set->root()) == size.replicas && noted(set->root(), kDesiredReplicas) == size.replicas &&
         (*set)["status"]["availableReplicas"].integer() == size.replicas;
}

/// The second highest revision; 0 when there is none.
std::int64_t last_revision(const std::vector<SetPtr>& sets) {
  std::int64_t highest = 0, second = 0;
  for (const auto& set : sets) {
    const auto revision = revision_of(set->root());
    if (revision < 0) continue;
    if (revision >= highest)
      second = std::exchange(highest, revision);
    else
      second = std::max(second, revision);
  }
  return second;
}

Document new_set(const Value& deployment, const ObjectRef& owner) {
  const auto spec = deployment["spec"];
  const auto collisions = deployment["status"]["collisionCount"];
  const auto hash = template_hash(spec["template"], collisions ? std::optional(collisions.integer()) : std::nullopt);
  auto set = Document::object();
  auto metadata = set.root().object("metadata");
  metadata.put("name", set_name(owner.name, hash));
  metadata.put("namespace", owner.namespace_name);
  put_controller_ref(metadata, owner);
  auto set_spec = set.root().object("spec");
  set_spec.put("replicas", 0);
  put_count(set_spec, "minReadySeconds", spec["minReadySeconds"].integer());
  set_spec.put("selector", spec["selector"]).object("matchLabels").put(kTemplateHash, hash);
  auto labels = set_spec.put("template", spec["template"]).object("metadata").object("labels");
  labels.put(kTemplateHash, hash);
  metadata.put("labels", labels);
  return set;
}

}  // namespace

Rollout::Rollout(Context& context, const DeploymentListers& listers, const store::Object& stored)
    : context_(context),
      listers_(listers),
      owner_(ref_of(kDeploymentKind, stored)),
      ending_(is_ending(stored)),
      deployment_(document_of(stored)) {}

Outcome Rollout::run() {
  if (auto claimed = claim_sets(); !claimed) return claimed;
  const bool paused = deployment()["spec"]["paused"].boolean();
  if (ending_) {
    if (auto found = find_sets(false); !found) return found;
    return conclude(false);
  }
  if (auto noted = note_pause(); !noted) return noted;
  const bool rolls_back = noted(deployment(), kRollbackTo).has_value();
  if (!paused && rolls_back) return roll_back();
  if (auto found = find_sets(false); !found) return found;
  if (paused || is_scaled()) {
    if (auto scaled = scale_all(); !scaled) return scaled;
    if (paused && !rolls_back)
      if (auto cleaned = clean_up(); !cleaned) return cleaned;
    return conclude(false);
  }
  return deployment()["spec"]["strategy"]["type"].text() == "Recreate" ? recreate() : roll();
}

Outcome Rollout::claim_sets() {
  auto selector = kube::LabelSelector::from_object(deployment()["spec"]["selector"]);
  if (!selector) return fail(selector.error());
  const auto claimed = claim(context_.client(), kReplicaSetResource, {owner_, ending_, listers_.deployments, *selector},
                             claim_candidates(listers_.sets, owner_));
  if (claimed.error) return fail(*claimed.error);
  for (const auto& object : claimed.objects) {
    // What was adopted a moment ago has changed by it.
    const auto fresh = listers_.sets.get(namespace_of(*object), name_of(*object));
    if (fresh && fresh->index.uid == object->index.uid)
      claimed_.push_back(std::make_shared<Document>(document_of(*fresh)));
  }
  std::sort(claimed_.begin(), claimed_.end(), older);
  return {};
}

/// So that the time of a pause does not count against the deadline.
Outcome Rollout::note_pause() {
  if (!has_progress_deadline(deployment())) return {};
  const auto condition = find_condition(deployment()["status"]["conditions"], kProgressing);
  if (condition["reason"].text() == kProgressDeadlineExceeded) return {};
  const bool paused = deployment()["spec"]["paused"].boolean(), noted = condition["reason"].text() == kPaused;
  if (paused == noted) return {};
  put_deployment_condition(status(),
                           paused ? Condition{kProgressing, "Unknown", kPaused, "Deployment is paused"}
                                  : Condition{kProgressing, "Unknown", kResumed, "Deployment is resumed"},
                           context_.clock().now());
  return write_status();
}

Outcome Rollout::find_sets(bool create) {
  sets_ = {};
  for (const auto& set : claimed_) {
    if (!sets_.fresh && same_template((*set)["spec"]["template"], deployment()["spec"]["template"]))
      sets_.fresh = set;
    else
      sets_.old.push_back(set);
  }
  std::int64_t highest = 0;
  for (const auto& set : sets_.old) highest = std::max(highest, revision_of(set->root()));
  if (sets_.fresh) return keep_set(sets_.fresh, highest + 1);
  return create ? create_set(highest + 1) : Outcome();
}

/// The set of the current template is there: its notes and the Deployment's are brought up to date.
Outcome Rollout::keep_set(const SetPtr& found, std::int64_t revision) {
  const auto min_ready = deployment()["spec"]["minReadySeconds"].integer();
  const bool annotated = annotate_set(found->root(), deployment(), revision);
  if (annotated || (*found)["spec"]["minReadySeconds"].integer() != min_ready) {
    put_count(found->root().object("spec"), "minReadySeconds", min_ready);
    auto updated =
        context_.client().update(kReplicaSetResource, owner_.namespace_name, name_of(found->root()), found->root());
    if (!updated) return fail(updated.error());
    *found = std::move(*updated);
  }
  bool changed = false;
  const auto own = (*found)["metadata"]["annotations"][kRevision].string();
  if (deployment()["metadata"]["annotations"][kRevision].text() != own) {
    deployment().object("metadata").object("annotations").put(kRevision, own);
    changed = true;
  }
  if (has_progress_deadline(deployment()) && !find_condition(status()["conditions"], kProgressing))
    changed |= put_deployment_condition(
        status(),
        {kProgressing, "True", "FoundNewReplicaSet", "Found new replica set \"" + name_of(found->root()) + "\""},
        context_.clock().now());
  return changed ? write_status() : Outcome();
}

Outcome Rollout::create_set(std::int64_t revision) {
  auto set = new_set(deployment(), owner_);
  const auto size = rollout_size(deployment());
  const int replicas = new_set_size(size, pods_of_all(sets_.old), 0);
  set.root().object("spec").put("replicas", replicas);
  annotate_set(set.root(), deployment(), revision);
  annotate_sizes(set.root(), size.replicas, size.replicas + size.surge);
  auto answer = context_.client().create(kReplicaSetResource, owner_.namespace_name, set.root());
  if (answer) return created(*answer, revision, replicas);
  const auto& why = answer.error();
  if (why.is(Reason::already_exists)) return collided(name_of(set.root()), why);
  if (is_namespace_ending(why)) return fail(why);
  return failed_to_create(name_of(set.root()), why);
}

Outcome Rollout::created(const Document& set, std::int64_t revision, int size) {
  sets_.fresh = std::make_shared<Document>(set.clone());
  claimed_.push_back(sets_.fresh);
  const auto name = name_of(set.root());
  if (size > 0)
    context_.events().normal(owner_, "ScalingReplicaSet",
                             "Scaled up replica set " + name + " from 0 to " + std::to_string(size));
  deployment().object("metadata").object("annotations").put(kRevision, std::to_string(revision));
  if (has_progress_deadline(deployment()))
    put_deployment_condition(status(),
                             {kProgressing, "True", "NewReplicaSetCreated", "Created new replica set \"" + name + "\""},
                             context_.clock().now());
  return write_status();
}

/// Its name is taken: by the set that was made a moment ago, or by one of another template with the same hash.
Outcome Rollout::collided(const std::string& name, const Status& why) {
  const auto stored = listers_.sets.get(owner_.namespace_name, name);
  if (!stored) return fail(why);
  const auto set = document_of(*stored);
  if (is_controlled_by(*stored, owner_.uid) && same_template(set["spec"]["template"], deployment()["spec"]["template"]))
    return fail(why);  // the next look finds it
  status().put("collisionCount", status()["collisionCount"].integer() + 1);
  if (auto written = write_status(); !written) return written;
  return fail(why);
}

Outcome Rollout::failed_to_create(const std::string& name, const Status& why) {
  const auto message = "Failed to create new replica set \"" + name + "\": " + why.message;
  if (has_progress_deadline(deployment())) {
    put_deployment_condition(status(), {kProgressing, "False", kCreateError, message}, context_.clock().now());
    if (auto written = write_status(); !written) return written;
  }
  context_.events().warning(owner_, std::string(kCreateError), message);
  return fail(why);
}

/// The number of replicas has changed: scaling comes before the rollout.
bool Rollout::is_scaled() const {
  const auto wanted = rollout_size(deployment()).replicas;
  for (const auto& set : with_pods(sets_.all())) {
    const auto before = noted(set->root(), kDesiredReplicas);
    if (before && *before != wanted) return true;
  }
  return false;
}

Outcome Rollout::scale_all() {
  const auto size = rollout_size(deployment());
  if (auto only = active_or_latest(sets_)) {
    auto scaled = scale(only, size.replicas);
    return scaled ? Outcome() : fail(scaled.error());
  }
  if (is_saturated(size, sets_.fresh)) {
    for (auto set : with_pods(sets_.old))
      if (auto scaled = scale(set, 0); !scaled) return fail(scaled.error());
    return {};
  }
  if (!size.rolling) return {};
  auto active = with_pods(sets_.all());
  std::vector<SetSize> before;
  for (const auto& set : active) before.push_back(set_size_of(set->root()));
  const auto after = proportional_sizes(size, before);
  for (std::size_t i = 0; i < active.size(); ++i)
    if (auto scaled = scale(active[i], after[i], true); !scaled) return fail(scaled.error());
  return {};
}

/// Gives the set another size. `notes_too`: also when only the sizes that it remembers differ. True: it was scaled.
Result<bool> Rollout::scale(SetPtr& set, int size, bool notes_too) {
  const int before = replicas_of(set->root());
  if (before == size && !notes_too) return false;
  const auto wanted = rollout_size(deployment());
  auto changed = set->clone();
  changed.root().object("spec").put("replicas", size);
  const bool noted_ = annotate_sizes(changed.root(), wanted.replicas, wanted.replicas + wanted.surge);
  if (before == size && !noted_) return false;
  const auto name = name_of(set->root());
  auto updated = context_.client().update(kReplicaSetResource, owner_.namespace_name, name, changed.root());
  if (!updated) return fail(updated.error());
  *set = std::move(*updated);
  if (before == size) return false;
  context_.events().normal(owner_, "ScalingReplicaSet",
                           std::string("Scaled ") + (before < size ? "up" : "down") + " replica set " + name +
                               " from " + std::to_string(before) + " to " + std::to_string(size));
  return true;
}

Outcome Rollout::roll() {
  if (!sets_.fresh)
    if (auto found = find_sets(true); !found) return found;
  const auto size = rollout_size(deployment());
  const int now = replicas_of(sets_.fresh->root());
  const int next = now >= size.replicas ? size.replicas : new_set_size(size, pods_of_all(sets_.all()), now);
  auto scaled = scale(sets_.fresh, next);
  if (!scaled) return fail(scaled.error());
  if (*scaled) return conclude(true);
  auto old = with_pods(sets_.old);
  std::sort(old.begin(), old.end(), older);
  std::vector<SetSize> before;
  for (const auto& set : old) before.push_back(set_size_of(set->root()));
  const auto after = old_set_sizes(size, before, set_size_of(sets_.fresh->root()));
  bool any = false;
  for (std::size_t i = 0; i < old.size(); ++i) {
    auto less = scale(old[i], after[i]);
    if (!less) return fail(less.error());
    any |= *less;
  }
  if (!any && is_complete(deployment(), deployment()["status"]))
    if (auto cleaned = clean_up(); !cleaned) return cleaned;
  return conclude(true);
}

bool Rollout::old_pods_run() const {
  for (const auto& set : sets_.old) {
    if ((*set)["status"]["replicas"].integer() > 0) return true;
    for (const auto& pod : pods_of(listers_.pods.owned_by((*set)["metadata"]["uid"].text())))
      if (!pod.terminal()) return true;
  }
  return false;
}

Outcome Rollout::recreate() {
  bool any = false;
  for (auto& set : with_pods(sets_.old)) {
    auto scaled = scale(set, 0);
    if (!scaled) return fail(scaled.error());
    any |= *scaled;
  }
  if (any || old_pods_run()) return conclude(true);
  if (!sets_.fresh)
    if (auto found = find_sets(true); !found) return found;
  auto scaled = scale(sets_.fresh, rollout_size(deployment()).replicas);
  if (!scaled) return fail(scaled.error());
  if (is_complete(deployment(), deployment()["status"]))
    if (auto cleaned = clean_up(); !cleaned) return cleaned;
  return conclude(true);
}

Outcome Rollout::roll_back() {
  if (auto found = find_sets(true); !found) return found;
  std::int64_t wanted = *noted(deployment(), kRollbackTo);
  if (wanted == 0) wanted = last_revision(sets_.all());
  if (wanted == 0) return give_up_rollback("DeploymentRollbackRevisionNotFound", "Unable to find last revision.");
  for (const auto& set : sets_.all()) {
    if (revision_of(set->root()) != wanted) continue;
    const auto name = "\"" + owner_.name + "\"";
    if (same_template((*set)["spec"]["template"], deployment()["spec"]["template"]))
      return give_up_rollback("DeploymentRollbackTemplateUnchanged",
                              "The rollback revision contains the same template as current deployment " + name);
    auto pod_template = deployment().object("spec").put("template", (*set)["spec"]["template"]);
    pod_template["metadata"]["labels"].erase(kTemplateHash);
    take_annotations(deployment(), set->root());
    if (auto cleared = clear_rollback(); !cleared) return cleared;
    context_.events().normal(owner_, "DeploymentRollback",
                             "Rolled back deployment " + name + " to revision " + std::to_string(wanted));
    return {};
  }
  return give_up_rollback("DeploymentRollbackRevisionNotFound", "Unable to find the revision to rollback to.");
}

Outcome Rollout::give_up_rollback(std::string reason, std::string message) {
  context_.events().warning(owner_, std::move(reason), std::move(message));
  return clear_rollback();
}

Outcome Rollout::clear_rollback() {
  deployment()["metadata"]["annotations"].erase(kRollbackTo);
  auto updated = context_.client().update(kDeploymentKind.resource, owner_.namespace_name, owner_.name, deployment());
  return updated ? Outcome() : fail(updated.error());
}

/// Old sets beyond the history that is kept go, the oldest revisions first.
Outcome Rollout::clean_up() {
  const auto limit = deployment()["spec"]["revisionHistoryLimit"];
  if (!limit || limit.integer() == std::numeric_limits<std::int32_t>::max()) return {};
  auto old = sets_.old;
  std::erase_if(old, [](const SetPtr& set) { return (*set)["metadata"].has("deletionTimestamp"); });
  const auto too_many = static_cast<std::int64_t>(old.size()) - limit.integer();
  std::sort(old.begin(), old.end(), [](const SetPtr& a, const SetPtr& b) {
    const auto first = revision_of(a->root()), second = revision_of(b->root());
    return first != second ? first < second : older(a, b);
  });
  for (std::int64_t i = 0; i < too_many; ++i) {
    const auto set = old[static_cast<std::size_t>(i)]->root();
    const bool busy = set["status"]["replicas"].integer() != 0 || replicas_of(set) != 0 ||
                      set["metadata"]["generation"].integer() > set["status"]["observedGeneration"].integer();
    if (busy) continue;
    if (auto removed = settled(context_.client().remove(kReplicaSetResource, owner_.namespace_name, name_of(set)));
        !removed)
      return removed;
  }
  return {};
}

Outcome Rollout::conclude(bool rolling) {
  const auto now = context_.clock().now();
  auto fresh = rolling ? rollout_status(deployment(), sets_, now) : deployment_status(deployment(), sets_, now);
  const auto before = Document::copy_of(deployment()["status"]);
  status().set(fresh.root());
  if (!before.root().equals(fresh.root())) {
    if (auto written = write_status(); !written) return written;
  }
  if (const auto wait = rolling ? next_progress_check(deployment(), fresh.root(), now) : std::nullopt)
    context_.enqueue_after(owner_.key(), *wait);
  return {};
}

Outcome Rollout::write_status() {
  auto updated = put_status(context_.client(), kDeploymentKind.resource, deployment());
  if (!updated) return fail(updated.error());
  if (updated->root().is_object()) deployment_ = std::move(*updated);
  return {};
}

}  // namespace sublet::controllers
