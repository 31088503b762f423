// Workload: clients that call one server as fast as it answers, on few objects, and write down every call with its
// times and what it was told.
//
// Lifecycle: run() starts the clients; join() waits until all calls are made; record() is complete then. Threads: one
// per client, each with a record of its own; done() from any.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/history/event_log.h"
#include "tests/history/http_peer.h"
#include "tests/history/server_process.h"

namespace sublet::history {

struct WorkloadOptions {
  unsigned seed = 1;
  int clients = 8;
  std::uint16_t keys = 5;
  long operations = 0;  // of all kinds
  long burst = 0;       // and then writes only
  long flood = 0;       // and then such as nearly all change something, without any fault: so many events at once
};

/// Everything that the clients know.
struct Record {
  std::vector<Timed<ObjectCall>> calls = {};  // LISTs as a GET of each key
  std::vector<ObjectCall> refused = {};  // 4xx that say nothing about the object: a full disk, a conflict among patches
  std::vector<Listed> lists = {};
  std::vector<std::string> problems = {};  // answers that can never be right
  std::array<long, 6> asked = {};          // by verb; the last: LIST
  long unknown = 0, failed_reads = 0;
  long flood_events = 0;
  Moment flood_begin = kNever, flood_end = 0;
  void merge(Record&& other);
};

class Workload {
 public:
  Workload(ServerProcess& server, WorkloadOptions options);
  ~Workload();
  void run();
  void join();
  long done() const { return std::min(next_.load(), total()); }
  /// Calls during which faults may come, and all.
  long troubled() const { return options_.operations + options_.burst; }
  long total() const { return troubled() + options_.flood; }
  /// Creates an object of its own and waits for the answer: everything else came before it.
  void mark_end(std::uint16_t key);
  Record record();

 private:
  class Client;
  ServerProcess& server_;
  const WorkloadOptions options_;
  std::atomic<long> next_{0};
  std::atomic<std::uint32_t> number_{0};
  std::vector<std::unique_ptr<Client>> clients_;
  std::vector<std::thread> threads_;
};

}  // namespace sublet::history
