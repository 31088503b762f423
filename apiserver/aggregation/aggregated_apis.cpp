#include "apiserver/aggregation/aggregated_apis.h"

#include <algorithm>

#include "apiserver/aggregation/own_metrics.h"
#include "sublet/base/log.h"
#include "sublet/store/events_watcher.h"

namespace sublet::apiserver {
namespace {

constexpr std::string_view kApiServicePrefix = "apiservices.apiregistration.k8s.io/";

// A group is as far in front as its foremost version says (upstream's sortByGroupPriorityMinimum).
void put_in_order(std::vector<AggregatedApi>& apis) {
  std::map<std::string_view, std::int64_t> priority;
  for (const auto& api : apis) {
    auto& most = priority[api.service->group];
    most = std::max(most, api.service->group_priority);
  }
  std::ranges::stable_sort(apis, [&](const AggregatedApi& one, const AggregatedApi& other) {
    const ApiService &a = *one.service, &b = *other.service;
    if (a.group != b.group) {
      const auto first = priority[a.group], second = priority[b.group];
      return first != second ? first > second : a.group < b.group;
    }
    return a.version_priority > b.version_priority;
  });
}

}  // namespace

AggregatedApis::AggregatedApis(store::Store& store, bool measures) : measures_(measures) {
  auto [snapshot, subscription] =
      store.snapshot_and_watch(kApiServicePrefix, store::watch_events([this](const auto& events) { take(events); }));
  following_ = std::move(subscription);
  snapshot.scan(kApiServicePrefix, {}, [this](const store::ObjectPtr& object) {
    const MutexLock lock(mutex_);
    note(*object, false);
    return true;
  });
  const MutexLock lock(mutex_);
  loaded_ = true;
  std::erase_if(entries_, [](const auto& entry) { return !entry.second.service; });
}

AggregatedApis::~AggregatedApis() { stop(); }

void AggregatedApis::stop() { following_.reset(); }

void AggregatedApis::take(const std::vector<store::EventPtr>& events) {
  const MutexLock lock(mutex_);
  for (const auto& event : events) note(*event->object, event->type == store::Event::Type::deleted);
}

// The objects read at the start may be older than the events that the watch brought meanwhile.
void AggregatedApis::note(const store::Object& object, bool deleted) {
  const std::string name = object.key.substr(kApiServicePrefix.size());
  const auto found = entries_.find(name);
  if (found != entries_.end() && found->second.revision > object.revision) return;
  Entry entry{object.revision};
  if (!deleted) {
    const auto document = schema::Document::parse_json(object.json());
    if (!document) return log::error("aggregation.unreadable", {{"key", object.key}});
    entry.service = ApiService::read(document->root());
    if (entry.service && entry.service->local && !measures_) entry.service = nullptr;
  }
  if (!entry.service) served_.erase(name);
  if (entry.service || !loaded_)
    entries_[name] = std::move(entry);
  else
    entries_.erase(name);
  set_ = nullptr;
  any_ = std::ranges::any_of(entries_, [](const auto& each) { return each.second.service != nullptr; });
}

ApiServicePtr AggregatedApis::find(std::string_view group, std::string_view version) const {
  if (!any()) return nullptr;
  const std::string name = std::string(version) + "." + std::string(group);
  const MutexLock lock(mutex_);
  const auto found = entries_.find(name);
  return found == entries_.end() ? nullptr : found->second.service;
}

std::shared_ptr<const AggregatedSet> AggregatedApis::current() const {
  static const auto kNoApis = std::make_shared<const AggregatedSet>();
  if (!any()) return kNoApis;
  const MutexLock lock(mutex_);
  if (!set_) set_ = make();
  return set_;
}

std::shared_ptr<const AggregatedSet> AggregatedApis::make() const {
  auto made = std::make_shared<AggregatedSet>();
  std::size_t said = 0;
  for (const auto& [name, entry] : entries_) {
    if (!entry.service) continue;
    const auto served = served_.find(name);
    if (entry.service->local)
      made->apis.push_back({entry.service, {std::string(metrics_resources()), ""}});
    else
      made->apis.push_back({entry.service, served == served_.end() ? ServedApi() : served->second});
    made->key += name + "@" + std::to_string(entry.revision) + ";";
    said ^= std::hash<std::string>()(name + made->apis.back().served.resources + made->apis.back().served.openapi_url);
  }
  made->key += std::to_string(said);
  put_in_order(made->apis);
  return made;
}

void AggregatedApis::learn(const std::string& name, ServedApi served) {
  const MutexLock lock(mutex_);
  const auto found = entries_.find(name);
  if (found == entries_.end() || !found->second.service) return;
  auto& known = served_[name];
  if (known == served) return;
  known = std::move(served);
  set_ = nullptr;
}

}  // namespace sublet::apiserver
