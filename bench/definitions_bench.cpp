// Definitions of custom resources that arrive beside GETs: what their schemas cost those who have nothing to do with
// them.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "bench/api_steps.h"
#include "bench/connection.h"
#include "bench/figures.h"

namespace sublet::bench {
namespace {

using Clock = std::chrono::steady_clock;

// A server may have a loop per core: readers enough that each has some.
constexpr int kReaders = 4;
constexpr double kReadsPerSecond = 200;
const std::string kDefinitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

struct DefinitionFile {
  std::string name, yaml;
};

/// Files as controller-gen names them: "kueue.x-k8s.io_workloads.yaml".
std::vector<DefinitionFile> read_definitions(const std::string& folder) {
  std::vector<DefinitionFile> all;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string stem = entry.path().stem().string();
    const auto bar = stem.find('_');
    if (entry.path().extension() != ".yaml" || bar == std::string::npos) continue;
    std::ostringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    all.push_back({stem.substr(bar + 1) + "." + stem.substr(0, bar), text.str()});
  }
  if (all.empty()) die("no GROUP_RESOURCE.yaml in " + folder);
  return all;
}

/// Latencies of GETs at a steady rate until `over`, in microseconds from when each was due.
void get_until(const ClientTls& tls, const std::string& path, const std::atomic<bool>& over,
               std::vector<double>& latencies) {
  Connection connection(tls);
  connection.expect({.path = path});
  const auto step =
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(kReaders / kReadsPerSecond));
  for (auto due = Clock::now(); !over; due += step) {
    std::this_thread::sleep_until(due);  // the pace is what is measured
    connection.expect({.path = path});
    latencies.push_back(std::chrono::duration<double, std::micro>(Clock::now() - due).count());
  }
}

template <class Work>
std::vector<double> beside(const ClientTls& tls, const std::string& path, Work work) {
  std::atomic<bool> over{false};
  std::vector<std::vector<double>> latencies(kReaders);
  std::vector<std::thread> readers;
  for (auto& own : latencies) readers.emplace_back([&, &own = own] { get_until(tls, path, over, own); });
  work();
  over = true;
  for (auto& reader : readers) reader.join();
  std::vector<double> all;
  for (const auto& own : latencies) all.insert(all.end(), own.begin(), own.end());
  return all;
}

void add(Figures& figures, const std::string& name, const std::vector<double>& latencies) {
  figures.emplace_back(name + "_gets", static_cast<double>(latencies.size()));
  figures.emplace_back(name + "_p50_ms", quantile(latencies, 0.5) / 1e3);
  figures.emplace_back(name + "_p99_ms", quantile(latencies, 0.99) / 1e3);
  figures.emplace_back(name + "_p999_ms", quantile(latencies, 0.999) / 1e3);
  figures.emplace_back(name + "_max_ms", quantile(latencies, 1) / 1e3);
}

bool is_there(Connection& connection, const std::string& path, int wanted) {
  for (const auto limit = Clock::now() + std::chrono::seconds(60); Clock::now() < limit;) {
    if (connection.call({.path = path}).status == wanted) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // between two looks
  }
  return false;
}

/// Applied, served, deleted, gone.
void come_and_go(Connection& connection, const DefinitionFile& file, std::vector<double>& applied) {
  const std::string path = kDefinitions + "/" + file.name;
  const auto begin = Clock::now();
  connection.expect({.method = "PATCH",
                     .path = path + "?fieldManager=bench&force=true",
                     .body = file.yaml,
                     .content_type = "application/apply-patch+yaml"});
  applied.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
  const auto dot = file.name.find('.');
  const std::string group = "/apis/" + file.name.substr(dot + 1);
  if (!is_there(connection, group, 200)) die(file.name + " is not served");
  connection.expect({.method = "DELETE", .path = path});
  if (!is_there(connection, path, 404)) die(file.name + " does not go");
}

}  // namespace

Figures measure_definitions(const kube::ClusterAccess& access, const std::string& folder, int rounds) {
  const ClientTls tls(access);
  Connection connection(tls);
  const auto files = read_definitions(folder);
  const std::string path = config_maps_path(make_namespace(connection, "bench-definitions"));
  connection.expect(
      {.method = "POST", .path = path, .body = R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"read"}})"});
  Figures figures;
  std::vector<double> applied;
  const auto begin = Clock::now();
  const auto busy = beside(tls, path + "/read", [&] {
    for (int round = 0; round < rounds; ++round)
      for (const auto& file : files) come_and_go(connection, file, applied);
  });
  const auto spent = Clock::now() - begin;
  const auto alone = beside(tls, path + "/read", [spent] { std::this_thread::sleep_for(spent); });
  figures.emplace_back("definitions_applied", static_cast<double>(applied.size()));
  figures.emplace_back("definition_apply_p50_ms", quantile(applied, 0.5) / 1e3);
  figures.emplace_back("definition_apply_max_ms", quantile(applied, 1) / 1e3);
  add(figures, "get_alone", alone);
  add(figures, "get_beside_definitions", busy);
  return figures;
}

}  // namespace sublet::bench
