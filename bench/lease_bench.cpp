// Leases beside lists: whether those who hold a lease keep it while others list all they can.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "bench/api_steps.h"
#include "bench/connection.h"
#include "bench/figures.h"

namespace sublet::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kLeaseWriters = 16;
constexpr double kRenewalsPerSecond = 20;  // of each holder
constexpr int kTooMany = 429;

/// A service account that may do everything, as a client has it.
kube::ClusterAccess account(Connection& admin, const kube::ClusterAccess& access, const std::string& namespace_name,
                            const std::string& name) {
  const std::string path = "/api/v1/namespaces/" + namespace_name + "/serviceaccounts";
  admin.call({.method = "POST", .path = path, .body = R"({"metadata":{"name":")" + name + "\"}}"});
  admin.expect(
      {.method = "POST",
       .path = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
       .body = R"({"metadata":{"generateName":"bench-"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io",)"
               R"("kind":"ClusterRole","name":"cluster-admin"},"subjects":[{"kind":"ServiceAccount","name":")" +
               name + R"(","namespace":")" + namespace_name + "\"}]}"});
  const auto answer =
      admin.expect({.method = "POST", .path = path + "/" + name + "/token", .body = R"({"spec":{}})"}).body;
  constexpr std::string_view kToken = R"("token":")";
  const auto begin = answer.find(kToken);
  if (begin == std::string::npos) die("no token in " + answer);
  auto made = access;
  made.client_certificate_pem.clear();
  made.client_key_pem.clear();
  made.bearer_token =
      answer.substr(begin + kToken.size(), answer.find('"', begin + kToken.size()) - begin - kToken.size());
  return made;
}

void make_pods(const ClientTls& tls, const std::string& path, int count) {
  std::atomic<int> next{0};
  std::vector<std::thread> threads;
  for (int writer = 0; writer < kLeaseWriters; ++writer)
    threads.emplace_back([&] {
      Connection connection(tls);
      for (int i = next++; i < count; i = next++)
        connection.expect({.method = "POST",
                           .path = path,
                           .body = R"({"metadata":{"name":"p-)" + std::to_string(i) +
                                   R"("},"spec":{"automountServiceAccountToken":false,"nodeName":"none",)"
                                   R"("containers":[{"name":"c","image":"i"}]}})"});
    });
  for (auto& thread : threads) thread.join();
}

/// Renews one lease at its pace; what a renewal waits for the one before counts for it too.
void renew(const ClientTls& tls, const std::string& namespace_name, double seconds, std::vector<double>& latencies) {
  Connection connection(tls);
  const std::string path = "/apis/coordination.k8s.io/v1/namespaces/" + namespace_name + "/leases";
  auto answer = connection.expect(
      {.method = "POST", .path = path, .body = R"({"metadata":{"name":"held"},"spec":{"holderIdentity":"me"}})"});
  const auto start = Clock::now();
  for (int turn = 0; turn < kRenewalsPerSecond * seconds; ++turn) {
    const auto due = start + std::chrono::microseconds(static_cast<long>(turn * 1e6 / kRenewalsPerSecond));
    std::this_thread::sleep_until(due);  // the pace is what is measured
    answer = connection.expect({.method = "PUT",
                                .path = path + "/held",
                                .body = R"({"metadata":{"name":"held","resourceVersion":")" +
                                        resource_version(answer.body) + R"("},"spec":{"holderIdentity":"me",)" +
                                        R"("leaseTransitions":)" + std::to_string(turn) + "}}"});
    latencies.push_back(std::chrono::duration<double, std::milli>(Clock::now() - due).count());
  }
  connection.expect({.method = "DELETE", .path = path + "/held"});
}

void probe(const ClientTls& tls, double seconds, std::vector<double>& latencies) {
  Connection connection(tls);
  const auto start = Clock::now();
  for (int turn = 0; turn < kRenewalsPerSecond * seconds; ++turn) {
    const auto due = start + std::chrono::microseconds(static_cast<long>(turn * 1e6 / kRenewalsPerSecond));
    std::this_thread::sleep_until(due);  // the pace is what is measured
    connection.expect({.path = "/readyz"});
    latencies.push_back(std::chrono::duration<double, std::milli>(Clock::now() - due).count());
  }
}

struct Lists {
  std::atomic<bool> over{false};
  std::atomic<int> answered{0}, refused{0};
};

// Who is refused comes again after a second, as it is told.
void list_until_over(const ClientTls& tls, const std::string& path, Lists& lists) {
  Connection connection(tls);
  while (!lists.over) {
    const int status = connection.call({.path = path}).status;
    if (status == kTooMany) {
      ++lists.refused;
      std::this_thread::sleep_for(std::chrono::seconds(1));
    } else if (status == 200) {
      ++lists.answered;
    } else {
      die("a list was answered with " + std::to_string(status));
    }
  }
}

}  // namespace

Figures measure_leases(const kube::ClusterAccess& access, double seconds, int pods, int listers) {
  const ClientTls admin_tls(access);
  Connection admin(admin_tls);
  const std::string own = make_namespace(admin, "bench-leases");
  const std::string path = "/api/v1/namespaces/" + own + "/pods";
  make_pods(admin_tls, path, pods);
  const auto lister = account(admin, access, own, "lister"), tenant = account(admin, access, own, "holder"),
             system = account(admin, access, "kube-system", "bench-holder");
  const ClientTls lister_tls(lister), tenant_tls(tenant), system_tls(system);
  Lists lists;
  std::vector<std::thread> threads;
  for (int i = 0; i < listers; ++i) threads.emplace_back([&] { list_until_over(lister_tls, path, lists); });
  while (lists.answered == 0) std::this_thread::yield();
  const int before = lists.answered;
  std::vector<double> of_system, of_tenant, of_health;
  std::thread system_holder([&] { renew(system_tls, "kube-system", seconds, of_system); });
  std::thread prober([&] { probe(admin_tls, seconds, of_health); });
  renew(tenant_tls, own, seconds, of_tenant);
  system_holder.join();
  prober.join();
  Figures figures = {{"lists_per_s", (lists.answered - before) / seconds}};
  lists.over = true;
  for (auto& thread : threads) thread.join();
  figures.emplace_back("lists_refused", lists.refused.load());
  const auto add = [&](const std::string& name, const std::vector<double>& latencies) {
    figures.emplace_back(name + "_p50_ms", quantile(latencies, 0.5));
    figures.emplace_back(name + "_p99_ms", quantile(latencies, 0.99));
    figures.emplace_back(name + "_most_ms", quantile(latencies, 1));
  };
  add("lease_of_system", of_system);
  add("lease_of_account", of_tenant);
  add("readyz", of_health);
  admin.expect({.method = "DELETE", .path = path + "?gracePeriodSeconds=0"});
  return figures;
}

}  // namespace sublet::bench
