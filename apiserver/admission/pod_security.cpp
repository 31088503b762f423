// PodSecurity: what the labels pod-security.kubernetes.io/* of a namespace say of its pods. Pods that violate what it
// enforces are refused; of pods and of the templates that make them the sender is warned; what audit finds is counted
// (there is no audit log). Running pods stay, but a writer who makes the labels stricter is warned of them.
#include <algorithm>
#include <map>
#include <set>

#include "apiserver/admission/plugins.h"
#include "apiserver/admission/pod_templates.h"
#include "apiserver/codec/object_bytes.h"
#include "sublet/base/go_quoted.h"
#include "sublet/base/metrics.h"
#include "sublet/podsecurity/check_pod.h"

namespace sublet::apiserver {
namespace {

using podsecurity::LevelVersion;
using podsecurity::Violations;
using schema::Value;

constexpr std::size_t kPodsMax = 3000;  // looked at when a namespace's labels change
// Upstream takes a second; here others wait for the same loop.
constexpr std::chrono::milliseconds kLookMax{100};

bool lists(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void count_denial(std::string_view mode, const LevelVersion& level) {
  // By what was asked for no more than by level: versions are the tenant's to choose.
  metrics::counter(
      "pod_security_evaluations_total", "Pods and templates that violate a level of Pod Security, by mode.",
      {{"decision", "deny"}, {"mode", std::string(mode)}, {"policy_level", std::string(level_name(level.level))}})
      .add();
}

/// What the labels of the attempt's namespace say; `wrong` when they say it badly.
podsecurity::Policy policy_of(const Attempt& attempt, bool& wrong) {
  const auto& defaults = attempt.context.options.pod_security.defaults;
  const auto stored = attempt.context.pending.get("namespaces/" + std::string(attempt.context.namespace_name));
  const auto speaks = [](const auto& label) { return label.first.starts_with(podsecurity::kLabelPrefix); };
  if (!stored || std::none_of(stored->index.labels.begin(), stored->index.labels.end(), speaks)) return defaults;
  const auto document = stored_document(*stored);
  std::vector<Cause> causes;
  const auto policy = podsecurity::policy_of(document ? (*document)["metadata"]["labels"] : Value(), defaults, causes);
  wrong = !causes.empty();
  return policy;
}

std::string violates(std::string_view verb, const LevelVersion& level, const Violations& found) {
  return std::string(verb) + " PodSecurity " + go_quoted(level.text()) + ": " + details_of(found);
}

// --- pods and what makes them ---

bool changes_an_image(const Value& list, const Value& before) {
  if (list.size() != before.size()) return true;
  auto old = before.begin();
  for (const Value container : list) {
    if (container["image"].text() != (*old)["image"].text()) return true;
    ++old;
  }
  return false;
}

// Ephemeral containers are only added, and found by their names.
bool changes_ephemeral(const Value& list, const Value& before) {
  return std::any_of(list.begin(), list.end(), [&](const Value& container) {
    return std::none_of(before.begin(), before.end(), [&](const Value& old) {
      return old["name"].text() == container["name"].text() && old["image"].text() == container["image"].text();
    });
  });
}

// All else of a pod that the levels are about cannot change.
bool is_significant(const Attempt& attempt) {
  const Value spec = attempt.object["spec"], old = attempt.old["spec"];
  return changes_an_image(spec["containers"], old["containers"]) ||
         changes_an_image(spec["initContainers"], old["initContainers"]) ||
         changes_ephemeral(spec["ephemeralContainers"], old["ephemeralContainers"]);
}

Outcome evaluate(const Attempt& attempt, const podsecurity::Policy& policy, const Value& pod, bool enforce) {
  const Value metadata = pod["metadata"], spec = pod["spec"];
  const auto check = [&](const LevelVersion& level) { return check_pod(level, metadata, spec); };
  Outcome outcome;
  if (enforce)
    if (const auto found = check(policy.enforce); !found.empty()) {
      count_denial("enforce", policy.enforce);
      outcome = attempt.forbid(violates("violates", policy.enforce, found));
    }
  if (!check(policy.audit).empty()) count_denial("audit", policy.audit);
  if (!outcome) return outcome;
  if (const auto found = check(policy.warn); !found.empty()) {
    count_denial("warn", policy.warn);
    attempt.context.warnings.push_back(violates("would violate", policy.warn, found));
  }
  return outcome;
}

bool is_exempt_from_standard(const Attempt& attempt, const Value& pod) {
  const auto& options = attempt.context.options.pod_security;
  const auto runtime_class = pod["spec"]["runtimeClassName"].text();
  return lists(options.exempt_namespaces, attempt.context.namespace_name) ||
         lists(options.exempt_users, attempt.context.user.name) ||
         (!runtime_class.empty() && lists(options.exempt_runtime_classes, runtime_class));
}

Outcome judge_pod(const Attempt& attempt) {
  bool wrong = false;
  const auto policy = policy_of(attempt, wrong);
  if ((policy.is_privileged() && !wrong) || is_exempt_from_standard(attempt, attempt.object)) return {};
  if (attempt.verb == WriteVerb::update && !is_significant(attempt)) return {};
  return evaluate(attempt, policy, attempt.object, true);
}

Outcome judge_maker(const Attempt& attempt, const PodMaker& maker) {
  bool wrong = false;
  const auto policy = policy_of(attempt, wrong);
  if (!wrong && policy.warn.level == podsecurity::Level::privileged &&
      policy.audit.level == podsecurity::Level::privileged)
    return {};
  const Value pod = attempt.object.path(maker.template_path);
  if (pod.missing() || is_exempt_from_standard(attempt, pod)) return {};
  return evaluate(attempt, policy, pod, false);
}

// --- namespaces ---

/// Those that stand for others first: one pod of each owner, then the rest.
std::vector<store::ObjectPtr> pods_of(const WriteContext& context, std::string_view namespace_name) {
  std::vector<store::ObjectPtr> first, rest;
  std::set<std::string> owners;
  context.pending.scan("pods/" + std::string(namespace_name) + "/", {}, [&](const store::ObjectPtr& stored) {
    const auto& owned_by = stored->index.owner_uids;
    const bool stands_for_itself = owned_by.begin() == owned_by.end() || owners.insert(*owned_by.begin()).second;
    (stands_for_itself ? first : rest).push_back(stored);
    return true;
  });
  first.insert(first.end(), rest.begin(), rest.end());
  return first;
}

std::string others(std::size_t count) {
  if (count == 0) return "";
  return " (and " + std::to_string(count) + (count == 1 ? " other pod)" : " other pods)");
}

/// Pods with the same violations are reported once, by the first name.
class StandardComplaints {
 public:
  void add(std::string what, const std::string& name) {
    auto& names = names_[std::move(what)];
    names.insert(name);
  }
  bool empty() const { return names_.empty(); }
  std::vector<std::string> texts() const {
    std::vector<std::string> all;
    for (const auto& [what, names] : names_) all.push_back(*names.begin() + others(names.size() - 1) + ": " + what);
    std::ranges::sort(all);
    return all;
  }

 private:
  std::map<std::string, std::set<std::string>> names_;
};

void warn_of_pods(const Attempt& attempt, const LevelVersion& level) {
  auto& context = attempt.context;
  const std::string name = attempt.name();
  const auto pods = pods_of(context, name);
  const auto deadline = context.clock.steady_now() + kLookMax;
  StandardComplaints complaints;
  std::size_t looked = 0, exempt = 0;
  while (looked < pods.size() && looked < kPodsMax) {
    const auto document = stored_document(*pods[looked++]);
    if (!document) continue;
    const Value pod = document->root();
    const auto runtime_class = pod["spec"]["runtimeClassName"].text();
    if (!runtime_class.empty() && lists(context.options.pod_security.exempt_runtime_classes, runtime_class)) {
      ++exempt;
      continue;
    }
    if (const auto found = check_pod(level, pod["metadata"], pod["spec"]); !found.empty())
      complaints.add(reasons_of(found), pod["metadata"]["name"].string());
    if (context.clock.steady_now() > deadline) break;
  }
  if (looked < pods.size())
    context.warnings.push_back("new PodSecurity enforce level only checked against the first " +
                               std::to_string(looked - exempt) + " of " + std::to_string(pods.size() - exempt) +
                               " existing pods");
  if (complaints.empty()) return;
  context.warnings.push_back("existing pods in namespace " + go_quoted(name) +
                             " violate the new PodSecurity enforce level " + go_quoted(level.text()));
  for (auto& text : complaints.texts()) context.warnings.push_back(std::move(text));
}

/// What an exempt namespace asks for in vain; "": nothing.
std::string ignored_labels(const podsecurity::Policy& policy, const Value& labels) {
  std::string all;
  const auto tell = [&](std::string_view mode, const LevelVersion& level) {
    const auto label = std::string(podsecurity::kLabelPrefix).append(mode);
    if (level.level == podsecurity::Level::privileged || !(labels.has(label) || labels.has(label + "-version"))) return;
    all.append(all.empty() ? "" : ", ").append(mode).append("=").append(level.text());
  };
  tell("enforce", policy.enforce);
  tell("audit", policy.audit);
  tell("warn", policy.warn);
  return all;
}

bool warn_if_exempt(const Attempt& attempt, const podsecurity::Policy& policy) {
  const auto& options = attempt.context.options.pod_security;
  const auto name = attempt.name();
  if (!lists(options.exempt_namespaces, name)) return false;
  if (!policy.is_privileged() && policy != options.defaults)
    attempt.context.warnings.push_back(
        "namespace " + go_quoted(name) + " is exempt from Pod Security, and the policy (" +
        ignored_labels(policy, attempt.object["metadata"]["labels"]) + ") will be ignored");
  return true;
}

Outcome judge_namespace(const Attempt& attempt) {
  const auto& defaults = attempt.context.options.pod_security.defaults;
  std::vector<Cause> causes, old_causes;
  const auto policy = podsecurity::policy_of(attempt.object["metadata"]["labels"], defaults, causes);
  const bool created = attempt.verb == WriteVerb::create;
  const auto before =
      created ? podsecurity::Policy() : podsecurity::policy_of(attempt.old["metadata"]["labels"], defaults, old_causes);
  if (!causes.empty() && (created || causes != old_causes))
    return fail(invalid_status("", "Namespace", attempt.name(), std::move(causes)));
  if (created) {
    warn_if_exempt(attempt, policy);
    return {};
  }
  const auto& enforce = policy.enforce;
  if (enforce == before.enforce || enforce.level == podsecurity::Level::privileged) return {};
  if (enforce.version == before.enforce.version && enforce.level <= before.enforce.level) return {};
  if (!warn_if_exempt(attempt, policy)) warn_of_pods(attempt, enforce);
  return {};
}

}  // namespace

Outcome pod_security(const Attempt& attempt) {
  const auto& resource = attempt.context.resource;
  if (resource.group.empty() && resource.resource == "pods") return judge_pod(attempt);
  if (resource.group.empty() && resource.resource == "namespaces") return judge_namespace(attempt);
  if (const auto* const maker = pod_maker_of(resource)) return judge_maker(attempt, *maker);
  return {};
}

}  // namespace sublet::apiserver
