// What net's tests share: a server on a loop of its own with certificates of every kind, a raw client socket that says
// exactly what a test wants, and an observer that records. Waiting is always for a condition, with a generous limit.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/eventually_testing.h"
#include "net/socket/resolver.h"
#include "sublet/base/descriptor.h"
#include "sublet/base/mutex.h"
#include "sublet/net/http.h"
#include "sublet/net/http_client.h"
#include "sublet/net/http_server.h"
#include "sublet/net/loop.h"
#include "sublet/net/tls_context.h"

namespace sublet::net {

using namespace std::chrono_literals;
inline constexpr auto kPatience = 60s;

using testing_support::eventually;

/// A box that one thread fills and another waits for.
template <class T>
class Box {
 public:
  void put(T value) {
    const MutexLock lock(mutex_);
    value_ = std::move(value);
    changed_.notify_all();
  }
  std::optional<T> wait() {
    MutexLock lock(mutex_);
    changed_.wait_for(lock, kPatience, [this]() SUBLET_REQUIRES(mutex_) { return value_.has_value(); });
    return std::exchange(value_, std::nullopt);
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::optional<T> value_ SUBLET_GUARDED_BY(mutex_);
};

/// Records what a client hears.
class Recorder final : public ResponseObserver {
 public:
  void on_head(int code, const Headers& headers) override {
    const MutexLock lock(mutex_);
    code_ = code;
    headers_ = headers;
    changed_.notify_all();
  }
  void on_body(std::string_view chunk) override {
    const MutexLock lock(mutex_);
    body_.append(chunk);
    changed_.notify_all();
  }
  void on_end(Outcome outcome) override {
    const MutexLock lock(mutex_);
    outcome_ = std::move(outcome);
    changed_.notify_all();
  }
  bool wait_for_body(std::size_t size) {
    MutexLock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&]() SUBLET_REQUIRES(mutex_) { return body_.size() >= size; });
  }
  std::optional<Outcome> wait_for_end() {
    MutexLock lock(mutex_);
    changed_.wait_for(lock, kPatience, [this]() SUBLET_REQUIRES(mutex_) { return outcome_.has_value(); });
    return outcome_;
  }
  int code() {
    const MutexLock lock(mutex_);
    return code_;
  }
  std::string body() {
    const MutexLock lock(mutex_);
    return body_;
  }
  bool ended() {
    const MutexLock lock(mutex_);
    return outcome_.has_value();
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  int code_ = 0;
  Headers headers_;
  std::string body_;
  std::optional<Outcome> outcome_;
};

/// One authority with a server's and a client's certificate, made once per process.
struct TestCertificates {
  KeyPair authority, other_authority, server, client, foreign_client, server_only;
  static const TestCertificates& get() {
    static const TestCertificates made = make();
    return made;
  }

 private:
  static KeyPair issue(const KeyPair& by, const std::string& name, bool client_auth, bool server_auth) {
    CertificateRequest request;
    request.common_name = name;
    request.organizations = {"system:masters", "team-legal"};
    request.client_auth = client_auth;
    request.server_auth = server_auth;
    if (server_auth) {
      request.dns_names = {"localhost", "kubernetes.default.svc"};
      request.ip_addresses = {"127.0.0.1", "::1"};
    }
    return make_certificate(request, &by).value();
  }
  static KeyPair self_signed(const std::string& name) {
    CertificateRequest request;
    request.common_name = name;
    request.is_ca = true;
    return make_certificate(request, nullptr).value();
  }
  static TestCertificates make() {
    TestCertificates all;
    all.authority = self_signed("sublet-ca");
    all.other_authority = self_signed("other-ca");
    all.server = issue(all.authority, "apiserver", false, true);
    all.client = issue(all.authority, "admin", true, false);
    all.foreign_client = issue(all.other_authority, "admin", true, false);
    all.server_only = issue(all.authority, "not-a-client", false, true);
    return all;
  }
};

inline std::shared_ptr<TlsContext> server_tls() {
  const auto& all = TestCertificates::get();
  return TlsContext::server({.certificate_pem = all.server.certificate_pem,
                             .key_pem = all.server.key_pem,
                             .client_ca_pem = all.authority.certificate_pem})
      .value();
}

inline std::shared_ptr<TlsContext> client_tls(const KeyPair& identity = {}, const std::string& server_name = {}) {
  return TlsContext::client({.ca_pem = TestCertificates::get().authority.certificate_pem,
                             .certificate_pem = identity.certificate_pem,
                             .key_pem = identity.key_pem,
                             .server_name = server_name})
      .value();
}

/// A folder that goes with its owner.
class TempFolder {
 public:
  TempFolder() {
    char name[] = "/tmp/sublet-net-XXXXXX";
    path_ = ::mkdtemp(name);
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

/// A plain socket, blocking, that sends and receives as told.
class RawClient {
 public:
  explicit RawClient(const std::string& unix_path) : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const auto address = unix_address(unix_path).value();
    EXPECT_EQ(::connect(fd_.get(), address.get(), address.size), 0) << unix_path;
  }
  void send(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
  /// Reads until the text has come, the peer has closed, or patience is out. Keeps what is behind the text.
  std::string read_until(std::string_view text) {
    std::size_t found;
    while ((found = in_.find(text)) == std::string::npos && read_more()) {
    }
    if (found == std::string::npos) return std::exchange(in_, {});
    auto out = in_.substr(0, found + text.size());
    in_.erase(0, out.size());
    return out;
  }
  std::string read_size(std::size_t size) {
    while (in_.size() < size && read_more()) {
    }
    auto out = in_.substr(0, size);
    in_.erase(0, out.size());
    return out;
  }
  std::string read_all() {
    while (read_more()) {
    }
    return std::exchange(in_, {});
  }
  /// True when the peer closes (or has closed) without another byte.
  bool sees_end() { return !read_more() && ended_; }
  /// The errno by which reading ended; 0: in order, or not yet.
  int read_error() const { return read_error_; }
  int fd() const { return fd_.get(); }
  void close() { fd_.reset(); }

 private:
  bool read_more() {
    pollfd poll_fd{fd_.get(), POLLIN, 0};
    const auto limit = std::chrono::duration_cast<std::chrono::milliseconds>(kPatience).count();
    if (::poll(&poll_fd, 1, static_cast<int>(limit)) != 1) return false;
    char buffer[65536];
    const auto got = ::recv(fd_.get(), buffer, sizeof(buffer), 0);
    if (got <= 0) {
      read_error_ = got < 0 ? errno : 0;
      ended_ = true;
      return false;
    }
    in_.append(buffer, static_cast<std::size_t>(got));
    return true;
  }

  Descriptor fd_;
  std::string in_;
  bool ended_ = false;
  int read_error_ = 0;
};

/// A server on its own loop thread, on TLS and on a unix socket.
class TestServer {
 public:
  explicit TestServer(Handler handler, HttpServerLimits limits = {})
      : loop_("server"), server_(loop_.loop(), std::move(handler), limits) {
    address_ = server_.listen_tls("127.0.0.1:0", server_tls()).value();
    socket_ = folder_.file("api.sock");
    EXPECT_TRUE(server_.listen_unix(socket_));
  }
  HttpServer& server() { return server_; }
  Loop& loop() { return loop_.loop(); }
  const std::string& socket() const { return socket_; }
  int port() const { return std::stoi(address_.substr(address_.rfind(':') + 1)); }
  Endpoint tls_endpoint(std::shared_ptr<TlsContext> tls) const { return {"127.0.0.1", port(), {}, std::move(tls)}; }
  Endpoint unix_endpoint() const { return {{}, 0, socket_, nullptr}; }

 private:
  TempFolder folder_;
  LoopThread loop_;
  HttpServer server_;
  std::string address_, socket_;
};

inline Request get(std::string target) { return {"GET", std::move(target), {}, {}, {}}; }
inline Request post(std::string target, std::string body) {
  return {"POST", std::move(target), {{"Content-Type", "application/json"}}, std::move(body), {}};
}
inline std::shared_ptr<const std::string> shared(std::string text) {
  return std::make_shared<const std::string>(std::move(text));
}

/// Answers with what it was asked: method, target, body size, peer.
inline void echo(Request request, std::shared_ptr<ResponseSink> sink) {
  const auto& peer = request.peer;
  std::string who = peer.kind == PeerIdentity::Kind::certificate   ? "cn=" + peer.common_name
                    : peer.kind == PeerIdentity::Kind::unix_socket ? "uid=" + std::to_string(peer.uid)
                    : peer.kind == PeerIdentity::Kind::in_process  ? "in-process"
                                                                   : "anonymous";
  for (const auto& organization : peer.organizations) who += " o=" + organization;
  sink->respond(200, {{"Content-Type", "text/plain"}},
                request.method + " " + request.target + " " + std::to_string(request.body.size()) + " " + who);
}

}  // namespace sublet::net
