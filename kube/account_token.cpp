#include "sublet/kube/account_token.h"

#include <thread>

#include "sublet/base/files.h"
#include "sublet/base/log.h"
#include "sublet/base/mutex.h"

namespace sublet::kube {
namespace {

using schema::Document;

const Resource kServiceAccounts{"", "v1", "serviceaccounts"};
// By the wall clock, which goes on while a machine sleeps; a wait does not.
constexpr std::chrono::seconds kBetweenLooks{30}, kAfterFailure{2};

// What all that speak with the token share.
class Current {
 public:
  explicit Current(AccountToken token) : token_(std::move(token)) {}
  AccountToken get() const {
    const MutexLock lock(mutex_);
    return token_;
  }
  std::string header() const {
    const MutexLock lock(mutex_);
    return "Bearer " + token_.token;
  }
  void set(AccountToken token) {
    const MutexLock lock(mutex_);
    token_ = std::move(token);
  }

 private:
  mutable Mutex mutex_;
  AccountToken token_ SUBLET_GUARDED_BY(mutex_);
};

class Authorized final : public net::Transport {
 public:
  Authorized(std::shared_ptr<net::Transport> transport, std::shared_ptr<const Current> current)
      : transport_(std::move(transport)), current_(std::move(current)) {}
  std::unique_ptr<net::Exchange> start(net::Request request, std::shared_ptr<net::ResponseObserver> observer,
                                       std::chrono::milliseconds timeout) override {
    request.headers.add("Authorization", current_->header());
    return transport_->start(std::move(request), std::move(observer), timeout);
  }

 private:
  const std::shared_ptr<net::Transport> transport_;
  const std::shared_ptr<const Current> current_;
};

}  // namespace

Result<AccountToken> request_account_token(const Client& client, const std::string& account_namespace,
                                           const std::string& account, const Clock& clock) {
  Document wanted = Document::object();
  wanted.root().put("apiVersion", "authentication.k8s.io/v1");
  wanted.root().put("kind", "TokenRequest");
  wanted.root().object("spec").put("expirationSeconds", std::int64_t{kAccountTokenLife.count()});
  const WallTime now = clock.now();
  const auto made = client.create(kServiceAccounts, account_namespace, wanted.root(), account, "token");
  if (!made) return fail(made.error());
  const auto status = made->root()["status"];
  const auto expires = parse_time(status["expirationTimestamp"].text());
  if (status["token"].text().empty() || !expires)
    return internal_error("the answer to a request for a token of ServiceAccount " + account + " has none");
  return AccountToken{status["token"].string(), now, *expires};
}

Result<AccountToken> load_account_token(const std::string& path) {
  const auto text = read_file(path);
  if (!text) return fail(text.error());
  const auto document = Document::parse_json(*text);
  const auto root = document ? document->root() : schema::Value();
  const auto issued = parse_time(root["issued"].text()), expires = parse_time(root["expires"].text());
  if (root["token"].text().empty() || !issued || !expires) return internal_error(path + " has no token");
  return AccountToken{root["token"].string(), *issued, *expires};
}

Outcome save_account_token(const std::string& path, const AccountToken& token) {
  Document document = Document::object();
  document.root().put("token", token.token);
  document.root().put("issued", format_time(token.issued));
  document.root().put("expires", format_time(token.expires));
  return write_private_file(path, document.to_json() + "\n");
}

struct TokenKeeper::Impl {
  Impl(std::shared_ptr<net::Transport> host, AccountToken first, std::string f, std::string n, std::string a, Clock& c)
      : current(std::make_shared<Current>(std::move(first))),
        client(std::make_shared<Authorized>(std::move(host), current), {.user_agent = "sublet-syncer"}),
        file(std::move(f)),
        account_namespace(std::move(n)),
        account(std::move(a)),
        clock(c) {}

  void take(AccountToken token, const char* from) {
    log::info("host_token.renewed", {{"account", account}, {"by", from}, {"expires", format_time(token.expires)}});
    current->set(std::move(token));
  }

  void run() {
    for (;;) {
      const auto looked = owner->look();
      if (!looked && !std::exchange(failing, true))
        log::warning("host_token.not_renewed", {{"account", account}, {"cause", looked.error().message}});
      if (looked) failing = false;
      MutexLock lock(mutex);
      if (stopping || stop.wait_for(lock, looked ? kBetweenLooks : kAfterFailure,
                                    [this]() SUBLET_REQUIRES(mutex) { return stopping; }))
        return;
    }
  }

  const std::shared_ptr<Current> current;
  const Client client;
  const std::string file, account_namespace, account;
  Clock& clock;
  TokenKeeper* owner = nullptr;
  bool failing = false;  // the thread's
  Mutex mutex;
  CondVar stop;
  bool stopping SUBLET_GUARDED_BY(mutex) = false;
  std::thread thread;
};

TokenKeeper::TokenKeeper(std::shared_ptr<net::Transport> host, AccountToken first, std::string file,
                         std::string account_namespace, std::string account, Clock& clock)
    : impl_(std::make_unique<Impl>(std::move(host), std::move(first), std::move(file), std::move(account_namespace),
                                   std::move(account), clock)) {
  impl_->owner = this;
}

TokenKeeper::~TokenKeeper() {
  {
    const MutexLock lock(impl_->mutex);
    impl_->stopping = true;
  }
  impl_->stop.notify_all();
  if (impl_->thread.joinable()) impl_->thread.join();
}

std::shared_ptr<net::Transport> TokenKeeper::authorize(std::shared_ptr<net::Transport> transport) const {
  return std::make_shared<Authorized>(std::move(transport), impl_->current);
}

void TokenKeeper::start() {
  impl_->thread = std::thread([impl = impl_.get()] { impl->run(); });
}

AccountToken TokenKeeper::token() const { return impl_->current->get(); }

Outcome TokenKeeper::look() {
  const AccountToken now_used = token();
  const WallTime now = impl_->clock.now();
  if (!now_used.due_at(now)) return {};
  // Somebody with more rights may have been there: the only way back once the own one has ended.
  if (auto in_file = load_account_token(impl_->file);
      in_file && in_file->token != now_used.token && !in_file->due_at(now)) {
    impl_->take(std::move(*in_file), "its file");
    return {};
  }
  if (!now_used.holds_at(now))
    return fail(
        Reason::unauthorized,
        "the token of ServiceAccount " + impl_->account + " ended at " + format_time(now_used.expires) +
            ", and only its operator can give another: run `sublet create` for this virtual cluster again, with "
            "the host's kubeconfig");
  auto fresh = request_account_token(impl_->client, impl_->account_namespace, impl_->account, impl_->clock);
  if (!fresh) return fail(fresh.error());
  auto saved = save_account_token(impl_->file, *fresh);
  impl_->take(std::move(*fresh), "the host");
  return saved;  // it is used all the same; a restart needs the file
}

}  // namespace sublet::kube
