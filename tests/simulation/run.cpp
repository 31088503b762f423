#include "tests/simulation/run.h"

#include <memory>
#include <optional>

#include "sublet/syncer/carried_kinds.h"
#include "sublet/syncer/mirrored_kinds.h"
#include "sublet/syncer/syncer.h"
#include "sublet/syncer/tenant_rights.h"
#include "tests/simulation/checks.h"
#include "tests/simulation/network.h"
#include "tests/simulation/order.h"
#include "tests/simulation/world.h"

namespace sublet::simulation {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kChaosSteps = 4000;
constexpr int kStepsToSettle = 30'000;
constexpr seconds kTimeToSettle{600};
constexpr seconds kRetriesMax{70};    // what failed is tried again within it; a token lasts longer
constexpr seconds kInformersMax{12};  // the same of an informer; its watches last longer
constexpr seconds kTokensLooked{301};
constexpr int kNestedMax = 3;
constexpr const char* kSyncerUser = "syncer";

syncer::TranslateContext the_context() {
  syncer::TranslateContext context;
  context.virtual_cluster = kVirtualCluster;
  context.virtual_cluster_uid = kVirtualClusterUid;
  context.host_namespace = kHostNamespace;
  context.host_service_account = "workload";
  context.api_server_host = "10.1.2.3";
  context.api_server_port = "443";
  return context;
}

// As subletd has it: what comes from the host is the syncer's alone.
apiserver::ServerOptions tenant_options() {
  apiserver::ServerOptions options;
  options.unix_socket_user = kSyncerUser;
  options.service_addresses_of_host = true;
  options.service_address_wait = milliseconds(0);  // nobody in a simulation waits in real time
  options.component_rights.push_back({kSyncerUser, syncer::tenant_rights(the_context())});
  for (const syncer::MirroredKind& kind : syncer::mirrored_kinds(the_context()))
    options.mirrored_from_host.push_back(
        {kind.resource.group, kind.resource.resource, std::string(syncer::kLabelFromHost), kind.next_step});
  for (const auto& [resource, kind, judged] : syncer::carried_kinds(the_context()))
    options.carried_to_host.push_back({resource.group, resource.resource, kind, judged});
  return options;
}

class Run {
 public:
  Run(std::uint64_t seed, RunOptions options)
      : seed_(seed), script_(seed / kSeedsPerScript), dice_(seed), trace_(clock_, options.keep_trace) {
    network_.crash_at(options.crash_at_write, options.crash_after_commit);
  }

  RunResult whole() {
    world_.prepare();
    begin_life();
    chaos();
    calm();
    bool settled = settle("after the faults");
    clock_.advance(kTokensLooked);  // after the time of day has jumped, tokens are looked at within it
    settled = settled && settle("after the faults, and some minutes");
    if (settled) {
      checks_.at_rest();
      bounded();
      result_.end = checks_.end();
      result_.waits_for_others = checks_.waits_for_others();
      nothing_to_do();
    }
    end_life();
    result_.seed = seed_;
    result_.violations = checks_.violations();
    result_.trace_digest = trace_.digest();
    result_.trace = trace_.lines();
    result_.tally = tally_;
    result_.writes = network_.writes();
    result_.crash_points = network_.writes_to_be_sent();
    result_.simulated_seconds = std::chrono::duration<double>(clock_.passed()).count();
    return std::move(result_);
  }

 private:
  // --- the syncer's lives ---

  void begin_life() {
    trace_.add("a syncer begins");
    ++result_.lives;
    network_.begin_life();
    syncer::SyncerOptions options;
    options.context = the_context();
    options.clock = &clock_;
    options.random = &random_;
    strand_ = std::make_unique<SimStrand>(clock_);
    executor_ = std::make_unique<SimExecutor>();
    syncer_ = std::make_unique<syncer::Syncer>(*strand_, *executor_, kube::Client(network_.line_to(tenant_)),
                                               kube::Client(network_.line_to(host_)), std::move(options));
    network_.from_strand(true);
    syncer_->begin();
    network_.from_strand(false);
    serving_ = false;
  }

  void end_life() {
    network_.crash();
    syncer_.reset();
    strand_.reset();
    executor_.reset();
  }

  /// A crashed one is buried, once nothing of it is on the stack.
  void bury() {
    if (!network_.crashed() || !syncer_) return;
    end_life();
    begins_at_ = clock_.steady_now() + milliseconds(dice_.below(3000));
  }

  // --- steps: each says whether there was anything to do ---

  bool step_strand() {
    if (!strand_ || network_.crashed() || !strand_->has_work()) return false;
    network_.from_strand(true);
    strand_->step();
    network_.from_strand(false);
    return true;
  }

  bool step_executor() {
    if (!syncer_ || network_.crashed()) return false;
    if (!serving_) {
      if (!syncer_->synced()) return false;
      serving_ = true;
      syncer_->serve();
      return true;
    }
    if (nested_ > 0 && !executor_) return false;
    const auto key = executor_->step();
    if (!key) return false;
    network_.count_step();
    trace_.add("worked off " + *key);
    if (nested_ > 0) tally_.add(Fault::interleaved);
    return true;
  }

  bool step_syncer() {
    switch (dice_.below(4)) {
      case 0:
        return network_.deliver() || step_strand() || step_executor();
      case 1:
        return step_strand() || network_.deliver() || step_executor();
      default:
        return step_executor() || step_strand() || network_.deliver();
    }
  }

  /// While a request is under way.
  void meanwhile() {
    if (nested_ >= kNestedMax || !dice_.one_in(6)) return;
    ++nested_;
    switch (dice_.below(4)) {
      case 0:
        if (!calm_) dice_.one_in(3) ? (void)world_.user_acts() : (void)world_.host_works();
        break;
      case 1:
        clock_.advance(milliseconds(dice_.below(20)));
        break;
      default:
        (void)step_syncer();
    }
    --nested_;
  }

  // --- the phase with faults ---

  void trouble() {
    switch (dice_.below(14)) {
      case 0:
      case 1:
        network_.hold();
        break;
      case 2:
      case 3:
        (void)network_.break_watch();
        break;
      case 4:
      case 5:
        (void)network_.compact();
        break;
      case 6:
        if (dice_.one_in(3)) network_.take_away();
        break;
      case 7:
        if (dice_.one_in(3)) step_clock();
        break;
      case 8:
        (void)network_.arrive_late();
        break;
      default:
        world_.trouble();
    }
  }

  void step_clock() {
    const bool back = dice_.one_in(2);
    const seconds by(60 + static_cast<int>(dice_.below(7200)));
    clock_.step(back ? -by : by);
    tally_.add(back ? Fault::clock_back : Fault::clock_forward);
    trace_.add(std::string("fault: the time of day goes ") + (back ? "back" : "forward") + " by " +
               std::to_string(by.count()) + " s");
  }

  void chaos() {
    bool user_is_done = false;
    for (int step = 0; step < kChaosSteps && !user_is_done; ++step) {
      ++result_.steps;
      bury();
      if (!syncer_ && clock_.steady_now() >= begins_at_) begin_life();
      const std::size_t choice = dice_.below(48);
      if (choice == 0)
        user_is_done = !world_.user_acts();
      else if (choice < 7)
        (void)world_.host_works();
      else if (choice == 7)
        trouble();
      else if (choice < 10 || !step_syncer())
        clock_.advance(milliseconds(1 + dice_.below(dice_.one_in(8) ? 3000 : 40)));
      checks_.foreign_untouched(world_.foreign());
      if (!checks_.violations().empty()) return;
    }
  }

  // --- the phase without ---

  void calm() {
    bury();
    while (world_.user_acts()) {
    }
    if (dice_.one_in(2)) (void)network_.arrive_late();
    world_.leave();
    network_.calm();
    calm_ = true;
    (void)network_.arrive_late();
    if (!syncer_) begin_life();
    trace_.add("calm");
  }

  bool step_calm() {
    if (dice_.one_in(4) && (world_.host_finishes() || world_.user_insists())) return true;
    return step_syncer() || world_.host_finishes() || world_.user_insists();
  }

  /// When something is due that must be waited for; what only recurs (tokens, watches' ends) does not count.
  std::optional<SteadyTime> next_due() const {
    std::optional<SteadyTime> next;
    const auto consider = [&](std::optional<SteadyTime> due, seconds within) {
      if (due && *due <= clock_.steady_now() + within && (!next || *due < *next)) next = due;
    };
    consider(executor_->next_due(), kRetriesMax);
    consider(strand_->next_due(), kInformersMax);
    return next;
  }

  bool settle(const std::string& when) {
    const SteadyTime deadline = clock_.steady_now() + kTimeToSettle;
    for (int step = 0; step < kStepsToSettle && clock_.steady_now() < deadline; ++step) {
      ++result_.steps;
      if (network_.crashed()) {  // at the write that was chosen
        end_life();
        begin_life();
      }
      if (step_calm()) continue;
      const auto due = next_due();
      if (!due) {
        const auto same = syncer_->caught_up();
        if (same && *same) return true;
        checks_.fail("nothing is under way, and the syncer's copies are not what the servers have, " + when);
        return false;
      }
      clock_.advance_to(*due);
    }
    checks_.fail("it does not settle, " + when);
    return false;
  }

  void bounded() {
    const std::uint64_t all = static_cast<std::uint64_t>(tenant_.revision() + host_.revision());
    const std::uint64_t ours = checks_.host_changes + checks_.tenant_changes, theirs = all - ours;
    if (ours > 3 * theirs)
      checks_.fail("too many writes: " + std::to_string(ours) + " of the syncer for " + std::to_string(theirs) +
                   " of everybody else");
  }

  void nothing_to_do() {
    end_life();
    const store::Revision tenant = tenant_.revision(), host = host_.revision();
    begin_life();
    if (!settle("by a syncer that begins")) return;
    syncer_->resync();
    if (!settle("after a resync")) return;
    if (tenant_.revision() != tenant) checks_.fail("a syncer with nothing to do wrote to the tenant");
    if (host_.revision() != host) checks_.fail("a syncer with nothing to do wrote to the host");
  }

  const std::uint64_t seed_;
  const Script script_;
  Dice dice_;
  SimClock clock_;
  Trace trace_;
  Tally tally_;
  RunResult result_;
  SeededRandom random_{seed_ ^ 3};
  Side tenant_{"tenant", clock_, seed_ ^ 1, tenant_options(), member(kSyncerUser, {"system:authenticated"})};
  Side host_{"host", clock_, seed_ ^ 2, {}, member(kSyncerUser, {"system:masters"})};
  World world_{tenant_, host_, script_, dice_, tally_, trace_};
  Checks checks_{tenant_, host_, clock_};
  Network network_{
      tenant_,
      host_,
      clock_,
      dice_,
      tally_,
      trace_,
      {[this] { meanwhile(); }, [this](Side& side, const net::Request& request,
                                       store::Revision before) { checks_.executed(side, request, before); }}};
  std::unique_ptr<SimStrand> strand_;
  std::unique_ptr<SimExecutor> executor_;
  std::unique_ptr<syncer::Syncer> syncer_;
  SteadyTime begins_at_{};
  bool serving_ = false, calm_ = false;
  int nested_ = 0;
};

}  // namespace

RunResult run(std::uint64_t seed, RunOptions options) { return Run(seed, options).whole(); }

}  // namespace sublet::simulation
