// TestTlsServer: an HTTPS server of the test's own, at a free port of 127.0.0.1, with a CA made for it. Test code only.
//
// Declare it before what its handler uses and stop() it in the owner's destructor: nothing is asked of a stopped one.
// Threads: the handler runs on the server's own.
#pragma once

#include <string>

#include "sublet/net/http_server.h"
#include "sublet/net/tls_context.h"

namespace sublet::apiserver {

class TestTlsServer {
 public:
  /// `dns_name`: of the certificate, besides 127.0.0.1; "": none. `client_ca_pem`: who may show a certificate; "":
  /// no client certificate is requested.
  TestTlsServer(const char* name, net::Handler handler, const std::string& dns_name = "",
                const std::string& client_ca_pem = "");
  ~TestTlsServer();
  TestTlsServer(const TestTlsServer&) = delete;
  TestTlsServer& operator=(const TestTlsServer&) = delete;
  void stop();

  int port() const { return port_; }
  std::string url() const { return "https://127.0.0.1:" + std::to_string(port_); }
  const std::string& ca_pem() const { return ca_.certificate_pem; }

 private:
  net::LoopThread loop_;
  const net::KeyPair ca_;
  net::HttpServer server_;
  int port_ = 0;
};

/// A CA's certificate and key.
net::KeyPair make_test_ca(const std::string& common_name);

}  // namespace sublet::apiserver
