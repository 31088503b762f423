#include "tests/simulation/network.h"

#include <algorithm>
#include <utility>

#include "sublet/kube/json_scan.h"

namespace sublet::simulation {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::size_t number_of(const Side& side) { return side.name() == "host" ? 1 : 0; }

bool is_watch(const net::Request& request) { return request.query().find("watch=") != std::string_view::npos; }
bool is_write(const net::Request& request) { return request.method != "GET"; }

std::string status_text(int code, std::string_view reason, std::string_view message) {
  return R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":")" + std::string(message) +
         R"(","reason":")" + std::string(reason) + R"(","code":)" + std::to_string(code) + "}";
}

tl::unexpected<Status> no_answer() { return fail(Reason::service_unavailable, "the connection broke"); }

}  // namespace

/// What a list or a watch has to say, and has not yet said.
struct Network::Stream {
  struct Piece {
    enum class Kind { head, body, end } kind;
    int code = 0;
    net::Headers headers{};
    std::string text{};  // a watch's: one event
    Outcome outcome{};
    std::uint64_t step = 0;  // the reconcilers', when it came
  };
  std::uint64_t id = 0;
  std::shared_ptr<Life> life;
  Side* side = nullptr;
  std::string place;  // "host /api/v1/pods"
  bool watch = false;
  std::deque<Piece> pieces;
  std::string unfinished;  // of the last event
  Observer observer;       // null: nobody listens any more
  std::unique_ptr<net::Exchange> inner;
  SteadyTime held_until{};
  std::uint64_t steps = 0;  // Network::steps_, as of the last piece

  void close() {
    observer.reset();
    inner.reset();
    pieces.clear();
  }
};

/// Hears the server, and cuts a watch's bytes into events.
class Network::Feed final : public net::ResponseObserver {
 public:
  Feed(std::weak_ptr<Stream> stream, const std::uint64_t& steps) : stream_(std::move(stream)), steps_(steps) {}
  void on_head(int code, const net::Headers& headers) override {
    push({.kind = Stream::Piece::Kind::head, .code = code, .headers = headers, .step = steps_});
  }
  void on_body(std::string_view chunk) override {
    const auto stream = stream_.lock();
    if (!stream) return;
    stream->unfinished.append(chunk);
    for (std::size_t end; stream->watch && (end = stream->unfinished.find('\n')) != std::string::npos;) {
      push({.kind = Stream::Piece::Kind::body, .text = stream->unfinished.substr(0, end + 1), .step = steps_});
      stream->unfinished.erase(0, end + 1);
    }
  }
  void on_end(Outcome outcome) override {
    const auto stream = stream_.lock();
    if (!stream) return;
    if (!stream->unfinished.empty())
      push({.kind = Stream::Piece::Kind::body, .text = std::exchange(stream->unfinished, {}), .step = steps_});
    push({.kind = Stream::Piece::Kind::end, .outcome = std::move(outcome), .step = steps_});
  }

 private:
  void push(Stream::Piece piece) {
    if (const auto stream = stream_.lock(); stream && stream->observer) stream->pieces.push_back(std::move(piece));
  }
  const std::weak_ptr<Stream> stream_;
  const std::uint64_t& steps_;
};

class Network::Exchange final : public net::Exchange {
 public:
  explicit Exchange(std::shared_ptr<Stream> stream) : stream_(std::move(stream)) {}
  ~Exchange() override { stream_->close(); }
  void pause(bool) override {}

 private:
  const std::shared_ptr<Stream> stream_;
};

class Network::Line final : public net::Transport {
 public:
  Line(Network& network, std::shared_ptr<Life> life, Side& side)
      : network_(network), life_(std::move(life)), side_(side) {}
  std::unique_ptr<net::Exchange> start(net::Request request, std::shared_ptr<net::ResponseObserver> observer,
                                       milliseconds) override {
    return network_.start(life_, side_, std::move(request), std::move(observer));
  }

 private:
  Network& network_;
  const std::shared_ptr<Life> life_;
  Side& side_;
};

Network::Network(Side& tenant, Side& host, SimClock& clock, Dice& dice, Tally& tally, Trace& trace, Hooks hooks)
    : tenant_(tenant),
      host_(host),
      clock_(clock),
      dice_(dice),
      tally_(tally),
      trace_(trace),
      hooks_(std::move(hooks)),
      life_(std::make_shared<Life>(Life{false})) {}

Network::~Network() = default;

void Network::begin_life() { life_ = std::make_shared<Life>(); }

void Network::crash() {
  life_->alive = false;
  for (const auto& stream : streams_) stream->close();
}

std::shared_ptr<net::Transport> Network::line_to(Side& side) { return std::make_shared<Line>(*this, life_, side); }

void Network::calm() {
  calm_ = true;
  for (auto& until : away_until_) until = {};
  for (const auto& stream : streams_) stream->held_until = {};
}

bool Network::away(const Side& side) const { return clock_.steady_now() < away_until_[number_of(side)]; }

std::string Network::place(const Side& side, const net::Request& request) const {
  std::string_view path = request.path();
  // A tenant's event is named after the host's uid, which is another one in each process.
  if (path.find("/events/") != std::string_view::npos) path = path.substr(0, path.rfind('.'));
  return side.name() + " " + std::string(path);
}

std::unique_ptr<net::Exchange> Network::start(const std::shared_ptr<Life>& life, Side& side, net::Request request,
                                              Observer observer) {
  if (from_strand_) return stream(life, side, std::move(request), std::move(observer));
  const auto answer = call(life, side, request);
  if (answer) {
    observer->on_head(answer->code, answer->headers);
    observer->on_body(answer->body);
  }
  observer->on_end(answer ? Outcome() : fail(answer.error()));
  return nullptr;
}

// Calls ---------------------------------------------------------------------------------------------------------------

Result<net::Response> Network::call(const std::shared_ptr<Life>& life, Side& side, const net::Request& request) {
  if (!life->alive) return no_answer();
  hooks_.meanwhile();
  if (!life->alive) return no_answer();
  if (auto instead = fault_before(side, request)) return std::move(*instead);
  const bool crashes = is_crash_point(request);
  if (crashes && !crash_after_) return die(Fault::crash_before_write, "before");
  auto answer = execute(side, request);
  if (crashes) return die(Fault::crash_after_write, "after");
  if (!calm_ && is_write(request)) {
    if (dice_.one_in(60)) {
      tally_.add(Fault::reply_lost);
      trace_.add("fault: reply lost");
      return no_answer();
    }
    if (dice_.one_in(250)) return die(Fault::crash_after_write, "after");
  }
  hooks_.meanwhile();
  if (!life->alive) return no_answer();
  return answer;
}

bool Network::is_crash_point(const net::Request& request) { return is_write(request) && ++asked_ == crash_at_; }

tl::unexpected<Status> Network::die(Fault fault, const char* when) {
  tally_.add(fault);
  trace_.add(std::string("fault: the syncer crashes ") + when + " a write");
  crash();
  return no_answer();
}

Result<net::Response> Network::execute(Side& side, const net::Request& request) {
  const store::Revision before = side.revision();
  auto answer = side.call(request);
  if (is_write(request)) ++writes_;
  trace_.add(request.method + " " + place(side, request) + " -> " +
             (answer ? std::to_string(answer->code) : answer.error().message));
  hooks_.executed(side, request, before);
  return answer;
}

Result<net::Response> Network::refuse(Fault fault, int code, std::string_view reason, net::Headers headers) {
  tally_.add(fault);
  trace_.add("fault: " + std::to_string(code));
  headers.set("Content-Type", "application/json");
  return net::Response{code, std::move(headers), status_text(code, reason, "injected")};
}

std::optional<Result<net::Response>> Network::fault_before(Side& side, const net::Request& request) {
  trace_.add("ask " + request.method + " " + place(side, request));
  if (away(side)) {
    trace_.add("fault: " + side.name() + " is away");
    return no_answer();
  }
  if (calm_) return std::nullopt;
  if (is_write(request) && dice_.one_in(250)) {
    if (!late_ && dice_.one_in(2)) late_ = Late{&side, request};
    return die(Fault::crash_before_write, "before");
  }
  switch (dice_.below(240)) {
    case 0:
    case 1:
    case 2:
      if (!is_write(request)) return std::nullopt;
      return refuse(Fault::conflict, 409, "Conflict");
    case 3:
    case 4: {
      net::Headers headers;
      headers.set("Retry-After", std::to_string(1 + dice_.below(3)));
      return refuse(Fault::too_many_requests, 429, "TooManyRequests", std::move(headers));
    }
    case 5:
    case 6:
      return refuse(Fault::unavailable, 503, "ServiceUnavailable");
    case 7:
    case 8:
      tally_.add(Fault::request_lost);
      trace_.add("fault: request lost");
      return no_answer();
    default:
      return std::nullopt;
  }
}

bool Network::arrive_late() {
  if (!late_) return false;
  const Late late = *std::exchange(late_, std::nullopt);
  tally_.add(Fault::late_write);
  trace_.add("fault: a write of the crashed syncer arrives");
  (void)execute(*late.side, late.request);
  return true;
}

// Streams -------------------------------------------------------------------------------------------------------------

/// At an older revision that is still there, as a replica that is behind would answer.
void Network::make_stale(Side& side, net::Request& request) {
  const store::Revision now = side.revision(), oldest = std::max<store::Revision>(side.store().compacted(), now - 40);
  if (oldest >= now || request.query().find("continue=") != std::string_view::npos) return;
  const store::Revision then =
      oldest + static_cast<store::Revision>(dice_.below(static_cast<std::size_t>(now - oldest)));
  request.target += (request.query().empty() ? "?" : "&") + std::string("resourceVersionMatch=Exact&resourceVersion=") +
                    std::to_string(then);
  tally_.add(number_of(side) == 0 ? Fault::tenant_stale_list : Fault::host_stale_list);
  trace_.add("fault: list of " + place(side, request) + " as of " + std::to_string(then) + ", not " +
             std::to_string(now));
}

std::unique_ptr<net::Exchange> Network::stream(const std::shared_ptr<Life>& life, Side& side, net::Request request,
                                               Observer observer) {
  std::erase_if(streams_, [](const auto& one) { return !one->observer; });
  const auto stream = std::make_shared<Stream>();
  stream->id = ++opened_;
  stream->life = life;
  stream->side = &side;
  stream->place = place(side, request);
  stream->watch = is_watch(request);
  stream->observer = std::move(observer);
  streams_.push_back(stream);
  const auto feed = std::make_shared<Feed>(stream, steps_);
  if (!life->alive || away(side) || (!calm_ && dice_.one_in(40))) {
    feed->on_end(no_answer());
    return std::make_unique<Exchange>(stream);
  }
  if (!calm_ && !stream->watch && dice_.one_in(12)) make_stale(side, request);
  if (stream->watch) {
    stream->inner = side.open(std::move(request), feed);
    return std::make_unique<Exchange>(stream);
  }
  const auto answer = side.call(std::move(request));
  if (answer) {
    feed->on_head(answer->code, answer->headers);
    feed->on_body(answer->body);
  }
  feed->on_end(answer ? Outcome() : fail(answer.error()));
  return std::make_unique<Exchange>(stream);
}

std::vector<std::shared_ptr<Network::Stream>> Network::open_streams(bool with_news) const {
  std::vector<std::shared_ptr<Stream>> open;
  for (const auto& stream : streams_)
    if (stream->observer && stream->life->alive &&
        (!with_news || (!stream->pieces.empty() && stream->held_until <= clock_.steady_now())))
      open.push_back(stream);
  return open;
}

namespace {

std::string_view object_of(std::string_view event) { return kube::json_member(event, "object").value_or(""); }
std::string member_of(std::string_view event, std::string_view name) {
  return kube::json_unquote(
      kube::json_member(kube::json_member(object_of(event), "metadata").value_or(""), name).value_or(""));
}
std::string type_of(std::string_view event) {
  return kube::json_unquote(kube::json_member(event, "type").value_or(""));
}

}  // namespace

/// Leaves out a state that another one of the same object follows.
void Network::coalesce(Stream& stream) {
  for (std::size_t i = 0; i + 1 < stream.pieces.size(); ++i) {
    const std::string& text = stream.pieces[i].text;
    if (type_of(text) != "MODIFIED") continue;
    const std::string uid = member_of(text, "uid");
    for (std::size_t j = i + 1; j < stream.pieces.size(); ++j) {
      if (member_of(stream.pieces[j].text, "uid") != uid) continue;
      if (type_of(stream.pieces[j].text) != "MODIFIED") break;
      tally_.add(Fault::coalesced);
      trace_.add("fault: a state of " + member_of(text, "name") + " is never told");
      stream.pieces.erase(stream.pieces.begin() + static_cast<std::ptrdiff_t>(i));
      return;
    }
  }
}

void Network::tell(Stream& stream) {
  const Stream::Piece piece = std::move(stream.pieces.front());
  stream.pieces.pop_front();
  const std::shared_ptr<net::ResponseObserver> observer = stream.observer;
  const std::size_t side = number_of(*stream.side);
  if (piece.kind == Stream::Piece::Kind::head) return observer->on_head(piece.code, piece.headers);
  if (piece.kind == Stream::Piece::Kind::end) {
    trace_.add("tell " + stream.place + (stream.watch ? " the end of the watch" : " the list"));
    stream.observer.reset();
    return observer->on_end(piece.outcome);
  }
  if (stream.watch) {
    const std::string type = type_of(piece.text);
    trace_.add("tell " + stream.place + " " + type + " " + member_of(piece.text, "name") + " " +
               member_of(piece.text, "resourceVersion"));
    if (type == "ERROR" && piece.text.find("410") != std::string::npos &&
        piece.text.find("injected") == std::string::npos)
      tally_.add(Fault::gone);
    if (const std::string text = member_of(piece.text, "resourceVersion"); type != "BOOKMARK" && !text.empty()) {
      const store::Revision revision = std::stoll(text);
      if (revision < told_[side]) tally_.add(Fault::reordered);
      told_[side] = std::max(told_[side], revision);
      if (piece.step < steps_) tally_.add(side == 0 ? Fault::tenant_lag : Fault::host_lag);
    }
  }
  observer->on_body(piece.text);
}

bool Network::deliver() {
  const auto open = open_streams(true);
  if (open.empty()) return false;
  const auto stream = dice_.of(open);
  if (!calm_ && stream->watch && stream->pieces.size() > 1 && dice_.one_in(4)) coalesce(*stream);
  tell(*stream);
  // Of an answer the parts belong together.
  while (!stream->watch && stream->observer && !stream->pieces.empty()) tell(*stream);
  return true;
}

bool Network::break_watch() {
  std::vector<std::shared_ptr<Stream>> watches = open_streams(false);
  std::erase_if(watches, [](const auto& stream) { return !stream->watch; });
  if (watches.empty()) return false;
  const auto stream = dice_.of(watches);
  stream->inner.reset();
  stream->pieces.clear();
  if (dice_.one_in(3)) {
    stream->pieces.push_back({.kind = Stream::Piece::Kind::head, .code = 200});
    stream->pieces.push_back(
        {.kind = Stream::Piece::Kind::body,
         .text = R"({"type":"ERROR","object":)" + status_text(410, "Expired", "injected") + "}\n"});
    stream->pieces.push_back({.kind = Stream::Piece::Kind::end});
    tally_.add(Fault::gone_in_mid_watch);
    trace_.add("fault: 410 on " + stream->place);
    return true;
  }
  stream->pieces.push_back(
      {.kind = Stream::Piece::Kind::end, .outcome = dice_.one_in(2) ? Outcome() : Outcome(no_answer())});
  tally_.add(Fault::watch_ended);
  trace_.add("fault: the watch of " + stream->place + " ends");
  return true;
}

bool Network::compact() {
  std::vector<std::shared_ptr<Stream>> behind = open_streams(false);
  std::erase_if(behind, [](const auto& stream) { return !stream->watch || stream->pieces.empty(); });
  if (behind.empty()) return false;
  const auto stream = dice_.of(behind);
  stream->inner.reset();
  stream->pieces.clear();
  stream->pieces.push_back({.kind = Stream::Piece::Kind::end, .outcome = no_answer()});
  trace_.add("fault: " + stream->place + " breaks off, and " + stream->side->name() + " forgets its history");
  (void)stream->side->store().compact(stream->side->revision());
  return true;
}

void Network::hold() {
  const std::size_t side = dice_.below(2);
  const SteadyTime until = clock_.steady_now() + milliseconds(50 + dice_.below(4000));
  const bool all = dice_.one_in(3);
  for (const auto& stream : open_streams(false))
    if (number_of(*stream->side) == side && (all || dice_.one_in(3))) stream->held_until = until;
  trace_.add(std::string("fault: ") + (side == 0 ? "tenant" : "host") + " streams are held");
}

void Network::take_away() {
  Side& side = dice_.one_in(2) ? tenant_ : host_;
  away_until_[number_of(side)] = clock_.steady_now() + milliseconds(100 + dice_.below(10'000));
  tally_.add(Fault::outage);
  trace_.add("fault: " + side.name() + " goes away");
  for (const auto& stream : open_streams(false)) {
    if (stream->side != &side) continue;
    stream->inner.reset();
    stream->pieces.clear();
    stream->pieces.push_back({.kind = Stream::Piece::Kind::end, .outcome = no_answer()});
  }
}

}  // namespace sublet::simulation
