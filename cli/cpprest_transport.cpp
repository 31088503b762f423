#include "cli/cpprest_transport.h"

#include <cpprest/http_client.h>
#include <openssl/ssl.h>

#include <boost/asio/ssl/context.hpp>

namespace sublet::cli {
namespace {

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

class CpprestTransport final : public net::Transport {
 public:
  explicit CpprestTransport(kube::ClusterAccess access) : access_(std::move(access)) {}

  std::unique_ptr<net::Exchange> start(net::Request request, std::shared_ptr<net::ResponseObserver> observer,
                                       std::chrono::milliseconds timeout) override {
    try {
      http_client client(access_.server, config_of(access_, timeout.count() > 0 ? timeout : std::chrono::minutes(1)));
      web::http::http_request message(request.method);
      message.set_request_uri(request.target);
      for (const auto& [name, value] : request.headers) message.headers().add(name, value);
      if (!access_.bearer_token.empty()) message.headers().add("Authorization", "Bearer " + access_.bearer_token);
      if (!request.body.empty()) {
        const std::string type(request.headers.get("Content-Type"));
        message.headers().remove("Content-Type");  // set_body adds it again
        // A stream of bytes, not of chars: cpprest would cast the one into the other through void, and call the methods
        // of a class that the object is not of (UBSan's vptr check).
        message.set_body(concurrency::streams::bytestream::open_istream(
                             std::vector<unsigned char>(request.body.begin(), request.body.end())),
                         request.body.size(), type);
      }
      const web::http::http_response answer = client.request(message).get();
      const auto body = answer.extract_vector().get();
      net::Headers headers;
      for (const auto& [name, value] : answer.headers()) headers.add(name, value);
      observer->on_head(answer.status_code(), headers);
      observer->on_body({reinterpret_cast<const char*>(body.data()), body.size()});
      observer->on_end({});
    } catch (const std::exception& error) {
      observer->on_end(fail(Reason::service_unavailable, "cannot reach " + access_.server + ": " + error.what()));
    }
    return std::make_unique<net::Exchange>();
  }

 private:
  kube::ClusterAccess access_;
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
