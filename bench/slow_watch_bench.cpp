// Watches whose readers are slow, beside writes that do not wait for them: who is ended, and what it costs the server.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "bench/api_steps.h"
#include "bench/connection.h"
#include "bench/figures.h"

namespace sublet::bench {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;

constexpr int kEventWriters = 16;
constexpr int kEventPayloadBytes = 1024;
constexpr std::string_view kExpired = "\"reason\":\"Expired\"";
constexpr std::string_view kLastChunk = "\r\n0\r\n\r\n";
constexpr std::chrono::seconds kQuiet{5};  // a stream that brings nothing for so long, after the writes, has all

/// One watch that reads a little at a time; keeps the end of what it read.
struct SlowReader {
  std::unique_ptr<Connection> connection;
  std::string tail = {};
  std::uint64_t bytes = 0;
  bool over = false, expired = false, reset = false;

  /// False when nothing was there.
  bool read(std::size_t most) {
    if (over) return false;
    const auto read = connection->try_read(most);
    reset = read.broken;
    over = read.broken || read.ended;
    bytes += read.bytes.size();
    tail.append(read.bytes);
    if (tail.find(kExpired) != std::string::npos) expired = true;
    over = over || tail.ends_with(kLastChunk);
    if (tail.size() > 4096) tail.erase(0, tail.size() - 4096);
    return !read.bytes.empty();
  }
};

/// Patches ConfigMaps of its own at its share of the rate until the time is over; returns the newest resourceVersion.
std::string write_until(const ClientTls& tls, const std::string& path, int writer, double rate, Clock::time_point end,
                        std::atomic<std::uint64_t>& written) {
  Connection connection(tls);
  const std::string object = path + "/slow-" + std::to_string(writer);
  const auto step = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(kEventWriters / rate));
  std::string answer;
  std::minstd_rand random(static_cast<unsigned>(writer) + 1);
  for (auto next = Clock::now(); next < end; next += step) {
    std::this_thread::sleep_until(next);  // the rate is what is asked for; a writer that is late makes it up
    std::string payload(kEventPayloadBytes, ' ');
    for (char& c : payload) c = static_cast<char>('a' + (random() >> 8) % 26);
    answer = connection
                 .expect({.method = "PATCH",
                          .path = object,
                          .body = R"({"data":{"payload":")" + payload + "\"}}",
                          .content_type = "application/merge-patch+json"})
                 .body;
    ++written;
  }
  return resource_version(answer);
}

}  // namespace

Figures measure_slow_watches(const kube::ClusterAccess& access, const ProcessUsage& server, const SlowWatchRun& run) {
  const ClientTls tls(access);
  Connection connection(tls);
  const std::string path = config_maps_path(make_namespace(connection, "bench-slow"));
  for (int i = 0; i < kEventWriters; ++i)
    connection.expect(
        {.method = "POST",
         .path = path,
         .body = R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"slow-)" + std::to_string(i) + "\"}}"});
  const std::string watch =
      path + "?watch=1&timeoutSeconds=3600&resourceVersion=" + resource_version(connection.expect({.path = path}).body);
  std::vector<SlowReader> readers;
  for (int i = 0; i < run.count; ++i) {
    readers.push_back({std::make_unique<Connection>(tls)});
    readers.back().connection->start_stream(watch);
    readers.back().connection->set_nonblocking();
  }

  const double before = server.pss_kib(), cpu = server.cpu_us();
  const auto begin = Clock::now(), end = begin + microseconds(static_cast<long>(run.seconds * 1e6));
  std::atomic<std::uint64_t> written{0};
  std::vector<std::thread> writers;
  std::vector<std::string> newest(kEventWriters);
  for (int i = 0; i < kEventWriters; ++i)
    writers.emplace_back(
        [&, i] { newest[static_cast<std::size_t>(i)] = write_until(tls, path, i, run.rate, end, written); });
  double most = before;
  for (auto next = begin; next < end; next += std::chrono::seconds(1)) {
    std::this_thread::sleep_until(next);
    for (SlowReader& reader : readers) reader.read(static_cast<std::size_t>(run.bytes_per_second));
    most = std::max(most, server.pss_kib());
  }
  for (std::thread& writer : writers) writer.join();
  const double used = server.cpu_us() - cpu;
  const double elapsed = std::chrono::duration<double>(Clock::now() - begin).count();
  std::uint64_t slowly = 0;
  for (const SlowReader& reader : readers) slowly += reader.bytes;

  // How each watch ended shows only behind what its kernel buffers hold: now everybody reads as fast as it can.
  for (auto quiet = Clock::now(); Clock::now() - quiet < kQuiet;) {
    bool any = false;
    for (SlowReader& reader : readers)
      for (int i = 0; i < 16 && reader.read(16 * 1024); ++i) any = true;
    most = std::max(most, server.pss_kib());
    if (any) quiet = Clock::now();
    if (std::ranges::all_of(readers, [](const SlowReader& reader) { return reader.over; })) break;
    if (!any) std::this_thread::sleep_for(std::chrono::milliseconds(10));  // between two looks
  }
  std::ranges::sort(newest, [](const auto& a, const auto& b) { return std::stoll(a) < std::stoll(b); });
  const auto count = [&](const auto& what) { return static_cast<double>(std::ranges::count_if(readers, what)); };
  Figures figures;
  figures.emplace_back("slow_writes_per_s", static_cast<double>(written) / elapsed);
  figures.emplace_back("slow_write_cpu_us", used / static_cast<double>(written));
  figures.emplace_back("slow_read_bytes_per_s", static_cast<double>(slowly) / elapsed / run.count);
  figures.emplace_back("slow_watches_complete", count([&](const SlowReader& reader) {
                         return !reader.over && reader.tail.find("\"" + newest.back() + "\"") != std::string::npos;
                       }));
  figures.emplace_back("slow_watches_expired", count([](const SlowReader& r) { return r.expired; }));
  figures.emplace_back("slow_watches_ended",
                       count([](const SlowReader& r) { return r.over && !r.expired && !r.reset; }));
  figures.emplace_back("slow_watches_reset", count([](const SlowReader& r) { return r.reset; }));
  figures.emplace_back("slow_added_kib", most - before);
  return figures;
}

}  // namespace sublet::bench
