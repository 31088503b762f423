// Namespaces that are being deleted: content, conditions, finalizer. What is left is waited for by watches, not by
// looking again and again.

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include "controllers/namespace_content.h"
#include "controllers/runtime/calls.h"
#include "controllers/runtime/kinds.h"
#include "sublet/base/mutex.h"
#include "sublet/controllers/controller.h"

namespace sublet::controllers {
namespace {

using schema::Document;
using schema::Value;

// The objects of another server have no watch here. Upstream waits this long for every kind.
constexpr std::chrono::seconds kCheckAgain{1}, kCheckFinalizersAgain{8};
constexpr std::string_view kNamespaceFinalizer = "kubernetes";

struct ConditionFacts {
  std::string_view type, ok_reason, ok_message;
};
constexpr ConditionFacts kNamespaceConditions[] = {
    {"NamespaceDeletionDiscoveryFailure", "ResourcesDiscovered", "All resources successfully discovered"},
    {"NamespaceDeletionGroupVersionParsingFailure", "ParsedGroupVersions", "All legacy kube types successfully parsed"},
    {"NamespaceDeletionContentFailure", "ContentDeleted",
     "All content successfully deleted, may be waiting on finalization"},
    {"NamespaceContentRemaining", "ContentRemoved", "All content successfully removed"},
    {"NamespaceFinalizersRemaining", "ContentHasNoFinalizers", "All content-preserving finalizers finished"}};

struct Trouble {
  std::string_view type, reason;
  std::string message;
};

std::string joined(std::vector<std::string> parts) {
  std::sort(parts.begin(), parts.end());
  std::string text;
  for (const auto& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

std::vector<Trouble> troubles_of(const DeletionReport& report) {
  std::vector<Trouble> troubles;
  if (!report.undiscovered.empty())
    troubles.push_back(
        {"NamespaceDeletionDiscoveryFailure", "DiscoveryFailed",
         "Discovery failed for some groups, " + std::to_string(report.undiscovered.size()) +
             " failing: unable to retrieve the complete list of server APIs: " + joined(report.undiscovered)});
  if (!report.errors.empty())
    troubles.push_back({"NamespaceDeletionContentFailure", "ContentDeletionFailed",
                        "Failed to delete all resource types, " + std::to_string(report.errors.size()) +
                            " remaining: " + joined(report.errors)});
  std::vector<std::string> counts, holds;
  std::map<std::string, int> finalizers;
  for (const auto& remains : report.remains) {
    counts.push_back(remains.resource.resource + "." + remains.resource.group + " has " +
                     std::to_string(remains.count) + " resource instances");
    for (const auto& [finalizer, count] : remains.finalizers) finalizers[finalizer] += count;
  }
  for (const auto& [finalizer, count] : finalizers)
    holds.push_back(finalizer + " in " + std::to_string(count) + " resource instances");
  if (!counts.empty())
    troubles.push_back(
        {"NamespaceContentRemaining", "SomeResourcesRemain", "Some resources are remaining: " + joined(counts)});
  if (!holds.empty())
    troubles.push_back({"NamespaceFinalizersRemaining", "SomeFinalizersRemain",
                        "Some content in the namespace has finalizers remaining: " + joined(holds)});
  return troubles;
}

/// Writes one condition; returns true when it changed.
bool put_namespace_condition(Value conditions, std::string_view type, std::string_view status, std::string_view reason,
                             std::string_view message, WallTime now) {
  Value found;
  for (auto condition : conditions)
    if (condition["type"].text() == type) found = condition;
  bool same = found && found["status"].text() == status && found["reason"].text() == reason &&
              found["message"].text() == message;
  if (same) return false;
  if (!found) {
    found = conditions.push_object();
    found.put("type", type);
  }
  if (found["status"].text() != status) found.put("lastTransitionTime", format_time(now));
  found.put("status", status);
  found.put("reason", reason);
  found.put("message", message);
  return true;
}

bool put_namespace_conditions(Value status, const std::vector<Trouble>& troubles, WallTime now) {
  auto conditions = status.array("conditions");
  bool changed = false;
  for (const auto& facts : kNamespaceConditions) {
    auto trouble =
        std::find_if(troubles.begin(), troubles.end(), [&](const Trouble& t) { return t.type == facts.type; });
    changed |= trouble == troubles.end()
                   ? put_namespace_condition(conditions, facts.type, "False", facts.ok_reason, facts.ok_message, now)
                   : put_namespace_condition(conditions, facts.type, "True", trouble->reason, trouble->message, now);
  }
  return changed;
}

/// Namespaces whose content is not known in full, as other API servers cannot be had. Threads: any.
class Undiscovered {
 public:
  void note(const std::string& name, bool undiscovered) {
    const MutexLock lock(mutex_);
    if (undiscovered)
      names_.insert(name);
    else
      names_.erase(name);
  }
  std::set<std::string> all() const {
    const MutexLock lock(mutex_);
    return names_;
  }

 private:
  mutable Mutex mutex_;
  std::set<std::string> names_ SUBLET_GUARDED_BY(mutex_);
};

class NamespaceController final : public Controller {
 public:
  explicit NamespaceController(Context& context) : context_(context), namespaces_(context.lister(kNamespaces)) {}

  void start() override {
    context_.on_change(kNamespaces, [this](const Change& change) {
      if (is_ending(change.object())) context_.enqueue(std::string(name_of(change.object())));
    });
    context_.on_change(kApiServices, [this](const Change&) {
      for (const auto& name : undiscovered_.all()) context_.enqueue(name);
    });
  }

  Outcome reconcile(const std::string& key) override {
    auto stored = namespaces_.get("", key);
    if (!stored) {
      waits_.erase(key);
      undiscovered_.note(key, false);
      return {};
    }
    auto current = document_of(*stored);
    if (!is_ending(*stored) || !holds(current.root())) return {};
    auto report = delete_content(context_, key);
    if (auto outcome = report_conditions(key, current, troubles_of(report)); !outcome) return outcome;
    // Comes back when an APIService can be had again, or after a growing delay.
    undiscovered_.note(key, !report.undiscovered.empty());
    if (!report.errors.empty()) return fail(Reason::internal_error, joined(report.errors));
    if (!report.undiscovered.empty()) return fail(Reason::service_unavailable, joined(report.undiscovered));
    if (!report.remains.empty()) {
      wait_for(key, report);
      return {};
    }
    waits_.erase(key);
    return finalize(key);
  }

 private:
  static bool holds(const Value& object) {
    for (auto finalizer : object["spec"]["finalizers"])
      if (finalizer.text() == kNamespaceFinalizer) return true;
    return false;
  }

  /// `current` is brought up to date with what the server answers.
  Outcome report_conditions(const std::string& key, Document& current, const std::vector<Trouble>& troubles) {
    if (!put_namespace_conditions(current.root().object("status"), troubles, context_.clock().now())) return {};
    current["metadata"].erase("resourceVersion");
    return settled(context_.client().update(kNamespaces, "", key, current.root(), "status"));
  }

  Outcome finalize(const std::string& key) {
    auto stored = namespaces_.get("", key);
    if (!stored) return {};
    auto current = document_of(*stored);
    auto finalizers = current.root().object("spec").array("finalizers");
    finalizers.retain([](const Value& finalizer) { return finalizer.text() != kNamespaceFinalizer; });
    return settled(context_.client().update(kNamespaces, "", key, current.root(), "finalize"));
  }

  void wait_for(const std::string& key, const DeletionReport& report) {
    std::vector<std::unique_ptr<store::Subscription>> watches;
    for (const auto& left : report.remains) {
      if (left.revision != 0)
        watches.push_back(context_.enqueue_on_removal(left.resource, key, left.revision, key));
      else
        context_.enqueue_after(key, left.finalizers.empty() ? kCheckAgain : kCheckFinalizersAgain);
    }
    waits_[key] = std::move(watches);
  }

  Context& context_;
  const Lister namespaces_;
  std::map<std::string, std::vector<std::unique_ptr<store::Subscription>>> waits_;  // by namespace
  Undiscovered undiscovered_;
};

}  // namespace

std::unique_ptr<Controller> make_namespace_controller(Context& context) {
  return std::make_unique<NamespaceController>(context);
}

}  // namespace sublet::controllers
