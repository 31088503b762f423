#include "tests/history/watchers.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <random>

#include "tests/history/object_text.h"

namespace sublet::history {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kWhole = 16 * 1024, kSlowPiece = 1024;
constexpr milliseconds kSlowPause{20}, kRewatchPause{2};
constexpr std::chrono::seconds kCatchUpWithin{120};
constexpr int kSlowBuffer = 4096;
constexpr Version kNoTarget = -1;

bool is_red(const LoggedEvent& object) { return object.a % 3 == 0; }
bool is_not_red(const LoggedEvent& object) { return object.a % 3 != 0; }
bool is_red_or_green(const LoggedEvent& object) { return object.a % 3 != 2; }
bool is_first_key(const LoggedEvent& object) { return object.key == 0; }

/// Takes whole lines from the front of `text`.
template <typename Take>
void take_lines(std::string& text, Take take) {
  std::size_t begin = 0, end = 0;
  while ((end = text.find('\n', begin)) != std::string::npos) {
    take(std::string_view(text).substr(begin, end - begin));
    begin = end + 1;
  }
  text.erase(0, begin);
}

/// The version to which a stream has come: its last event or bookmark.
Version reached(const Stream& stream, bool with_bookmarks) {
  for (auto item = stream.items.rbegin(); item != stream.items.rend(); ++item)
    if (with_bookmarks || item->kind != StreamItem::Kind::bookmark) return item->event.version;
  return 0;
}

}  // namespace

const std::vector<Selection>& selections() {
  static const std::vector<Selection> all = {
      {},
      {"labelSelector=color%3Dred", is_red},
      {"labelSelector=color%21%3Dred", is_not_red},
      {"labelSelector=color%20in%20%28red%2Cgreen%29", is_red_or_green},
      {"fieldSelector=metadata.name%3Dkey-0", is_first_key},
  };
  return all;
}

Version kept_from(std::string_view problem) {
  constexpr std::string_view kSaid = "too old resource version: ";
  const auto at = problem.find(kSaid);
  if (at == std::string_view::npos || problem.find("\"code\":410") == std::string_view::npos) return 0;
  long from = 0, kept = 0;
  const std::string rest(problem.substr(at + kSaid.size()));
  return std::sscanf(rest.c_str(), "%ld (%ld)", &from, &kept) == 2 && from < kept ? kept : 0;
}

Stream read_watch(ServerProcess& server, const Selection& selection, Version from, Version until,
                  std::string& problem) {
  Stream stream{.name = "from " + std::to_string(from) + (selection.query.empty() ? "" : " with " + selection.query),
                .selection = selection,
                .from = from};
  HttpPeer peer(server.tls());
  const std::string path = std::string(kObjectsPath) + "?watch=true&resourceVersion=" + std::to_string(from) +
                           (selection.query.empty() ? "" : "&" + selection.query);
  if (const int status = peer.start_stream(path); status != 200) {
    problem = stream.name + " was answered " + std::to_string(status);
    return stream;
  }
  std::string text;
  while (reached(stream, false) < until && problem.empty() && peer.read_stream(text, kWhole)) {
    take_lines(text, [&](std::string_view line) {
      bool ours = false;
      if (auto item = read_watch_line(line, ours, problem); item && ours) stream.items.push_back(*item);
    });
  }
  stream.complete_to = until;
  return stream;
}

enum class Manner { fast, slow, bookmarked, initial };

class Watchers::Watcher {
 public:
  Watcher(ServerProcess& server, int index, Version from, unsigned seed)
      : server_(server), peer_(server.tls()), random_(seed * 1000 + 500 + static_cast<unsigned>(index)), from_(from) {
    // Of twenty: eight fast, four slow, four bookmarked, four with initial events; each of them with and without
    // selectors.
    static constexpr Manner kManners[] = {Manner::fast, Manner::bookmarked, Manner::fast, Manner::slow,
                                          Manner::initial};
    static constexpr const char* kNames[] = {"fast", "slow", "bookmarked", "initial"};
    manner_ = kManners[index % 5];
    selection_ = selections()[static_cast<std::size_t>(index < 5 ? 0 : index % 7) % selections().size()];
    name_ = "watcher " + std::to_string(index) + " (" + kNames[static_cast<int>(manner_)] +
            (selection_.query.empty() ? "" : ", " + selection_.query) + ")";
  }

  void run() {
    while (!arrived() && !given_up_ && server_.wait_for_life()) {
      Stream stream = begin();
      const int status = peer_.start_stream(path(), manner_ == Manner::slow ? kSlowBuffer : 0);
      if (status == 200) {
        read(stream);
        from_ = std::max(from_, reached(stream, manner_ == Manner::bookmarked));
        streams_.push_back(std::move(stream));
      } else {
        if (status != 0 && status != 503) problems_.push_back(name_ + " was answered " + std::to_string(status));
        std::this_thread::sleep_for(kRewatchPause);
      }
    }
    finished_ = true;
  }

  /// From now on it is over with the event of `target`.
  void end_at(Version target) {
    target_ = target;
    if (progress_ >= target) peer_.abort();  // it waits for what will never come
  }
  void give_up() {
    given_up_ = true;
    peer_.abort();
  }
  bool finished() const { return finished_; }
  const Selection& selection() const { return selection_; }
  const std::string& name() const { return name_; }
  std::vector<Stream>& streams() { return streams_; }
  std::vector<std::string>& problems() { return problems_; }
  long expired() const { return expired_; }

 private:
  bool arrived() const { return target_ != kNoTarget && progress_ >= target_; }

  Stream begin() {
    Stream stream{.name = name_ + " from " + std::to_string(from_), .selection = selection_, .from = from_};
    stream.initial = manner_ == Manner::initial;
    if (stream.initial) stream.name = name_;
    initial_over_ = false;
    return stream;
  }

  std::string path() {
    std::string path = std::string(kObjectsPath) + "?watch=true";
    if (!selection_.query.empty()) path += "&" + selection_.query;
    if (manner_ == Manner::initial)
      path += "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=";
    else
      path += "&resourceVersion=" + std::to_string(from_);
    // Bookmarks come once a minute and at the end, so these end often.
    if (manner_ == Manner::initial || manner_ == Manner::bookmarked)
      path += "&allowWatchBookmarks=true&timeoutSeconds=" + std::to_string(1 + random_() % 4);
    return path;
  }

  void read(Stream& stream) {
    std::string text;
    while (!arrived() && !given_up_) {
      const bool slowly = manner_ == Manner::slow && target_ == kNoTarget;
      if (!peer_.read_stream(text, slowly ? kSlowPiece : kWhole)) return;
      take_lines(text, [&](std::string_view line) { take(line, stream); });
      if (slowly) std::this_thread::sleep_for(kSlowPause);
    }
  }

  void take(std::string_view line, Stream& stream) {
    bool ours = false;
    std::string problem;
    auto item = read_watch_line(line, ours, problem);
    if (const Version kept = kept_from(problem)) {
      ++expired_;
      from_ = std::max(from_, kept);
    } else if (!problem.empty()) {
      problems_.push_back(stream.name + ": " + problem);
    }
    if (!item || !ours) return;
    stream.items.push_back(*item);
    // An initial event is older than what is not sent yet: only behind their end is a version a place.
    if (item->kind == StreamItem::Kind::initial_end) initial_over_ = true;
    const bool counts = !stream.initial || initial_over_;
    if (counts && item->kind != StreamItem::Kind::bookmark) progress_ = std::max(progress_.load(), item->event.version);
  }

  ServerProcess& server_;
  HttpPeer peer_;
  std::mt19937 random_;
  Version from_;
  Manner manner_ = Manner::fast;
  Selection selection_;
  std::string name_;
  bool initial_over_ = false;  // of this stream
  std::atomic<Version> progress_{0}, target_{kNoTarget};
  std::atomic<bool> given_up_{false}, finished_{false};
  std::atomic<long> expired_{0};
  std::vector<Stream> streams_;
  std::vector<std::string> problems_;
};

Watchers::Watchers(ServerProcess& server, int count, Version from, unsigned seed) {
  log_ = std::make_unique<Watcher>(server, 0, from, seed);  // fast, and everything
  for (int i = 0; i < count; ++i) watchers_.push_back(std::make_unique<Watcher>(server, i, from, seed));
}

Watchers::~Watchers() {
  log_->give_up();
  for (const auto& watcher : watchers_) watcher->give_up();
  for (std::thread& thread : threads_) thread.join();
}

void Watchers::run() {
  threads_.emplace_back([one = log_.get()] { one->run(); });
  for (const auto& watcher : watchers_) threads_.emplace_back([one = watcher.get()] { one->run(); });
}

bool Watchers::wait_for(const std::vector<const Watcher*>& some) const {
  const auto deadline = std::chrono::steady_clock::now() + kCatchUpWithin;
  const auto all = [&] { return std::ranges::all_of(some, [](const Watcher* one) { return one->finished(); }); };
  while (!all() && std::chrono::steady_clock::now() < deadline) std::this_thread::sleep_for(milliseconds(5));
  return all();
}

EventLog Watchers::read_log(Version until, std::string& problem) {
  log_->end_at(until);
  if (!wait_for({log_.get()})) problem = "the log was not read to its end, " + std::to_string(until);
  log_->give_up();
  threads_.front().join();
  threads_.erase(threads_.begin());
  if (log_->expired() > 0) problem = "a part of the log was gone before it was read: nothing can be judged";
  for (const std::string& one : log_->problems()) problem = one;
  EventLog log;
  for (const Stream& stream : log_->streams())
    for (const StreamItem& item : stream.items)
      if (item.kind == StreamItem::Kind::event) log.push_back(item.event);
  return log;
}

std::vector<Violation> Watchers::finish(WatchCheck& check) {
  std::vector<Version> targets;
  for (const auto& watcher : watchers_) {
    targets.push_back(check.last_of(watcher->selection()));
    watcher->end_at(targets.back());
  }
  std::vector<const Watcher*> all;
  for (const auto& watcher : watchers_) all.push_back(watcher.get());
  (void)wait_for(all);
  std::vector<Violation> late;
  for (std::size_t i = 0; i < watchers_.size(); ++i)
    if (!watchers_[i]->finished())
      late.push_back({"reliable", watchers_[i]->name() + " did not get to " + std::to_string(targets[i])});
  for (const auto& watcher : watchers_) watcher->give_up();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  return late;
}

std::vector<Stream> Watchers::streams() {
  std::vector<Stream> out;
  for (const auto& watcher : watchers_)
    for (Stream& stream : watcher->streams()) out.push_back(std::move(stream));
  return out;
}

long Watchers::expired() const {
  long sum = 0;
  for (const auto& watcher : watchers_) sum += watcher->expired();
  return sum;
}

std::vector<std::string> Watchers::problems() {
  std::vector<std::string> out;
  for (const auto& watcher : watchers_)
    for (std::string& problem : watcher->problems()) out.push_back(std::move(problem));
  return out;
}

}  // namespace sublet::history
