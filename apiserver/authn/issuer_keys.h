// IssuerKeys: the public keys of one issuer, from its discovery document and key set. Fetched at the start, and when a
// token names an unknown key, at most every ten seconds; then cached.
//
// Lifecycle: make(), start(); the loop, the client and the clock must outlive stop(). Threads: any.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/authn/authentication_configuration.h"
#include "apiserver/authn/jwt.h"
#include "sublet/base/clock.h"
#include "sublet/base/mutex.h"
#include "sublet/net/outbound.h"

namespace sublet::apiserver {

class IssuerKeys : public std::enable_shared_from_this<IssuerKeys> {
 public:
  IssuerKeys(const JwtIssuer& issuer, net::Loop& loop, net::OutboundClient& client, Clock& clock);

  /// Null: they were not to be had yet.
  std::shared_ptr<const JwsKeys> keys() const;
  /// Returns true while the keys are being fetched because this one ("": any) is missing; `then` runs afterwards, on
  /// the loop's thread.
  bool wait_for(std::string_view key_id, std::function<void()> then);
  void start();
  void stop();

 private:
  bool knows(std::string_view key_id) const SUBLET_REQUIRES(mutex_);
  void ask();
  void ask(const std::string& url, void (IssuerKeys::*then)(const net::Response& answer));
  void on_discovery(const net::Response& answer);
  void on_keys(const net::Response& answer);
  void fail(const std::string& why);
  void finish();

  const std::string url_, discovery_url_, ca_pem_;
  net::Loop& loop_;
  Clock& clock_;
  mutable Mutex mutex_;
  net::OutboundClient* client_ SUBLET_GUARDED_BY(mutex_);  // null: stopped
  std::shared_ptr<const JwsKeys> keys_ SUBLET_GUARDED_BY(mutex_);
  bool asking_ SUBLET_GUARDED_BY(mutex_) = false, asked_ SUBLET_GUARDED_BY(mutex_) = false;
  SteadyTime asked_at_ SUBLET_GUARDED_BY(mutex_);
  std::vector<std::function<void()>> waiting_ SUBLET_GUARDED_BY(mutex_);
  std::vector<net::OutboundClient::Call> calls_ SUBLET_GUARDED_BY(mutex_);  // of what is asked now
};

}  // namespace sublet::apiserver
