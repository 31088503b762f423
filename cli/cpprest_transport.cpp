#include "cli/cpprest_transport.h"

#include <cpprest/http_client.h>
#include <openssl/ssl.h>

#include <boost/asio/ssl/context.hpp>
#include <map>
#include <utility>  // before cpprest: Boost 1.74's asio/awaitable.hpp uses std::exchange without it

#include "sublet/base/mutex.h"

namespace sublet::cli {
namespace {

using web::http::http_request;
using web::http::http_response;
using web::http::client::http_client;
using web::http::client::http_client_config;

void configure_tls(boost::asio::ssl::context& context, const kube::ClusterAccess& access) {
  using boost::asio::buffer;
  if (access.insecure_skip_tls_verify) context.set_verify_mode(boost::asio::ssl::verify_none);
  if (!access.ca_pem.empty()) context.add_certificate_authority(buffer(access.ca_pem));
  if (access.client_certificate_pem.empty()) return;
  context.use_certificate_chain(buffer(access.client_certificate_pem));
  context.use_private_key(buffer(access.client_key_pem), boost::asio::ssl::context::pem);
}

http_client_config config_of(const kube::ClusterAccess& access, std::chrono::milliseconds timeout) {
  http_client_config config;
  config.set_timeout(timeout);
  config.set_validate_certificates(!access.insecure_skip_tls_verify);
  config.set_ssl_context_callback([access](boost::asio::ssl::context& context) { configure_tls(context, access); });
  return config;
}

http_request message_of(const net::Request& request, const kube::ClusterAccess& access) {
  http_request message(request.method);
  message.set_request_uri(request.target);
  for (const auto& [name, value] : request.headers) message.headers().add(name, value);
  if (!access.bearer_token.empty()) message.headers().add("Authorization", "Bearer " + access.bearer_token);
  // cpprest takes the name that it asks the certificate for (and sends as SNI) from here.
  if (!access.tls_server_name.empty()) message.headers().add("Host", access.tls_server_name);
  if (request.body.empty()) return message;
  const std::string type(request.headers.get("Content-Type"));
  message.headers().remove("Content-Type");  // set_body adds it again
  // A stream of bytes, not of chars: cpprest would cast the one into the other through void, and call the methods
  // of a class that the object is not of (UBSan's vptr check).
  message.set_body(concurrency::streams::bytestream::open_istream(
                       std::vector<unsigned char>(request.body.begin(), request.body.end())),
                   request.body.size(), type);
  return message;
}

// One exchange in progress: its observer, until the answer was delivered or the exchange was dropped.
class Call {
 public:
  Call(std::shared_ptr<net::ResponseObserver> observer, std::string server)
      : observer_(std::move(observer)), server_(std::move(server)) {}
  const pplx::cancellation_token_source& cancellation() const { return cancellation_; }

  void tell(const http_response& answer, const std::vector<unsigned char>& body) {
    const RecursiveLock lock(mutex_);
    const auto observer = std::exchange(observer_, nullptr);
    if (!observer) return;
    net::Headers headers;
    for (const auto& [name, value] : answer.headers()) headers.add(name, value);
    observer->on_head(answer.status_code(), headers);
    observer->on_body({reinterpret_cast<const char*>(body.data()), body.size()});
    observer->on_end({});
  }
  void tell_failure(const char* why) {
    const RecursiveLock lock(mutex_);
    if (const auto observer = std::exchange(observer_, nullptr))
      observer->on_end(fail(Reason::service_unavailable, "cannot reach " + server_ + ": " + why));
  }
  void abandon() {
    {
      const RecursiveLock lock(mutex_);
      if (!std::exchange(observer_, nullptr)) return;
    }
    cancellation_.cancel();
  }

 private:
  RecursiveMutex mutex_;  // held while the observer is called, which may abandon the call
  std::shared_ptr<net::ResponseObserver> observer_ SUBLET_GUARDED_BY(mutex_);
  const std::string server_;
  pplx::cancellation_token_source cancellation_;
};

class CpprestExchange final : public net::Exchange {
 public:
  explicit CpprestExchange(std::shared_ptr<Call> call) : call_(std::move(call)) {}
  ~CpprestExchange() override { call_->abandon(); }
  void pause(bool) override {}  // an answer is delivered in one piece

 private:
  const std::shared_ptr<Call> call_;
};

void carry_out(http_client& client, const http_request& message, const std::shared_ptr<Call>& call) {
  client.request(message, call->cancellation().get_token())
      .then([call](const http_response& answer) {
        return answer.extract_vector().then(
            [call, answer](const std::vector<unsigned char>& body) { call->tell(answer, body); });
      })
      .then([call](const pplx::task<void>& done) {
        try {
          done.get();
        } catch (const std::exception& error) {
          call->tell_failure(error.what());
        }
      });
}

class CpprestTransport final : public net::Transport {
 public:
  explicit CpprestTransport(kube::ClusterAccess access) : access_(std::move(access)) {}

  std::unique_ptr<net::Exchange> start(net::Request request, std::shared_ptr<net::ResponseObserver> observer,
                                       std::chrono::milliseconds timeout) override {
    auto call = std::make_shared<Call>(std::move(observer), access_.server);
    try {
      carry_out(client_for(timeout.count() > 0 ? timeout : std::chrono::minutes(1)), message_of(request, access_),
                call);
    } catch (const std::exception& error) {
      call->tell_failure(error.what());
    }
    return std::make_unique<CpprestExchange>(std::move(call));
  }

 private:
  // A client keeps its connections and has one timeout; few timeouts are in use.
  http_client& client_for(std::chrono::milliseconds timeout) {
    const MutexLock lock(mutex_);
    return clients_.try_emplace(timeout, access_.server, config_of(access_, timeout)).first->second;
  }

  const kube::ClusterAccess access_;
  Mutex mutex_;
  std::map<std::chrono::milliseconds, http_client> clients_ SUBLET_GUARDED_BY(mutex_);  // entries stay
};

}  // namespace

Result<std::shared_ptr<net::Transport>> make_cpprest_transport(const kube::ClusterAccess& access) {
  if (!access.server.starts_with("https://") && !access.server.starts_with("http://"))
    return bad_request("server " + access.server + " of context " + access.context_name + " is no URL");
  // What was set up last is torn down first at exit: cpprest's threads, made with the first client, must have ended and
  // given back their share of OpenSSL when OpenSSL forgets its threads. So OpenSSL comes first.
  ::OPENSSL_init_ssl(0, nullptr);
  return std::make_shared<CpprestTransport>(access);
}

}  // namespace sublet::cli

// cpprest closes an answer's body behind our back, in steps that it queues for threads that nobody can join. Those that
// are still in line when the process ends are never run, and LeakSanitizer counts what they hold.
#ifdef __has_feature
#if __has_feature(address_sanitizer)
// NOLINTNEXTLINE(bugprone-reserved-identifier): the sanitizer's name
extern "C" const char* __lsan_default_suppressions() { return "leak:libcpprest.so\n"; }
#endif
#endif
