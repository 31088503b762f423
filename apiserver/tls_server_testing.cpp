#include "apiserver/tls_server_testing.h"

#include <utility>

namespace sublet::apiserver {

net::KeyPair make_test_ca(const std::string& common_name) {
  net::CertificateRequest request;
  request.common_name = common_name;
  request.is_ca = true;
  return net::make_certificate(request, nullptr).value();
}

TestTlsServer::TestTlsServer(const char* name, net::Handler handler, const std::string& dns_name,
                             const std::string& client_ca_pem)
    : loop_(name), ca_(make_test_ca(std::string(name) + "-ca")), server_(loop_.loop(), std::move(handler)) {
  net::CertificateRequest leaf;
  leaf.common_name = name;
  leaf.ip_addresses = {"127.0.0.1"};
  if (!dns_name.empty()) leaf.dns_names = {dns_name};
  leaf.server_auth = true;
  const auto own = net::make_certificate(leaf, &ca_).value();
  net::TlsServerConfig tls;
  tls.certificate_pem = own.certificate_pem;
  tls.key_pem = own.key_pem;
  tls.client_ca_pem = client_ca_pem;
  const std::string bound = server_.listen_tls("127.0.0.1:0", net::TlsContext::server(tls).value()).value();
  port_ = std::stoi(bound.substr(bound.rfind(':') + 1));
}

TestTlsServer::~TestTlsServer() { stop(); }

void TestTlsServer::stop() { server_.stop(std::chrono::milliseconds(0)); }

}  // namespace sublet::apiserver
