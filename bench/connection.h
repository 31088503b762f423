// Connection: one HTTP/1.1 connection over TLS of its own, blocking, for the load client.
//
// It shares nothing with net/, so that a figure never flatters (or blames) sublet for its own client, and every server
// under test meets the same client. Any failure ends the program with a message: a benchmark with errors has no result.
// One thread at a time per Connection; a ClientTls may be shared by all of them and must outlive them.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>
#include <string_view>

#include "sublet/kube/kubeconfig.h"

namespace sublet::bench {

/// Prints "sublet_bench: MESSAGE" and exits with 1.
[[noreturn]] void die(const std::string& message);

/// Credentials and address of one server, ready for many connections.
class ClientTls {
 public:
  explicit ClientTls(const kube::ClusterAccess& access);
  ~ClientTls();
  ClientTls(const ClientTls&) = delete;
  ClientTls& operator=(const ClientTls&) = delete;

  SSL_CTX* context() const { return context_; }
  const std::string& host() const { return host_; }
  const std::string& port() const { return port_; }
  const std::string& headers() const { return headers_; }  // Host and, with a token, Authorization
  const std::string& server_name() const { return server_name_; }

 private:
  SSL_CTX* context_ = nullptr;
  std::string host_, port_, headers_, server_name_;
};

/// Undoes chunked transfer encoding, whatever the pieces in which it arrives.
class ChunkDecoder {
 public:
  /// Appends the payload within `bytes` to `out`; true when the last chunk was read.
  bool feed(std::string_view bytes, std::string& out);

 private:
  enum class Part { size, data, after_data, done };
  Part part_ = Part::size;
  std::size_t remaining_ = 0;
  std::string line_;
};

struct Request {
  std::string_view method = "GET";
  std::string path = {};
  std::string body = {};
  std::string_view content_type = "application/json";
  bool gzip = false;
};

struct Response {
  int status = 0;
  std::string body;
};

class Connection {
 public:
  explicit Connection(const ClientTls& tls);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Sends the request and reads the whole answer.
  Response call(const Request& request);
  /// As call(), but dies unless the answer is 2xx.
  Response expect(const Request& request);
  /// Sends a watch and reads up to the end of the answer's headers.
  void start_stream(const std::string& path);
  /// The next raw bytes of a stream. Blocking: empty at its end. Non-blocking: empty also when there are none yet.
  std::string_view read_raw();
  void set_nonblocking();
  /// Non-blocking: at most `most` bytes, none when there are none yet; an end is told, not died of. For streams whose
  /// end is what is asked for.
  struct Piece {
    std::string_view bytes;
    bool ended = false;   // in order
    bool broken = false;  // reset, or cut off
  };
  Piece try_read(std::size_t most);
  int descriptor() const { return socket_; }

 private:
  void send(const Request& request);
  void read_headers(std::string& headers);

  const ClientTls& tls_;
  int socket_ = -1;
  SSL* ssl_ = nullptr;
  std::string pending_;  // read beyond the headers of a stream
  std::string taken_;
};

}  // namespace sublet::bench
