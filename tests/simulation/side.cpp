#include "tests/simulation/side.h"

#include <cstdlib>
#include <utility>

#include "sublet/net/tls_context.h"
#include "sublet/store/memory_log.h"
#include "sublet/store/threadless_store.h"

namespace sublet::simulation {
namespace {

constexpr int kTurnsMax = 1000;
// A commit's news reach an observer over four tasks, each of which posts the next; a turn does two.
constexpr int kTurnsOfNews = 3;

// One for the process: making one costs more than a run, and no decision depends on it.
const std::string& token_key() {
  static const std::string key = net::make_key().value();
  return key;
}

class Collector final : public net::ResponseObserver {
 public:
  void on_head(int code, const net::Headers& headers) override {
    response.code = code;
    response.headers = headers;
  }
  void on_body(std::string_view chunk) override { response.body.append(chunk); }
  void on_end(Outcome how) override {
    ended = true;
    outcome = std::move(how);
  }
  net::Response response;
  Outcome outcome;
  bool ended = false;
};

}  // namespace

/// Turns the loop until the answer is there, so that nobody waits for it.
class Side::Pumped final : public net::Transport {
 public:
  Pumped(Side& side, std::unique_ptr<net::Transport> inner) : side_(side), inner_(std::move(inner)) {}
  std::unique_ptr<net::Exchange> start(net::Request request, std::shared_ptr<net::ResponseObserver> observer,
                                       std::chrono::milliseconds) override {
    const auto answer = side_.await(*inner_, std::move(request));
    if (answer) {
      observer->on_head(answer->code, answer->headers);
      observer->on_body(answer->body);
    }
    observer->on_end(answer ? Outcome() : fail(answer.error()));
    return nullptr;
  }

 private:
  Side& side_;
  const std::unique_ptr<net::Transport> inner_;
};

net::PeerIdentity member(std::string name, std::vector<std::string> groups) {
  net::PeerIdentity identity;
  identity.kind = net::PeerIdentity::Kind::in_process;
  identity.common_name = std::move(name);
  identity.organizations = std::move(groups);
  return identity;
}

Side::Side(std::string name, Clock& clock, std::uint64_t seed, apiserver::ServerOptions options,
           net::PeerIdentity syncer)
    : name_(std::move(name)), random_(seed) {
  store::StoreOptions kept;
  kept.clock = &clock;
  store_ = store::open_threadless_store(store::make_memory_log(), std::move(kept)).value();
  options.service_account_key_pem = token_key();
  options.bootstrap_rights = false;  // who asks is of system:masters, or has the house's rights
  server_ = std::make_unique<apiserver::Server>(*store_, loop_, std::move(options), clock, random_);
  if (const auto started = server_->start(); !started) std::abort();
  as_syncer_ = net::make_in_process_transport(server_->handler(), std::move(syncer), &loop_);
  client_ = std::make_unique<kube::Client>(std::make_shared<Pumped>(
      *this, net::make_in_process_transport(server_->handler(), member("world", {"system:masters"}), &loop_)));
}

Side::~Side() {
  client_.reset();
  as_syncer_.reset();
  server_->stop();
  turn();
  store_->close();
}

Result<net::Response> Side::await(net::Transport& transport, net::Request request) {
  const auto collector = std::make_shared<Collector>();
  const auto exchange = transport.start(std::move(request), collector, std::chrono::milliseconds(0));
  for (int turns = 0; !collector->ended && turns < kTurnsMax; ++turns) turn();
  for (int turns = 0; turns < kTurnsOfNews; ++turns) turn();
  if (!collector->ended) return fail(Reason::timeout, "the simulated server has no answer");
  if (!collector->outcome) return fail(collector->outcome.error());
  return std::move(collector->response);
}

Result<net::Response> Side::call(net::Request request) { return await(*as_syncer_, std::move(request)); }

std::unique_ptr<net::Exchange> Side::open(net::Request request, std::shared_ptr<net::ResponseObserver> observer) {
  auto exchange = as_syncer_->start(std::move(request), std::move(observer), std::chrono::milliseconds(0));
  for (int turns = 0; turns < kTurnsOfNews; ++turns) turn();
  return exchange;
}

void Side::turn() {
  loop_.post([this] { loop_.stop(); });
  loop_.run();
}

void Side::each(std::string_view prefix,
                const std::function<void(const store::Object&, const schema::Document&)>& visit) const {
  store_->snapshot().scan(prefix, "", [&](const store::ObjectPtr& object) {
    const auto document = schema::Document::parse_json(object->json());
    if (document) visit(*object, *document);
    return true;
  });
}

schema::Document Side::get(std::string_view resource, std::string_view namespace_name, std::string_view name) const {
  const std::string key = std::string(resource) + "/" +
                          (namespace_name.empty() ? "" : std::string(namespace_name) + "/") + std::string(name);
  const auto object = store_->snapshot().get(key);
  if (!object) return {};
  auto document = schema::Document::parse_json(object->json());
  return document ? std::move(*document) : schema::Document();
}

}  // namespace sublet::simulation
