// A Transport whose peer is the test: it waits for the next request, looks at it and answers piece by piece.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <memory>
#include <string>

#include "sublet/base/mutex.h"
#include "sublet/net/http.h"

namespace sublet::kube {

/// One request as it arrived, and the way to answer it. A cancelled call ignores answers, as the contract says.
class ScriptedCall {
 public:
  ScriptedCall(net::Request sent, std::shared_ptr<net::ResponseObserver> observer)
      : request(std::move(sent)), observer_(std::move(observer)) {}

  void head(int code, net::Headers headers = {}) {
    const RecursiveLock lock(mutex_);
    if (observer_) observer_->on_head(code, headers);
  }
  void body(std::string_view chunk) {
    const RecursiveLock lock(mutex_);
    if (observer_) observer_->on_body(chunk);
  }
  void end(Outcome outcome = {}) {
    const RecursiveLock lock(mutex_);
    if (observer_) observer_->on_end(std::move(outcome));
    observer_ = nullptr;
  }
  void answer(int code, std::string_view text, net::Headers headers = {}) {
    head(code, std::move(headers));
    body(text);
    end();
  }
  void cancel() {
    const RecursiveLock lock(mutex_);
    observer_ = nullptr;
  }
  bool cancelled() {
    const RecursiveLock lock(mutex_);
    return observer_ == nullptr;
  }

  const net::Request request;
  const std::chrono::steady_clock::time_point at = std::chrono::steady_clock::now();

 private:
  RecursiveMutex mutex_;
  std::shared_ptr<net::ResponseObserver> observer_ SUBLET_GUARDED_BY(mutex_);
};

class ScriptedTransport final : public net::Transport {
 public:
  std::unique_ptr<net::Exchange> start(net::Request request, std::shared_ptr<net::ResponseObserver> observer,
                                       std::chrono::milliseconds) override {
    struct Handle final : net::Exchange {
      explicit Handle(std::shared_ptr<ScriptedCall> c) : call(std::move(c)) {}
      ~Handle() override { call->cancel(); }
      void pause(bool) override {}  // the script says when something comes
      std::shared_ptr<ScriptedCall> call;
    };
    auto call = std::make_shared<ScriptedCall>(std::move(request), std::move(observer));
    const MutexLock lock(mutex_);
    calls_.push_back(call);
    arrived_.notify_all();
    return std::make_unique<Handle>(std::move(call));
  }

  /// The next request; fails the test after a minute.
  std::shared_ptr<ScriptedCall> next() {
    MutexLock lock(mutex_);
    if (!arrived_.wait_for(lock, std::chrono::seconds(60), [&]() SUBLET_REQUIRES(mutex_) { return !calls_.empty(); })) {
      ADD_FAILURE() << "no request arrived";
      return std::make_shared<ScriptedCall>(net::Request{}, nullptr);
    }
    auto call = calls_.front();
    calls_.pop_front();
    return call;
  }
  /// True when no request waits within the time.
  bool quiet_for(std::chrono::milliseconds time) {
    MutexLock lock(mutex_);
    return !arrived_.wait_for(lock, time, [&]() SUBLET_REQUIRES(mutex_) { return !calls_.empty(); });
  }

 private:
  Mutex mutex_;
  CondVar arrived_;
  std::deque<std::shared_ptr<ScriptedCall>> calls_;
};

}  // namespace sublet::kube
