#include "syncer/border/outage.h"

#include <algorithm>
#include <utility>

#include "sublet/base/back_off.h"
#include "sublet/base/log.h"

namespace sublet::syncer {

using std::chrono::milliseconds;

namespace {

// The line's own key on the queue: when a pause is over. No key of a kind is such.
const std::string kTurn = "~turn";

using Report = std::function<void(const Answer&)>;

/// An API server says in JSON that a part of it is away; what stands before one that is gone says 502 to 504 in its own
/// words.
bool from_the_server(int code, const net::Headers& headers) {
  if (code < 502 || code > 504) return true;
  return code == 503 && headers.get("Content-Type").starts_with("application/json");
}

class ReportingObserver final : public net::ResponseObserver {
 public:
  ReportingObserver(std::shared_ptr<net::ResponseObserver> observer, Clock& clock, Report report)
      : observer_(std::move(observer)), clock_(clock), started_(clock.steady_now()), report_(std::move(report)) {}
  void on_head(int code, const net::Headers& headers) override {
    answered_ = true;
    report_({from_the_server(code, headers), code, {}, elapsed()});
    observer_->on_head(code, headers);
  }
  void on_body(std::string_view chunk) override { observer_->on_body(chunk); }
  void on_end(Outcome outcome) override {
    if (!outcome && !answered_) report_({false, 0, outcome.error().message, elapsed()});
    observer_->on_end(std::move(outcome));
  }

 private:
  milliseconds elapsed() const { return std::chrono::duration_cast<milliseconds>(clock_.steady_now() - started_); }

  const std::shared_ptr<net::ResponseObserver> observer_;
  Clock& clock_;
  const SteadyTime started_;
  const Report report_;
  bool answered_ = false;
};

class ReportingTransport final : public net::Transport {
 public:
  ReportingTransport(kube::Client client, Clock& clock, Report report)
      : client_(std::move(client)), clock_(clock), report_(std::move(report)) {}
  std::unique_ptr<net::Exchange> start(net::Request request, std::shared_ptr<net::ResponseObserver> observer,
                                       milliseconds timeout) override {
    return client_.transport().start(
        std::move(request), std::make_shared<ReportingObserver>(std::move(observer), clock_, report_), timeout);
  }

 private:
  const kube::Client client_;  // owns the transport
  Clock& clock_;
  const Report report_;
};

}  // namespace

kube::Client reporting(kube::Client client, Clock& clock, Report report) {
  kube::ClientOptions options = client.options();
  return kube::Client(std::make_shared<ReportingTransport>(std::move(client), clock, std::move(report)),
                      std::move(options));
}

void Outage::note_answer(bool answered) {
  silent_ = !answered;
  if (!answered || !closed_) return;
  const MutexLock lock(mutex_);
  if (closed_) open();
}

bool Outage::may_work(const std::string& key) {
  if (!closed_ && key != kTurn) return true;
  const MutexLock lock(mutex_);
  if (key == kTurn) return take_turn(), false;
  if (!closed_) return true;
  const SteadyTime now = clock_.steady_now();
  const bool is_new = !waits_.contains(key);
  const bool goes = now >= next_ || (is_new && tried_ < kSilentKeys);
  if (goes) {
    leave(key);
    next_ = now + pause();  // should this one never come back
  } else {
    wait(key, false);
  }
  ask_turn();
  return goes;
}

void Outage::add_unanswered(const std::string& key) {
  const MutexLock lock(mutex_);
  const SteadyTime now = clock_.steady_now();
  if (!closed_) {
    closed_ = true;
    closed_since_ = now;
    tries_ = 0;
    tried_ = 0;
  } else {
    ++tries_;
  }
  next_ = now + pause();
  wait(key, true);
  ask_turn();
}

void Outage::note_progress() {
  if (!closed_) return;
  const MutexLock lock(mutex_);
  if (!closed_) return;
  next_ = clock_.steady_now();
  ask_turn();
}

std::size_t Outage::waiting() const {
  const MutexLock lock(mutex_);
  return waits_.size();
}

std::vector<std::string> Outage::take_due_reports() {
  if (!closed_) return {};
  const MutexLock lock(mutex_);
  if (!closed_ || clock_.steady_now() - closed_since_ < kReportAfter) return {};
  return std::exchange(unreported_, {});
}

milliseconds Outage::pause() { return in_upper_half(doubled(kFirstPause, kLongestPause, tries_), random_); }

void Outage::wait(const std::string& key, bool tried) {
  const auto [place, is_new] = waits_.try_emplace(key, tried);
  if (is_new) line_.push_back(key);
  if (reported_.insert(key).second) unreported_.push_back(key);
  if (tried && (is_new || !place->second)) ++tried_;
  place->second = place->second || tried;
}

void Outage::leave(const std::string& key) {
  const auto place = waits_.find(key);
  if (place == waits_.end()) return;
  if (place->second) --tried_;
  waits_.erase(place);
  std::erase(line_, key);
}

void Outage::ask_turn() {
  queue_.add_after(kTurn, std::max(milliseconds(0), std::chrono::ceil<milliseconds>(next_ - clock_.steady_now())));
}

void Outage::take_turn() {
  if (!closed_ || line_.empty()) return;
  if (clock_.steady_now() < next_) return ask_turn();
  std::string key = std::move(line_.front());
  line_.pop_front();
  queue_.add(key);
  line_.push_back(std::move(key));
}

void Outage::open() {
  const auto lasted = clock_.steady_now() - closed_since_;
  const bool long_one = lasted >= kLongOutage;
  if (long_one)
    log::info("syncer.host_back", {{"away_seconds", std::chrono::duration_cast<std::chrono::seconds>(lasted).count()},
                                   {"waiting", waits_.size()}});
  for (const std::string& key : line_) {
    if (!long_one && waits_[key])
      queue_.retry(key);
    else
      queue_.add(key);
  }
  line_.clear();
  waits_.clear();
  reported_.clear();
  unreported_.clear();
  closed_ = false;
}

}  // namespace sublet::syncer
