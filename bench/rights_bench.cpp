// What a decision costs: 2,000 bindings of users, groups and accounts in 200 namespaces beside upstream's own, asked as
// a request asks; and what it costs to find a request's flow among upstream's and to take and give back a seat while
// nobody waits. Prints the allocations too, which must be 0.
#include <benchmark/benchmark.h>

#include "apiserver/authz/authorizer.h"
#include "apiserver/authz/bootstrap_rights.h"
#include "apiserver/flowcontrol/flow_control.h"
#include "sublet/apiserver/flow_objects.h"
#include "sublet/store/memory_log.h"
#include "tests/cost/counted.h"

namespace {

using namespace sublet;
using namespace sublet::apiserver;

constexpr int kBindings = 2000, kNamespaces = 200;

std::string key_of(const schema::Value& object) {
  std::string resource;
  for (const char c : object["kind"].text()) resource += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  std::string key = resource + "s.rbac.authorization.k8s.io/";
  if (const auto scope = object["metadata"]["namespace"].text(); !scope.empty()) key.append(scope).append("/");
  return key.append(object["metadata"]["name"].text());
}

std::string binding(int place) {
  const std::string n = std::to_string(place);
  const char* subjects[] = {R"({"kind":"User","name":"user-)", R"({"kind":"Group","name":"group-)",
                            R"({"kind":"ServiceAccount","name":"account-)"};
  return R"({"roleRef":{"kind":"ClusterRole","name":")" + std::string(place % 2 ? "admin" : "view") +
         R"("},"subjects":[)" + subjects[place % 3] + n + R"("}]})";
}

struct World {
  World() : store(std::move(*store::Store::open(store::make_memory_log()))) {
    store::Txn txn;
    for (const auto json : bootstrap_rights()) {
      const auto object = schema::Document::parse_json(json);
      txn.ops.push_back({key_of(object->root()), store::Put{std::string(json)}});
    }
    for (int place = 0; place < kBindings; ++place)
      txn.ops.push_back({"rolebindings.rbac.authorization.k8s.io/team-" + std::to_string(place % kNamespaces) + "/b-" +
                             std::to_string(place),
                         store::Put{binding(place)}});
    (void)store->commit(std::move(txn));
    authorizer = std::make_unique<Authorizer>(*store, std::vector<ComponentRights>());
  }
  std::unique_ptr<store::Store> store;
  std::unique_ptr<Authorizer> authorizer;
};

World& world() {
  static World* const one = new World;  // lives as long as the process
  return *one;
}

void decide(benchmark::State& state, std::string_view verb, std::string_view resource, bool wanted) {
  const Authorizer& authorizer = *world().authorizer;
  // An account bound as admin in its namespace, with an account's groups.
  const User user{"system:serviceaccount:team-17:account-1217",
                  {},
                  {"system:serviceaccounts", "system:serviceaccounts:team-17", "system:authenticated"},
                  {}};
  Attributes asked;
  asked.user = &user;
  asked.verb = verb;
  asked.resource = resource;
  asked.namespace_name = "team-17";
  if (authorizer.allows(asked) != wanted) return state.SkipWithError("another decision was expected");
  const auto before = cost::counts().allocations;
  for (auto _ : state) benchmark::DoNotOptimize(authorizer.allows(asked));
  state.counters["allocations"] =
      benchmark::Counter(static_cast<double>(cost::counts().allocations - before), benchmark::Counter::kAvgIterations);
}
BENCHMARK_CAPTURE(decide, allowed, "list", "pods", true);
BENCHMARK_CAPTURE(decide, refused, "list", "nodes", false);

void change(benchmark::State& state) {
  store::Store& store = *world().store;
  (void)*world().authorizer;
  int place = 1;
  for (auto _ : state) {
    store::Txn txn;
    txn.ops.push_back({"rolebindings.rbac.authorization.k8s.io/team-17/b-1217", store::Put{binding(place += 6)}});
    (void)store.commit(std::move(txn));
  }
}
BENCHMARK(change);  // with its commit, in memory

void take_a_seat(benchmark::State& state, const User& user) {
  store::Store& store = *world().store;
  store::Txn txn;
  for (const auto& wanted : flow_objects())
    txn.ops.push_back({std::string(wanted.resource) + "." + std::string(kFlowControlGroup) + "/" + wanted.name,
                       store::Put{wanted.object.to_json()}});
  (void)store.commit(std::move(txn));
  FlowControl control(store, Clock::system(), 600, {});
  Attributes asked;
  asked.user = &user;
  asked.verb = "update";
  asked.resource = "pods";
  asked.namespace_name = "team-17";
  const auto before = cost::counts().allocations;
  for (auto _ : state) {
    const auto flow = control.classify(asked);
    Seat seat;
    if (!control.enter(*flow, 1, 0, seat)) return state.SkipWithError("there was no seat");
    benchmark::DoNotOptimize(seat.seats);
  }
  state.counters["allocations"] =
      benchmark::Counter(static_cast<double>(cost::counts().allocations - before), benchmark::Counter::kAvgIterations);
}
const User kMaster{"root", {}, {"system:masters", "system:authenticated"}, {}};
const User kAccount{"system:serviceaccount:team-17:account-1217",
                    {},
                    {"system:serviceaccounts", "system:serviceaccounts:team-17", "system:authenticated"},
                    {}};
const User kPerson{"jane", {}, {"staff", "system:authenticated"}, {}};
BENCHMARK_CAPTURE(take_a_seat, of_a_master, kMaster);
BENCHMARK_CAPTURE(take_a_seat, of_an_account, kAccount);
BENCHMARK_CAPTURE(take_a_seat, of_a_person, kPerson);

}  // namespace

BENCHMARK_MAIN();
