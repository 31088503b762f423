#include "apiserver/authn/issuer_keys.h"

#include <algorithm>
#include <utility>

#include "apiserver/authn/https_url.h"
#include "sublet/base/go_quoted.h"
#include "sublet/base/log.h"

namespace sublet::apiserver {
namespace {

using schema::Document;

constexpr std::chrono::seconds kAskAgain{10}, kIssuerTimeout{5};
constexpr std::size_t kIssuerAnswerMax = 1u << 20, kKeysMax = 256, kWaitingMax = 1000;

std::string discovery_url_of(const JwtIssuer& issuer) {
  if (!issuer.discovery_url.empty()) return issuer.discovery_url;
  std::string_view url = issuer.url;
  if (url.ends_with('/')) url.remove_suffix(1);
  return std::string(url) + "/.well-known/openid-configuration";
}

}  // namespace

IssuerKeys::IssuerKeys(const JwtIssuer& issuer, net::Loop& loop, net::OutboundClient& client, Clock& clock)
    : url_(issuer.url),
      discovery_url_(discovery_url_of(issuer)),
      ca_pem_(issuer.ca_pem),
      loop_(loop),
      clock_(clock),
      client_(&client) {}

std::shared_ptr<const JwsKeys> IssuerKeys::keys() const {
  const MutexLock lock(mutex_);
  return keys_;
}

bool IssuerKeys::knows(std::string_view key_id) const {
  return keys_ && (key_id.empty() || std::ranges::any_of(*keys_, [&](const auto& key) { return key->id() == key_id; }));
}

bool IssuerKeys::wait_for(std::string_view key_id, std::function<void()> then) {
  {
    const MutexLock lock(mutex_);
    if (knows(key_id) || !client_) return false;
    const bool may_ask = !asked_ || clock_.steady_now() - asked_at_ >= kAskAgain;
    if (!asking_ && !may_ask) return false;
    if (waiting_.size() >= kWaitingMax) return false;
    waiting_.push_back(std::move(then));
    if (asking_) return true;
  }
  ask();
  return true;
}

void IssuerKeys::start() { ask(); }

void IssuerKeys::ask() {
  {
    const MutexLock lock(mutex_);
    if (std::exchange(asking_, true)) return;
    asked_ = true;
    asked_at_ = clock_.steady_now();
  }
  ask(discovery_url_, &IssuerKeys::on_discovery);
}

void IssuerKeys::ask(const std::string& url, void (IssuerKeys::*then)(const net::Response& answer)) {
  const auto where = HttpsUrl::parse(url);
  if (!where) return fail(go_quoted(url) + " is no https URL");
  net::OutboundPeer peer;
  peer.host = where->host;
  peer.port = where->port;
  peer.ca_pem = ca_pem_;
  net::Request request;
  request.method = "GET";
  request.target = where->path;
  request.headers = {{"Host", where->authority}, {"Accept", "application/json"}, {"User-Agent", "kube-apiserver-oidc"}};
  const MutexLock lock(mutex_);
  if (!client_) return;
  calls_.push_back(client_->call(peer, {std::move(request), kIssuerTimeout, kIssuerAnswerMax},
                                 [weak = weak_from_this(), url, then](const Result<net::Response>& answer) {
                                   const auto self = weak.lock();
                                   if (!self) return;
                                   if (!answer)
                                     return self->fail("Get " + go_quoted(url) + ": " + answer.error().message);
                                   if (answer->code != 200)
                                     return self->fail("Get " + go_quoted(url) + ": it answers " +
                                                       std::to_string(answer->code));
                                   ((*self).*then)(*answer);
                                 }));
}

void IssuerKeys::on_discovery(const net::Response& answer) {
  const auto document = Document::parse_json(answer.body);
  if (!document) return fail("failed to decode provider discovery object: " + document.error().message);
  if (const auto said = (*document)["issuer"].text(); said != url_)
    return fail("issuer did not match the issuer returned by provider, expected " + go_quoted(url_) + " got " +
                go_quoted(said));
  const auto keys = (*document)["jwks_uri"].string();
  if (keys.empty()) return fail("provider did not return JWKS URL");
  ask(keys, &IssuerKeys::on_keys);
}

void IssuerKeys::on_keys(const net::Response& answer) {
  const auto document = Document::parse_json(answer.body);
  if (!document) return fail("failed to decode keys: " + document.error().message);
  auto keys = std::make_shared<JwsKeys>();
  for (const schema::Value jwk : (*document)["keys"]) {
    if (keys->size() == kKeysMax) break;
    if (auto key = JwsKey::of_jwk(jwk)) keys->push_back(std::move(key));
  }
  log::info("authentication.keys", {{"issuer", url_}, {"keys", keys->size()}});
  {
    const MutexLock lock(mutex_);
    keys_ = std::move(keys);
  }
  finish();
}

void IssuerKeys::fail(const std::string& why) {
  log::error("authentication.no_keys", {{"issuer", url_}, {"why", why}});
  finish();
}

void IssuerKeys::finish() {
  std::vector<std::function<void()>> waiting;
  std::vector<net::OutboundClient::Call> calls;
  {
    const MutexLock lock(mutex_);
    asking_ = false;
    waiting.swap(waiting_);
    calls.swap(calls_);
  }
  // A call must not be destroyed within its own answer, and waiting requests resume outside of it.
  loop_.post([waiting = std::move(waiting), calls = std::move(calls)] {
    for (const auto& then : waiting) then();
  });
}

void IssuerKeys::stop() {
  std::vector<net::OutboundClient::Call> calls;
  std::vector<std::function<void()>> waiting;
  const MutexLock lock(mutex_);
  client_ = nullptr;
  calls.swap(calls_);
  waiting.swap(waiting_);
}

}  // namespace sublet::apiserver
