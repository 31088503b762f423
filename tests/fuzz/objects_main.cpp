// objects_fuzz SEEDS [EXECUTIONS | SECONDSs] [SEED]: arbitrary objects of every kind go through the whole API server,
// in process: nothing may end it or make it answer 5xx, a GET gives back what a create answered, and the same object
// sent again by PUT changes nothing, not even its resourceVersion. Prints executions by kind; exits with 1 when one was
// wrong.
//
// SEEDS is tools/differential/seeds.txt (`### VERSION COLLECTION`, then objects). What was accepted is removed again,
// so that each object is judged alone. A run by the clock has another seed each time, which it prints.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sublet/apiserver/server.h"
#include "sublet/net/http.h"
#include "sublet/net/loop.h"
#include "sublet/schema/registry.h"
#include "sublet/store/memory_log.h"
#include "sublet/store/store.h"
#include "tests/fuzz/object_changes.h"

namespace sublet::fuzz {
namespace {

using schema::Document;
using schema::Value;
using Clock = std::chrono::steady_clock;

constexpr std::string_view kNamespace = "differ", kPlaceholder = "{ns}", kHeading = "### ";
// Names that mean something are kept, or the object is another thing than its seed.
const std::set<std::string, std::less<>> kKeepName = {"ipaddresses", "apiservices", "customresourcedefinitions"};
// Of these the server itself says in the status what became of them, at any time.
const std::set<std::string, std::less<>> kWatched = {"apiservices", "customresourcedefinitions", "flowschemas",
                                                     "prioritylevelconfigurations"};
// Upstream answers it with a 500 too.
constexpr std::string_view kAskedFor = "resourceVersion should not be set on objects to be created";

[[noreturn]] void die(const std::string& message) {
  std::fprintf(stderr, "objects_fuzz: %s\n", message.c_str());
  std::exit(2);
}

struct Answer {
  int code = 0;
  std::string body;
};

class Cluster {
 public:
  Cluster() : loop_("storm") {
    auto store = store::Store::open(store::make_memory_log());
    if (!store) die(store.error().message);
    store_ = std::move(*store);
    server_ = std::make_unique<apiserver::Server>(*store_, loop_.loop(), apiserver::ServerOptions());
    if (auto started = server_->start(); !started) die(started.error().message);
    net::PeerIdentity identity;
    identity.kind = net::PeerIdentity::Kind::in_process;
    identity.common_name = "tester";
    transport_ = net::make_in_process_transport(server_->handler(), identity);
  }
  ~Cluster() {
    server_->stop();
    store_->close();
    transport_.reset();
    server_.reset();
  }
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  Answer ask(std::string method, std::string target, std::string body = {}, const char* type = "application/json") {
    net::Request request;
    request.method = std::move(method);
    request.target = std::move(target);
    request.body = std::move(body);
    if (!request.body.empty()) request.headers.add("Content-Type", type);
    auto response = net::fetch(*transport_, std::move(request), std::chrono::minutes(5));
    if (!response) return {.code = 0, .body = response.error().message};
    return {.code = response->code, .body = std::move(response->body)};
  }

 private:
  net::LoopThread loop_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<apiserver::Server> server_;
  std::unique_ptr<net::Transport> transport_;
};

struct Kind {
  const schema::ResourceFacts* facts = nullptr;
  std::string name, collection;
  std::vector<Document> seeds;
  long sent = 0, accepted = 0;
};

/// The kind of a heading: `apps/v1 namespaces/{ns}/deployments`.
Kind kind_of(const std::string& heading) {
  const auto space = heading.find(' '), slash = heading.find('/');
  if (space == std::string::npos) die("no collection in the heading " + heading);
  const std::string version = heading.substr(0, space);
  const bool core = slash == std::string::npos || slash > space;
  Kind kind;
  std::string path = heading.substr(space + 1);
  const std::string resource = path.substr(path.rfind('/') + 1);
  if (const auto at = path.find(kPlaceholder); at != std::string::npos)
    path.replace(at, kPlaceholder.size(), kNamespace);
  kind.name = version + "/" + resource;
  kind.collection = (core ? "/api/" : "/apis/") + version + "/" + path;
  kind.facts = schema::Registry::builtin()->find_resource(core ? "" : version.substr(0, slash),
                                                          core ? version : version.substr(slash + 1), resource);
  if (!kind.facts) die("unknown kind " + kind.name);
  return kind;
}

std::vector<Kind> read_kinds(const std::string& path, ObjectChanges& changes) {
  std::ifstream file(path);
  if (!file) die("cannot read " + path);
  std::vector<Kind> kinds;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(kHeading)) kinds.push_back(kind_of(line.substr(kHeading.size())));
    if (!line.starts_with('{') || kinds.empty()) continue;
    for (std::size_t at; (at = line.find(kPlaceholder)) != std::string::npos;)
      line.replace(at, kPlaceholder.size(), kNamespace);
    auto seed = Document::parse_json(line);
    if (!seed) die("a seed of " + kinds.back().name + ": " + seed.error().message);
    changes.learn(seed->root());
    kinds.back().seeds.push_back(std::move(*seed));
  }
  return kinds;
}

/// The object without what the server writes into it meanwhile.
std::string as_compared(const Kind& kind, const std::string& body) {
  auto parsed = Document::parse_json(body);
  if (!parsed) return body;
  if (kWatched.contains(kind.facts->resource)) {
    Value root = parsed->root();
    root.erase("status");
    root.object("metadata").erase("resourceVersion");
    root.object("metadata").erase("managedFields");
  }
  return parsed->to_json();
}

class Storm {
 public:
  Storm(std::vector<Kind> kinds, ObjectChanges& changes) : kinds_(std::move(kinds)), changes_(changes) {
    cluster_.ask("POST", "/api/v1/namespaces", R"({"metadata":{"name":"differ"}})");
    cluster_.ask("POST", "/api/v1/namespaces/differ/serviceaccounts", R"({"metadata":{"name":"default"}})");
    cluster_.ask("POST", "/apis/node.k8s.io/v1/runtimeclasses", R"({"metadata":{"name":"a"},"handler":"a"})");
  }

  void send_one() {
    Kind& kind = kinds_[changes_.pick(kinds_.size())];
    const Document& seed = kind.seeds[changes_.pick(kind.seeds.size())];
    Document object = Document::copy_of(seed.root());
    changes_.change(object.root(), kind.facts->type);
    const Value metadata = object["metadata"];
    const auto name = metadata["name"].string();
    if (!kKeepName.contains(kind.facts->resource) && !name.empty() && name == seed["metadata"]["name"].text())
      metadata["name"].set(name + "-" + std::to_string(executions_));
    ++executions_;
    ++kind.sent;
    const std::string body = object.to_json();
    const Answer made = cluster_.ask("POST", kind.collection, body);
    if ((made.code >= 500 || made.code == 0) && made.body.find(kAskedFor) == std::string::npos)
      return tell(kind, body, "answers " + std::to_string(made.code) + ": " + made.body);
    if (made.code != 201) return;
    ++kind.accepted;
    if (const auto fault = fault_of(kind, made.body); !fault.empty()) tell(kind, body, fault);
  }

  long executions() const { return executions_; }
  bool report() const {
    long accepted = 0;
    for (const auto& kind : kinds_) {
      std::printf("%8ld sent %8ld accepted  %s\n", kind.sent, kind.accepted, kind.name.c_str());
      accepted += kind.accepted;
    }
    std::printf("%ld executions over %zu kinds, %ld accepted, %ld wrong in %zu kinds\n", executions_, kinds_.size(),
                accepted, wrong_, told_.size());
    return wrong_ == 0;
  }

 private:
  /// What is wrong with an accepted object, or ""; it is gone afterwards.
  std::string fault_of(const Kind& kind, const std::string& made) {
    const auto object = Document::parse_json(made);
    if (!object) return "the answer is no JSON: " + made;
    const std::string one = kind.collection + "/" + net::percent_encode((*object)["metadata"]["name"].text());
    const std::string fault = stands(kind, one, made);
    constexpr const char* kNoFinalizers = R"({"metadata":{"finalizers":null}})";
    constexpr const char* kMerge = "application/merge-patch+json";
    cluster_.ask("PATCH", one, kNoFinalizers, kMerge);
    cluster_.ask("DELETE", one + "?gracePeriodSeconds=0&propagationPolicy=Background");
    cluster_.ask("PATCH", one, kNoFinalizers, kMerge);
    return fault;
  }

  std::string stands(const Kind& kind, const std::string& one, const std::string& made) {
    constexpr int kOvertaken = 409, kTries = 20;
    for (int tries = 0; tries < kTries; ++tries) {
      const Answer got = cluster_.ask("GET", one);
      if (got.code != 200) return "GET answers " + std::to_string(got.code) + ": " + got.body;
      if (as_compared(kind, got.body) != as_compared(kind, made))
        return "GET gives another object:\n    " + made + "\n    " + got.body;
      const Answer again = cluster_.ask("PUT", one, got.body);
      if (again.code == kOvertaken && kWatched.contains(kind.facts->resource)) continue;
      if (again.code != 200) return "the same PUT answers " + std::to_string(again.code) + ": " + again.body;
      if (as_compared(kind, again.body) != as_compared(kind, got.body))
        return "the same PUT changes it:\n    " + got.body + "\n    " + again.body;
      return {};
    }
    return "the server changes it again and again";
  }

  void tell(const Kind& kind, const std::string& body, const std::string& fault) {
    constexpr std::size_t kToldPerKind = 5;
    ++wrong_;
    if (told_[kind.name]++ < kToldPerKind)
      std::printf("%s: %s\n    sent %s\n", kind.name.c_str(), fault.c_str(), body.c_str());
  }

  Cluster cluster_;
  std::vector<Kind> kinds_;
  ObjectChanges& changes_;
  long executions_ = 0, wrong_ = 0;
  std::map<std::string, std::size_t> told_;
};

int run(const std::string& seeds, const std::string& limit, std::optional<unsigned> seed) {
  const bool timed = limit.ends_with('s');
  const long wanted = std::atol(limit.c_str());
  const auto start = Clock::now();
  const unsigned chosen = seed.value_or(timed ? static_cast<unsigned>(start.time_since_epoch().count()) : 20261123U);
  ObjectChanges changes(chosen);
  auto kinds = read_kinds(seeds, changes);
  Storm storm(std::move(kinds), changes);
  while (timed ? Clock::now() < start + std::chrono::seconds(wanted) : storm.executions() < wanted) storm.send_one();
  const bool good = storm.report();
  std::printf("seed %u, %.0f s\n", chosen, std::chrono::duration<double>(Clock::now() - start).count());
  return good ? 0 : 1;
}

}  // namespace
}  // namespace sublet::fuzz

int main(int count, char** arguments) {
  if (count < 2) sublet::fuzz::die("usage: objects_fuzz SEEDS [EXECUTIONS | SECONDSs] [SEED]");
  std::optional<unsigned> seed;
  if (count > 3) seed = static_cast<unsigned>(std::strtoul(arguments[3], nullptr, 10));
  return sublet::fuzz::run(arguments[1], count > 2 ? arguments[2] : "1000", seed);
}
