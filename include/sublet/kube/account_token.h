// AccountToken: how a program is a ServiceAccount of a cluster by tokens that do not last: one is asked for, kept in a
// file of the program's own, and renewed by itself at three quarters of its life.
//
// The file is JSON: {"token", "issued", "expires"}, mode 0600; whoever may ask for tokens of the account may put a
// newer one there, which a keeper whose own has ended takes over without a restart. TokenKeeper: construct, start(),
// and the destructor joins its thread. What authorize() gives may outlive it and goes on with the last token. Threads:
// any.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "sublet/base/clock.h"
#include "sublet/base/status.h"
#include "sublet/kube/client.h"

namespace sublet::kube {

inline constexpr std::chrono::seconds kAccountTokenLife{3600};

struct AccountToken {
  std::string token;
  WallTime issued{}, expires{};
  bool holds_at(WallTime now) const { return !token.empty() && now < expires; }
  /// Three quarters of its life are over.
  bool due_at(WallTime now) const { return now >= issued + (expires - issued) / 4 * 3; }
};

/// Asks for one, for kAccountTokenLife.
Result<AccountToken> request_account_token(const Client& client, const std::string& account_namespace,
                                           const std::string& account, const Clock& clock = Clock::system());
/// not_found when there is no file.
Result<AccountToken> load_account_token(const std::string& path);
Outcome save_account_token(const std::string& path, const AccountToken& token);

class TokenKeeper {
 public:
  /// `host`: the cluster, without credentials. `first`: what the file has.
  TokenKeeper(std::shared_ptr<net::Transport> host, AccountToken first, std::string file, std::string account_namespace,
              std::string account, Clock& clock = Clock::system());
  ~TokenKeeper();

  /// The transport, but that every request carries the token of that moment.
  std::shared_ptr<net::Transport> authorize(std::shared_ptr<net::Transport> transport) const;
  void start();
  /// What the thread does from time to time: asks for another token when this one is due, or takes over what the file
  /// has when that is the better one. Blocking.
  Outcome look();
  AccountToken token() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sublet::kube
