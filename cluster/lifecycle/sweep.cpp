#include "cluster/lifecycle/sweep.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <span>
#include <thread>

#include "cluster/host/host_namespace.h"
#include "cluster/host/inhabitants.h"
#include "cluster/host/owner.h"
#include "cluster/host/wait_until.h"
#include "cluster/objects/api_access.h"
#include "cluster/objects/exported_access.h"
#include "cluster/objects/identity.h"
#include "cluster/objects/pod_access.h"
#include "cluster/objects/policies.h"
#include "sublet/base/mutex.h"
#include "sublet/kube/pipeline.h"
#include "sublet/syncer/custom_kinds.h"
#include "sublet/syncer/host_footprint.h"

namespace sublet::cluster {
namespace {

using schema::Value;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Deletions in flight, on as many connections: enough for a host that commits in groups, few enough not to slow down
// its other clients.
constexpr std::size_t kDeletionsInFlight = 16;
constexpr milliseconds kPauseMin{5}, kPauseMax{500};
constexpr int kPausesPerList = 4;  // a list that takes long is followed by a longer pause

struct Item {
  kube::Resource resource;
  std::string namespace_name, name, uid;
  bool going;  // its deletion was requested
};

// "2200 pods", "12 configmaps, 394 secrets"
std::string count_text(const std::vector<Item>& items) {
  std::map<std::string, std::size_t> counts;
  for (const Item& item : items) ++counts[item.resource.resource];
  std::string text;
  for (const auto& [resource, count] : counts)
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + resource;
  return text;
}

// The host is busy or slow: the request may be repeated.
bool may_pass(const Status& status) {
  return status.is(Reason::too_many_requests) || status.is(Reason::server_timeout) || status.is(Reason::timeout) ||
         status.is(Reason::service_unavailable);
}

// Requests the deletion of many objects at once, each by its uid, and remembers which were requested.
class Deletions {
 public:
  explicit Deletions(const Host& host) : host_(host), pipeline_(loop_.loop(), host.client, kDeletionsInFlight) {}

  /// Returns when each was answered; calls `on_answers` with their number from time to time.
  Outcome ask(const std::vector<Item>& items, std::optional<int> grace,
              const std::function<void(std::size_t)>& on_answers);
  /// The host's last answer that it is too busy; "" when it never was.
  std::string trouble() const {
    const MutexLock lock(mutex_);
    return trouble_;
  }

 private:
  void answered(const std::string& key, const Result<std::string>& answer);

  const Host& host_;
  mutable Mutex mutex_;
  CondVar came_;
  std::size_t waiting_ SUBLET_GUARDED_BY(mutex_) = 0;
  std::set<std::string> asked_ SUBLET_GUARDED_BY(mutex_);
  std::string trouble_ SUBLET_GUARDED_BY(mutex_);
  Outcome failure_ SUBLET_GUARDED_BY(mutex_);
  net::LoopThread loop_{"sweep"};
  kube::Pipeline pipeline_;  // last: its callbacks use all of the above
};

void Deletions::answered(const std::string& key, const Result<std::string>& answer) {
  const MutexLock lock(mutex_);
  // conflict: another object has that name by now, which is not ours to delete.
  if (answer || answer.error().is(Reason::not_found) || answer.error().is(Reason::conflict))
    asked_.insert(key);
  else if (may_pass(answer.error()))
    trouble_ = answer.error().message;
  else
    failure_ = fail(answer.error());
  --waiting_;
  came_.notify_one();
}

Outcome Deletions::ask(const std::vector<Item>& items, std::optional<int> grace,
                       const std::function<void(std::size_t)>& on_answers) {
  std::size_t sent = 0;
  for (const Item& item : items) {
    const std::string key = item.uid + (grace ? " without grace" : "");
    kube::DeleteOptions options;
    options.uid = item.uid;
    options.grace_period_seconds = grace;
    {
      const MutexLock lock(mutex_);
      if ((item.going && !grace) || asked_.contains(key)) continue;
      ++waiting_;
    }
    ++sent;
    pipeline_.send(host_.client.remove_request(item.resource, item.namespace_name, item.name, options),
                   [this, key](const Result<std::string>& answer) { answered(key, answer); });
  }
  MutexLock lock(mutex_);
  while (!came_.wait_for(lock, milliseconds(100), [&]() SUBLET_REQUIRES(mutex_) { return waiting_ == 0; }))
    on_answers(sent - waiting_);
  return failure_;
}

class Sweep {
 public:
  Sweep(const Host& host, const VirtualCluster& cluster, steady_clock::time_point deadline, Progress& progress)
      : host_(host), cluster_(cluster), deadline_(deadline), progress_(progress), deletions_(host) {}

  /// Deletes and waits; with `force_late` what has not gone within half of the time goes without grace.
  Outcome take_away(std::span<const syncer::Swept> kinds, bool force_late);

 private:
  Result<std::vector<Item>> what_is_left(std::span<const syncer::Swept> kinds) const;
  Status out_of_patience(const std::vector<Item>& left) const;
  std::vector<std::string> selectors(bool in_cluster) const;

  const Host& host_;
  const VirtualCluster& cluster_;
  const steady_clock::time_point deadline_;
  Progress& progress_;
  Deletions deletions_;
};

// Selects by uid, and in the namespace also objects that lost the uid label on the host but have the label with the
// name, which is ours alone there (owner.h): they would otherwise run on unnoticed.
std::vector<std::string> Sweep::selectors(bool in_cluster) const {
  std::vector<std::string> out{host_selector(cluster_)};
  if (!in_cluster)
    out.push_back(std::string(syncer::kLabelManagedBy) + "=" + cluster_.name + ",!" +
                  std::string(syncer::kLabelTenantUid));
  return out;
}

Result<std::vector<Item>> Sweep::what_is_left(std::span<const syncer::Swept> kinds) const {
  std::vector<Item> items;
  for (const auto& [resource, ends_with_grace, in_cluster] : kinds)
    for (const auto& selector : selectors(in_cluster)) {
      const auto listed = host_.client.list(resource, in_cluster ? "" : cluster_.host_namespace,
                                            {.label_selector = selector, .metadata_only = true});
      if (!listed && listed.error().is(Reason::not_found)) continue;  // a host that does not serve it
      if (!listed) return fail(listed.error());
      for (const Value item : listed->root()["items"]) {
        const Value metadata = item["metadata"];
        items.push_back({resource, metadata["namespace"].string(), metadata["name"].string(), metadata["uid"].string(),
                         metadata.has("deletionTimestamp")});
      }
    }
  return items;
}

Status Sweep::out_of_patience(const std::vector<Item>& left) const {
  const auto going = static_cast<std::size_t>(std::ranges::count_if(left, &Item::going));
  std::string text =
      count_text(left) + " of " + cluster_.name + " are still in host namespace " + cluster_.host_namespace + ": ";
  text += going == left.size() ? "all of them are going" : std::to_string(going) + " of them are going";
  if (going < left.size() && !deletions_.trouble().empty()) text += " (the host said: " + deletions_.trouble() + ")";
  return fail(Reason::timeout, text + "; run the command again to wait on, or look at their finalizers").value();
}

Outcome Sweep::take_away(std::span<const syncer::Swept> kinds, bool force_late) {
  const auto impatient = steady_clock::now() + (deadline_ - steady_clock::now()) / 2;
  for (bool asked_once = false;; asked_once = true) {
    const auto begun = steady_clock::now();
    const auto left = what_is_left(kinds);
    if (!left) return fail(left.error());
    if (left->empty()) return {};
    const std::string text = count_text(*left) + " left";
    progress_.update(text);
    const auto looked = steady_clock::now();
    // Even if the first list took long, deletions are requested once.
    if (asked_once && looked >= deadline_) return fail(out_of_patience(*left));
    const auto grace = force_late && looked > impatient ? std::optional(0) : std::nullopt;
    if (auto asked = deletions_.ask(
            *left, grace,
            [&](std::size_t answered) { progress_.update(text + ", " + std::to_string(answered) + " told to go"); });
        !asked)
      return asked;
    std::this_thread::sleep_for(
        std::clamp<steady_clock::duration>((looked - begun) * kPausesPerList, kPauseMin, kPauseMax));
  }
}

// The namespace controller of a real host starts five seconds after the deletion; waiting would gain nothing, and a
// create into that namespace waits by itself (host_namespace.h). The embedded host finishes at once, and may be stopped
// next.
Outcome remove_namespace(const Host& host, const std::string& host_namespace, const std::string& uid,
                         steady_clock::time_point deadline, Progress& progress) {
  kube::DeleteOptions options;
  options.uid = uid;
  const auto removed = host.client.remove(kNamespaces, "", host_namespace, options);
  if (!removed && !removed.error().is(Reason::not_found) && !removed.error().is(Reason::conflict))
    return fail(removed.error());
  if (!host.embedded) {
    progress.warn("host namespace " + host_namespace + " is empty and terminating; the host finishes that");
    return {};
  }
  if (wait_until_namespace_is_gone(host, host_namespace, deadline)) return {};
  return fail(Reason::timeout, "host namespace " + host_namespace + " is still terminating");
}

}  // namespace

Outcome sweep_host(const Host& host, const VirtualCluster& cluster, bool may_take_namespace,
                   std::chrono::seconds patience, Progress& progress) {
  const auto deadline = steady_clock::now() + patience;
  Sweep sweep(host, cluster, deadline, progress);
  // First pods, so that none runs without the objects that it uses; then the rest at once.
  auto context = translate_context(cluster);
  if (!context) return fail(context.error());
  if (auto learnt = syncer::learn_served_kinds(host.client, *context); !learnt) return learnt;
  const std::vector<syncer::Swept> all = syncer::swept_from_host(*context);
  std::vector<syncer::Swept> first, then;
  for (const syncer::Swept& swept : all) (swept.ends_with_grace ? first : then).push_back(swept);
  if (std::ranges::find(all, kServiceAccounts, &syncer::Swept::resource) == all.end())
    then.push_back({kServiceAccounts});
  for (const kube::Resource& resource : policy_resources())
    if (std::ranges::find(all, resource, &syncer::Swept::resource) == all.end()) then.push_back({resource});
  if (cluster.pod_access.given())
    for (const kube::Resource& resource : pod_access_resources())
      if (std::ranges::find(all, resource, &syncer::Swept::resource) == all.end()) then.push_back({resource});
  for (const kube::Resource& resource : api_access_resources(syncer::config_of(*context)))
    if (std::ranges::find(then, resource, &syncer::Swept::resource) == then.end() &&
        std::ranges::find(all, resource, &syncer::Swept::resource) == all.end())
      then.push_back({resource});
  const auto exports = exports_of(cluster, syncer::config_of(*context));
  if (std::ranges::any_of(exports, [&](const auto& one) { return one.secret_namespace != cluster.host_namespace; }))
    then.push_back({{"", "v1", "secrets"}, false, true});
  if (auto gone = sweep.take_away(first, true); !gone) return gone;
  if (auto gone = sweep.take_away(then, false); !gone) return gone;
  std::vector<syncer::Swept> identity;
  for (const auto& [resource, in_cluster, policy] : identity_resources())
    identity.push_back({resource, false, in_cluster});
  // Rights in other namespaces, where the template maps objects into the tenant.
  if (std::ranges::any_of(syncer::host_rights(*context),
                          [](const auto& right) { return !right.host_namespace.empty(); }))
    for (const auto& [resource, in_cluster, policy] : identity_resources())
      if (!in_cluster) identity.push_back({resource, false, true});
  if (auto gone = sweep.take_away(identity, false); !gone) return gone;
  // The name last: until then no other virtual cluster can claim it.
  if (auto given = release_name(host, cluster); !given) return given;
  if (!may_take_namespace) return {};
  const auto uid = uid_of_namespace_by_sublet(host, cluster.host_namespace);
  if (!uid) return {};
  if (const Inhabitants others = inhabitants_of(host, cluster.host_namespace); !others.none()) {
    progress.warn("host namespace " + cluster.host_namespace + " stays, since it holds " + others.text());
    return {};
  }
  return remove_namespace(host, cluster.host_namespace, *uid, deadline, progress);
}

}  // namespace sublet::cluster
