// A virtual cluster's API server with its border, in this process, and how much it works: for tests that look for
// requests that cost more than they should. Test code only.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>

#include "sublet/apiserver/server.h"
#include "sublet/net/http.h"
#include "sublet/net/loop.h"
#include "sublet/patches/template.h"
#include "sublet/store/memory_log.h"
#include "subletd/border_admission.h"

namespace sublet {

/// Of all threads, also those that have ended.
inline double processor_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

struct Sent {
  std::string method, target, type, body;
};

class Cluster {
 public:
  explicit Cluster(bool with_rights = true)
      : loop_("growth"), store_(store::Store::open(store::make_memory_log()).value()) {
    apiserver::ServerOptions options;
    options.bootstrap_rights = with_rights;
    syncer::TranslateContext context;
    context.virtual_cluster = "rag";
    context.virtual_cluster_uid = "11111111-2222-4333-8444-555555555555";
    context.host_namespace = "team";
    context.host_service_account = "workload";
    context.resolved_template = patches::Template::none().resolve({}, "rag", "team").value();
    options.border = subletd::border_admission(std::move(context));
    server_ = std::make_unique<apiserver::Server>(*store_, loop_.loop(), std::move(options));
    if (!server_->start()) std::abort();
    net::PeerIdentity identity;
    identity.kind = net::PeerIdentity::Kind::in_process;
    identity.common_name = "tester";
    transport_ = net::make_in_process_transport(server_->handler(), identity, &loop_.loop());
    send({"POST", "/api/v1/namespaces/default/serviceaccounts", "application/json",
          R"({"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"x"}})"});
  }
  ~Cluster() {
    server_->stop();
    store_->close();
    transport_.reset();
    server_.reset();
  }
  net::Loop& loop() { return loop_.loop(); }
  /// Code 0: no answer came, and the body says why.
  net::Response send(const Sent& sent) {
    net::Request request;
    request.method = sent.method;
    request.target = sent.target;
    request.body = sent.body;
    if (!sent.type.empty()) request.headers.add("Content-Type", sent.type);
    auto answer = net::fetch(*transport_, std::move(request), std::chrono::seconds(300));
    if (answer) return std::move(*answer);
    net::Response none;
    none.code = 0;
    none.body = answer.error().message;
    std::fprintf(stderr, "no answer to %s %s: %s\n", sent.method.c_str(), sent.target.c_str(), none.body.c_str());
    return none;
  }

 private:
  net::LoopThread loop_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<apiserver::Server> server_;
  std::unique_ptr<net::Transport> transport_;
};

// The most that the loop's thread works between two looks at what else there is to do; by its own processor time, so
// that what the machine does beside it does not count.
class Watchman {
 public:
  explicit Watchman(net::Loop& loop) : loop_(loop) {
    loop_.run_sync([this] { last_ = now(); });
    look();
  }
  ~Watchman() {
    ended_ = true;
    loop_.run_sync([] {});  // a look that is in line is over; none follows
    loop_.run_sync([] {});
  }
  double most() {
    double most = 0;
    loop_.run_sync([&] { most = most_; });
    return most;
  }

 private:
  static double now() {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
  }
  void look() {
    loop_.post([this] {
      const double at = now();
      most_ = std::max(most_, at - last_);
      last_ = at;
      if (!ended_) look();
    });
  }
  net::Loop& loop_;
  double last_ = 0, most_ = 0;  // the loop's
  std::atomic<bool> ended_ = false;
};

}  // namespace sublet
