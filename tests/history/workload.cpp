#include "tests/history/workload.h"

#include <algorithm>
#include <chrono>
#include <iterator>

#include "tests/history/object_text.h"

namespace sublet::history {
namespace {

constexpr int kList = 5;  // behind the verbs
constexpr std::chrono::milliseconds kRetryPause{2};

// Percent, by verb and LIST.
constexpr std::array<unsigned, 6> kMixed = {32, 18, 20, 12, 13, 5}, kWrites = {0, 18, 60, 19, 3, 0},
                                  kFlood = {0, 4, 0, 96, 0, 0};

int choose(const std::array<unsigned, 6>& percent, std::mt19937& random) {
  unsigned at = random() % 100;
  int verb = 0;
  while (at >= percent[static_cast<std::size_t>(verb)]) at -= percent[static_cast<std::size_t>(verb++)];
  return verb;
}

template <typename T>
void append(std::vector<T>& to, std::vector<T>&& from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

bench::Request request_of(const ObjectCall& call) {
  switch (call.verb) {
    case Verb::get:
      return {.path = object_path(call.key)};
    case Verb::create:
      return {.method = "POST", .path = kObjectsPath, .body = object_body(call.key, call.a, call.b, 0)};
    case Verb::update:
      return {
          .method = "PUT", .path = object_path(call.key), .body = object_body(call.key, call.a, call.b, call.expected)};
    case Verb::patch:
      return {.method = "PATCH",
              .path = object_path(call.key),
              .body = patch_body(call.b),
              .content_type = "application/merge-patch+json"};
    case Verb::remove:
      return {.method = "DELETE",
              .path = object_path(call.key),
              .body = call.expected != 0 ? delete_body(call.expected) : std::string()};
  }
  return {};
}

}  // namespace

void Record::merge(Record&& other) {
  append(calls, std::move(other.calls));
  append(refused, std::move(other.refused));
  append(lists, std::move(other.lists));
  append(problems, std::move(other.problems));
  for (std::size_t i = 0; i < asked.size(); ++i) asked[i] += other.asked[i];
  unknown += other.unknown;
  failed_reads += other.failed_reads;
  flood_events += other.flood_events;
  flood_begin = std::min(flood_begin, other.flood_begin);
  flood_end = std::max(flood_end, other.flood_end);
}

class Workload::Client {
 public:
  Client(Workload& workload, int index)
      : workload_(workload),
        peer_(workload.server_.tls()),
        random_(workload.options_.seed * 1000 + static_cast<unsigned>(index)),
        index_(static_cast<std::uint16_t>(index)),
        known_(workload.options_.keys) {}

  void run() {
    long number = 0;
    while ((number = workload_.next_++) < workload_.total()) {
      const bool mixed = number < workload_.options_.operations;
      flooding_ = number >= workload_.troubled();
      const int verb = choose(flooding_ ? kFlood : mixed ? kMixed : kWrites, random_);
      if (!(verb == kList ? list() : one(make_call(static_cast<Verb>(verb))))) return;
      ++record_.asked[static_cast<std::size_t>(verb)];
    }
  }

  /// Makes the call until the server has seen it; false when there is no server any more.
  bool one(ObjectCall call) {
    Timed<ObjectCall> timed;
    const HttpAnswer answer = insist(request_of(call), timed);
    if (answer.end == HttpAnswer::End::not_sent) return false;
    if (answer.end == HttpAnswer::End::cut || answer.status >= 500) {
      unknown(timed, call);
    } else if (take(answer, call)) {
      timed.call = call;
      record_.calls.push_back(timed);
    }
    return true;
  }

  Record finish() {
    // A call without an answer may have had its effect until its process ended.
    for (const auto& [index, life] : open_) record_.calls[index].answered = workload_.server_.end_of(life);
    return std::move(record_);
  }

  ObjectCall numbered(Verb verb, std::uint16_t key) {
    ObjectCall call{.verb = verb, .key = key, .client = index_};
    const std::uint32_t number = ++workload_.number_;
    if (verb == Verb::create || verb == Verb::update) call.a = number;
    if (verb != Verb::get && verb != Verb::remove) call.b = number;
    return call;
  }

 private:
  ObjectCall make_call(Verb verb) {
    const auto key = static_cast<std::uint16_t>(random_() % workload_.options_.keys);
    ObjectCall call = numbered(verb, key);
    const ObjectCall& known = known_[key];  // what this client was told last
    const bool conditional = (verb == Verb::update || verb == Verb::remove) && known.version != 0;
    if (conditional && random_() % 2 == 0) call.expected = known.version;
    if (verb == Verb::update && call.expected != 0 && random_() % 4 == 0) {
      call.a = known.a;  // changes nothing, if anything at all
      call.b = known.b;
    }
    return call;
  }

  HttpAnswer insist(const bench::Request& request, Timed<ObjectCall>& timed) {
    HttpAnswer answer;
    while (workload_.server_.wait_for_life()) {
      timed.called = now();
      answer = peer_.call(request);
      timed.answered = now();
      if (answer.end != HttpAnswer::End::not_sent) return answer;
      std::this_thread::sleep_for(kRetryPause);  // it has just died
    }
    return {};
  }

  void unknown(Timed<ObjectCall> timed, ObjectCall call) {
    if (call.verb == Verb::get) {
      ++record_.failed_reads;
      return;
    }
    ++record_.unknown;
    call.answer = Answer::unknown;
    timed.call = call;
    open_.emplace_back(record_.calls.size(), workload_.server_.lives());
    record_.calls.push_back(timed);
  }

  /// False when the answer says nothing about the object.
  bool take(const HttpAnswer& answer, ObjectCall& call) {
    if (answer.status / 100 == 2) return take_success(answer, call);
    if (answer.status == 404) {
      call.answer = Answer::absent;
      return true;
    }
    if (answer.status == 409) {
      const std::string reason = read_reason(answer.body);
      if (reason == "AlreadyExists" && call.verb == Verb::create) {
        call.answer = Answer::present;
        return true;
      }
      if (reason == "Conflict" && call.expected != 0) {
        call.answer = Answer::conflict;
        return true;
      }
    }
    const bool known = answer.status == 429 || (answer.status == 409 && call.verb == Verb::patch);
    if (!known) problem(call, answer);
    if (call.a != known_[call.key % known_.size()].a) record_.refused.push_back(call);
    return false;
  }

  bool take_success(const HttpAnswer& answer, ObjectCall& call) {
    call.answer = Answer::done;
    if (call.verb == Verb::remove) return true;
    std::string wrong;
    const auto read = read_object(answer.body, wrong);
    if (!read || !wrong.empty() || read->object.key != call.key) {
      record_.problems.push_back(wrong.empty() ? "another object was answered to " + describe(call) : wrong);
      return false;
    }
    if (call.verb != Verb::get && read->object.b != call.b) problem(call, answer);
    call.a = read->object.a;
    call.b = read->object.b;
    call.version = read->object.version;
    call.uid = read->uid;
    if (call.key < known_.size()) known_[call.key] = call;
    if (flooding_) {
      ++record_.flood_events;
      record_.flood_begin = std::min(record_.flood_begin, now());
      record_.flood_end = now();
    }
    return true;
  }

  bool list() {
    Timed<ObjectCall> timed;
    const HttpAnswer answer = insist({.path = kObjectsPath}, timed);
    if (answer.end == HttpAnswer::End::not_sent) return false;
    if (answer.end == HttpAnswer::End::cut || answer.status >= 500) {
      ++record_.failed_reads;
      return true;
    }
    std::string wrong;
    auto read = read_list(answer.body, wrong);
    if (!wrong.empty()) record_.problems.push_back(wrong);
    if (!read || !wrong.empty()) return true;
    for (std::uint16_t key = 0; key < workload_.options_.keys; ++key) {
      timed.call = {.verb = Verb::get, .answer = Answer::absent, .key = key, .client = index_};
      if (const auto found = read->objects.find(key); found != read->objects.end()) {
        timed.call.answer = Answer::done;
        timed.call.a = found->second.a;
        timed.call.b = found->second.b;
        timed.call.version = found->second.version;
      }
      record_.calls.push_back(timed);
    }
    record_.lists.push_back(std::move(*read));
    return true;
  }

  void problem(const ObjectCall& call, const HttpAnswer& answer) {
    record_.problems.push_back(describe(call) + " was answered " + std::to_string(answer.status) + ": " +
                               answer.body.substr(0, 300));
  }

  Workload& workload_;
  HttpPeer peer_;
  std::mt19937 random_;
  const std::uint16_t index_;
  std::vector<ObjectCall> known_;
  bool flooding_ = false;
  Record record_;
  std::vector<std::pair<std::size_t, int>> open_;  // calls without an answer, and the newest life that may have them
};

Workload::Workload(ServerProcess& server, WorkloadOptions options) : server_(server), options_(options) {}
Workload::~Workload() { join(); }

void Workload::run() {
  for (int i = 0; i <= options_.clients; ++i) clients_.push_back(std::make_unique<Client>(*this, i));
  for (int i = 0; i < options_.clients; ++i)
    threads_.emplace_back([client = clients_[static_cast<std::size_t>(i)].get()] { client->run(); });
}

void Workload::join() {
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void Workload::mark_end(std::uint16_t key) { clients_.back()->one(clients_.back()->numbered(Verb::create, key)); }

Record Workload::record() {
  Record out;
  for (const auto& client : clients_) out.merge(client->finish());
  return out;
}

}  // namespace sublet::history
