#include "apiserver/flowcontrol/flow_control.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sublet/apiserver/flow_objects.h"
#include "sublet/base/log.h"
#include "sublet/store/events_watcher.h"

namespace sublet::apiserver {
namespace {

using schema::Document;

constexpr std::string_view kSchemaPrefix = "flowschemas.flowcontrol.apiserver.k8s.io/",
                           kLevelPrefix = "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io/";
constexpr std::string_view kFlowPrefixes[] = {kLevelPrefix, kSchemaPrefix};
constexpr std::string_view kExempt = "exempt";
constexpr std::size_t kNamedMax = 64;  // schemas and levels with figures of their own; a tenant may make more

// The first names have figures of their own, the others share theirs.
std::string shown_name(const std::string& name) {
  static Mutex mutex;
  static std::set<std::string> shown;
  const MutexLock lock(mutex);
  if (shown.size() < kNamedMax) shown.insert(name);
  return shown.contains(name) ? name : "other";
}

metrics::Labels labels_of(const FlowSchema& schema) {
  return {{"priority_level", shown_name(schema.level_name)}, {"flow_schema", shown_name(schema.name)}};
}

void add_gauges(PriorityLevel& level, const std::string& name) {
  const metrics::Labels labels = {{"priority_level", shown_name(name)}};
  level.seats_gauge = &metrics::gauge("apiserver_flowcontrol_current_executing_seats",
                                      "Seats of requests that are worked on, by priority level.", labels);
  level.limit_gauge =
      &metrics::gauge("apiserver_flowcontrol_nominal_limit_seats", "Seats that are a priority level's own.", labels);
}

void observe_wait(const Flow& flow, SteadyTime::duration waited) {
  auto labels = labels_of(*flow.schema);
  labels.emplace_back("execute", "true");
  metrics::histogram("apiserver_flowcontrol_request_wait_duration_seconds",
                     "Time that requests waited for a seat, of those that waited.", labels)
      .observe(std::chrono::duration<double>(waited).count());
}

/// Whether requests may still be sorted into this flow: it was made for this level as it is now.
bool is_current(const Flow& flow, const std::shared_ptr<PriorityLevel>& level) {
  return flow.level == level && flow.exempt == level->spec().exempt && flow.level_uid == level->spec().uid;
}

/// The order in which schemas are asked whether a request is theirs.
bool comes_before(const std::shared_ptr<const Flow>& a, const std::shared_ptr<const Flow>& b) {
  return std::tie(a->schema->precedence, a->schema->name) < std::tie(b->schema->precedence, b->schema->name);
}

void settle(Seat& seat, FlowControl& keeper, const Flow& flow, unsigned seats) {
  seat.keeper = &keeper;
  seat.level = flow.level.get();
  seat.executing = flow.executing;
  seat.seats = seats;
  flow.executing->add(1);
  flow.dispatched->add();
  flow.level->seats_gauge->add(seats);
}

/// Keeps a sum over all levels right across a change of one of them.
class Recount {
 public:
  Recount(std::int64_t& sum, const PriorityLevel& level) : sum_(sum), level_(level) { sum_ -= level_.spoken_for(); }
  ~Recount() { sum_ += level_.spoken_for(); }
  Recount(const Recount&) = delete;
  Recount& operator=(const Recount&) = delete;

 private:
  std::int64_t& sum_;
  const PriorityLevel& level_;
};

}  // namespace

void FlowControl::Calls::run() const {
  for (const auto& request : resumed) request->resume();
  for (const auto& request : refused) request->refuse(why);
}

FlowControl::FlowControl(store::Store& store, Clock& clock, std::int64_t seats,
                         std::set<std::string, std::less<>> components)
    : clock_(clock), seats_(seats), components_(std::move(components)) {
  for (const auto& object : flow_objects()) {
    if (!object.mandatory) continue;
    const auto root = object.object.root();
    if (object.resource == kFlowSchemas)
      imagined_schemas_.push_back(std::make_shared<const FlowSchema>(FlowSchema::read(root)));
    else
      imagined_levels_.push_back(LevelSpec::read(root));
  }
  for (const auto prefix : kFlowPrefixes) {
    auto [snapshot, subscription] =
        store.snapshot_and_watch(prefix, store::watch_events([this](const auto& events) { take(events); }));
    following_.push_back(std::move(subscription));
    snapshot.scan(prefix, {}, [this](const store::ObjectPtr& object) {
      const MutexLock lock(mutex_);
      note(*object, false);
      return true;
    });
  }
  const MutexLock lock(mutex_);
  for (const auto& level : imagined_levels_) changed_levels_.insert(level.name);
  loaded_ = true;
  gone_.clear();
  rebuild();
}

FlowControl::~FlowControl() { stop(); }

void FlowControl::stop() {
  following_.clear();
  Calls calls;
  calls.why = Refusal::stopping;
  {
    const MutexLock lock(mutex_);
    stopped_ = true;
    for (const auto& [name, level] : levels_)
      for (auto& request : level->take_all()) calls.refused.push_back(std::move(request));
    for (const auto& level : leaving_)
      for (auto& request : level->take_all()) calls.refused.push_back(std::move(request));
    waiting_ = 0;
  }
  for (const auto& request : calls.refused) request->flow->in_queue->add(-1);
  calls.run();
}

// What is stored
// -------------------------------------------------------------------------------------------------------

void FlowControl::take(const std::vector<store::EventPtr>& events) {
  Calls calls;
  {
    const MutexLock lock(mutex_);
    for (const auto& event : events) note(*event->object, event->type == store::Event::Type::deleted);
    if (!loaded_) return;
    rebuild();
    if (waiting_ > 0) dispatch(clock_.steady_now(), calls);
  }
  calls.run();
}

// The objects read at the start may be older than the events that the watch brought meanwhile.
void FlowControl::note(const store::Object& object, bool deleted) {
  if (object.key.starts_with(kLevelPrefix))
    changed_levels_.insert(object.key.substr(kLevelPrefix.size()));
  else
    changed_schemas_.insert(object.key.substr(kSchemaPrefix.size()));
  const auto found = entries_.find(object.key);
  if (found != entries_.end() && found->second.revision > object.revision) return;
  if (const auto gone = gone_.find(object.key); gone != gone_.end() && gone->second > object.revision) return;
  if (deleted) {
    if (!loaded_) gone_[object.key] = object.revision;
    if (found != entries_.end()) entries_.erase(found);
    return;
  }
  const auto document = Document::parse_json(object.json());
  if (!document) return log::error("flowcontrol.unreadable", {{"key", object.key}});
  Entry entry{object.revision};
  if (object.key.starts_with(kSchemaPrefix))
    entry.schema = std::make_shared<const FlowSchema>(FlowSchema::read(document->root()));
  else
    entry.level = std::make_shared<const LevelSpec>(LevelSpec::read(document->root()));
  entries_[object.key] = std::move(entry);
}

// A tenant may store thousands, and every write of one of them comes here: what has not changed is kept.
void FlowControl::rebuild() {
  const auto levels = std::exchange(changed_levels_, {}), schemas = std::exchange(changed_schemas_, {});
  const auto is_changed = [&](const auto& schema) { return schemas.contains(schema->name); };
  if (levels.empty() && !std::ranges::any_of(imagined_schemas_, is_changed)) return replace_flows(schemas);
  for (const auto& name : levels) settle_level(name);
  share_seats();
  auto flows = std::make_shared<Flows>();
  for (auto at = entries_.lower_bound(kSchemaPrefix); at != entries_.end() && at->second.schema; ++at) {
    Entry& entry = at->second;
    const auto level = levels_.find(entry.schema->level_name);
    if (level == levels_.end()) {  // dangling: it acts on nothing
      entry.flow.reset();
      continue;
    }
    if (!entry.flow || !is_current(*entry.flow, level->second)) entry.flow = flow_of(entry.schema, level->second);
    flows->push_back(entry.flow);
  }
  // An imagined one makes room for the one that somebody has stored.
  for (const auto& schema : imagined_schemas_) {
    const auto stored = entries_.find(std::string(kSchemaPrefix) + schema->name);
    if (stored != entries_.end() && levels_.contains(stored->second.schema->level_name)) continue;
    flows->push_back(flow_of(schema, levels_.at(schema->level_name)));
  }
  std::ranges::sort(*flows, comes_before);
  const auto exempt = std::ranges::find(*flows, kExempt, [](const auto& flow) { return flow->schema->name; });
  if (exempt != flows->end()) exempt_ = *exempt;
  flows_ = std::move(flows);
}

// Of these schemas alone, where all levels are as they were.
void FlowControl::replace_flows(const std::set<std::string>& schemas) {
  auto flows = std::make_shared<Flows>(*flows_);
  for (const auto& name : schemas) {
    std::erase_if(*flows, [&](const auto& flow) { return flow->schema->name == name; });
    const auto stored = entries_.find(std::string(kSchemaPrefix) + name);
    if (stored == entries_.end()) continue;
    Entry& entry = stored->second;
    const auto level = levels_.find(entry.schema->level_name);
    if (level == levels_.end()) continue;
    entry.flow = flow_of(entry.schema, level->second);
    flows->insert(std::ranges::upper_bound(*flows, entry.flow, comes_before), entry.flow);
  }
  flows_ = std::move(flows);
}

// Makes a level what is stored of it; the mandatory ones are there in any case.
void FlowControl::settle_level(const std::string& name) {
  const auto stored = entries_.find(std::string(kLevelPrefix) + name);
  const auto imagined = std::ranges::find(imagined_levels_, name, &LevelSpec::name);
  if (stored == entries_.end() && imagined == imagined_levels_.end()) {
    if (const auto found = levels_.find(name); found != levels_.end()) {
      found->second->leave();
      leaving_.push_back(std::move(found->second));
      levels_.erase(found);
    }
    return;
  }
  const LevelSpec& wanted = stored == entries_.end() ? *imagined : *stored->second.level;
  auto& level = levels_[name];
  if (!level) {
    level = std::make_shared<PriorityLevel>();
    add_gauges(*level, name);
  }
  if (!(level->spec() == wanted)) level->configure(wanted);
}

void FlowControl::share_seats() {
  std::int64_t shares = 0;
  for (const auto& [name, level] : levels_) shares += level->spec().shares;
  for (const auto& [name, level] : levels_) {
    const LevelSpec& spec = level->spec();
    PriorityLevel::Limits limits;
    const auto part =
        static_cast<double>(seats_ * spec.shares) / static_cast<double>(std::max<std::int64_t>(shares, 1));
    limits.nominal = static_cast<std::int64_t>(std::ceil(part));
    const auto percent = [&](std::int64_t of) {
      return static_cast<std::int64_t>(std::round(static_cast<double>(limits.nominal) * static_cast<double>(of) / 100));
    };
    limits.kept = limits.nominal - percent(spec.lendable_percent);
    limits.most = spec.borrowing_percent ? limits.nominal + percent(*spec.borrowing_percent) : seats_;
    level->limit(limits);
  }
  spoken_for_ = 0;
  for (const auto& [name, level] : levels_) spoken_for_ += level->spoken_for();
}

std::shared_ptr<const Flow> FlowControl::flow_of(const std::shared_ptr<const FlowSchema>& schema,
                                                 const std::shared_ptr<PriorityLevel>& level) const {
  auto flow = std::make_shared<Flow>();
  flow->schema = schema;
  flow->level = level;
  flow->exempt = flow->level->spec().exempt;
  flow->schema_uid = schema->uid;
  flow->level_uid = flow->level->spec().uid;
  const auto labels = labels_of(*schema);
  flow->dispatched = &metrics::counter("apiserver_flowcontrol_dispatched_requests_total",
                                       "Requests that got their seats, by priority level and flow schema.", labels);
  flow->executing = &metrics::gauge("apiserver_flowcontrol_current_executing_requests",
                                    "Requests that have seats, by priority level and flow schema.", labels);
  flow->in_queue = &metrics::gauge("apiserver_flowcontrol_current_inqueue_requests",
                                   "Requests that wait for seats, by priority level and flow schema.", labels);
  return flow;
}

// Requests
// -------------------------------------------------------------------------------------------------------------

std::shared_ptr<const Flow> FlowControl::classify(const Attributes& attributes) const {
  std::shared_ptr<const Flows> flows;
  {
    const MutexLock lock(mutex_);
    if (components_.contains(std::string_view(attributes.user->name))) return exempt_;
    flows = flows_;
  }
  for (const auto& flow : *flows)
    if (flow->schema->matches(attributes)) return flow;
  return flows->back();  // the catch-all matches everybody; unless somebody has bent it a moment ago
}

// Seats of its own are a level's unless they are lent out; what it lends and does not use is anybody's.
bool FlowControl::fits(const PriorityLevel& level, unsigned seats) const {
  const auto used = level.in_use() + seats;
  if (level.spec().exempt || used <= level.limits().kept) return true;
  if (used > level.limits().most && level.in_use() > 0) return false;
  const auto of_others = spoken_for_ - level.spoken_for();
  return of_others + used <= seats_ || level.in_use() == 0;  // one at least, however wide
}

bool FlowControl::enter(const Flow& flow, unsigned seats, std::uint64_t flow_value, Seat& seat) {
  PriorityLevel& level = *flow.level;
  {
    const MutexLock lock(mutex_);
    // No request overtakes a waiting one, neither in the same level nor by borrowing.
    if (level.waiting() > 0 || !fits(level, seats)) return false;
    if (waiting_ > 0 && !level.spec().exempt && level.in_use() + seats > level.limits().nominal) return false;
    const Recount recount(spoken_for_, level);
    seat.since = seats > 1 ? clock_.steady_now() : SteadyTime();
    seat.queue = level.take(seats, flow_value, seat.since);
  }
  settle(seat, *this, flow, seats);
  return true;
}

void FlowControl::park(const Flow& flow, unsigned seats, std::uint64_t flow_value, Seat& seat,
                       const ParkedPtr& request) {
  const auto now = clock_.steady_now();
  request->flow = &flow;
  request->seat = &seat;
  request->seats = seats;
  Calls calls;
  {
    const MutexLock lock(mutex_);
    PriorityLevel& level = *flow.level;
    if (stopped_)
      calls.why = Refusal::stopping;
    else if (!level.spec().queuing)
      calls.why = Refusal::concurrency_limit;
    if (stopped_ || !level.spec().queuing || !level.park(request, flow_value, now)) {
      calls.refused.push_back(request);
    } else {
      ++waiting_;
      flow.in_queue->add(1);
      dispatch(now, calls);
    }
  }
  for (const auto& refused : calls.refused) count_refused(*refused, calls.why);
  calls.run();
}

void FlowControl::give_up(const ParkedPtr& request) {
  {
    const MutexLock lock(mutex_);
    if (!request->flow || !request->flow->level->forget(*request)) return;
    --waiting_;
  }
  request->flow->in_queue->add(-1);
  count_refused(*request, Refusal::time_out);
  request->refuse(Refusal::time_out);
}

void FlowControl::give_back(Seat& seat) {
  PriorityLevel& level = *seat.level;
  seat.executing->add(-1);
  level.seats_gauge->add(-static_cast<std::int64_t>(seat.seats));
  Calls calls;
  {
    const MutexLock lock(mutex_);
    const bool asks_time = seat.queue >= 0 || waiting_ > 0;
    const auto now = asks_time ? clock_.steady_now() : SteadyTime();
    {
      const Recount recount(spoken_for_, level);
      level.give_back(seat.seats, seat.queue, now - seat.since, now);
    }
    if (!leaving_.empty())
      std::erase_if(leaving_, [](const auto& gone) { return gone->in_use() == 0 && gone->waiting() == 0; });
    if (waiting_ > 0) dispatch(now, calls);
  }
  calls.run();
}

bool FlowControl::is_wanted(const Seat& seat) const {
  const MutexLock lock(mutex_);
  const PriorityLevel& level = *seat.level;
  if (level.spec().exempt) return false;
  return level.waiting() > 0 || (waiting_ > 0 && level.in_use() > level.limits().nominal);
}

bool FlowControl::dispatch_one(PriorityLevel& level, bool borrowing, SteadyTime now, Calls& calls) {
  const auto* next = level.next(now);
  if (!next || !fits(level, next->seats)) return false;
  const bool own = level.in_use() + next->seats <= level.limits().nominal || level.in_use() == 0;
  if (!own && !borrowing) return false;
  ParkedPtr request;
  {
    const Recount recount(spoken_for_, level);
    request = level.take_next(now);
  }
  --waiting_;
  request->seat->queue = std::exchange(request->queue, -1);
  request->seat->since = now;
  settle(*request->seat, *this, *request->flow, request->seats);
  request->flow->in_queue->add(-1);
  observe_wait(*request->flow, now - request->since);
  calls.resumed.push_back(std::move(request));
  return true;
}

// First who wants what is its own; borrowers only while none of those is left.
void FlowControl::dispatch(SteadyTime now, Calls& calls) {
  bool owed = false;
  for (const auto& [name, level] : levels_) {
    while (waiting_ > 0 && dispatch_one(*level, false, now, calls)) continue;
    const auto* next = level->next(now);
    owed = owed || (next && level->in_use() + next->seats <= level->limits().nominal);
  }
  for (const auto& level : leaving_)
    while (waiting_ > 0 && dispatch_one(*level, true, now, calls)) continue;
  if (owed) return;
  for (const auto& [name, level] : levels_)
    while (waiting_ > 0 && dispatch_one(*level, true, now, calls)) continue;
}

unsigned FlowControl::widest(const Flow& flow) const {
  const MutexLock lock(mutex_);
  return flow.level->widest();
}

int FlowControl::retry_after(const Flow& flow) {
  const MutexLock lock(mutex_);
  return flow.level->retry_after(clock_.steady_now());
}

void FlowControl::count_refused(const ParkedRequest& request, Refusal why) {
  auto labels = labels_of(*request.flow->schema);
  labels.emplace_back("reason", std::string(refusal_name(why)));
  metrics::counter("apiserver_flowcontrol_rejected_requests_total",
                   "Requests refused for want of seats, by priority level, flow schema and reason.", labels)
      .add();
}

}  // namespace sublet::apiserver
