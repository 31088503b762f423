// HttpPeer: one blocking HTTP/1.1 connection over TLS, for servers that die: every failure is told, and whether the
// request may have arrived. Shares no code with net/, so that a defect there is not on both sides.
//
// Threads: one at a time per HttpPeer, but for abort(), which comes from any and ends a call that waits. The ClientTls
// must outlive it.
#pragma once

#include <string>
#include <string_view>

#include "bench/connection.h"
#include "sublet/base/mutex.h"

namespace sublet::history {

struct HttpAnswer {
  enum class End {
    answered,  // whole
    not_sent,  // the server cannot have seen it
    cut,       // it may have
  } end = End::not_sent;
  int status = 0;
  std::string body = {};
};

class HttpPeer {
 public:
  explicit HttpPeer(const bench::ClientTls& tls) : tls_(tls) {}
  ~HttpPeer() { close(); }
  HttpPeer(const HttpPeer&) = delete;
  HttpPeer& operator=(const HttpPeer&) = delete;

  /// Connects when there is no connection. A failure closes it.
  HttpAnswer call(const bench::Request& request);

  /// A GET whose answer has no end: the status; 0 when it did not come. `receive_buffer`: SO_RCVBUF, so that a slow
  /// reader is felt by the server; 0 leaves it.
  int start_stream(const std::string& path, int receive_buffer = 0);
  /// Appends what comes next (up to `most` bytes of TLS) to `out`; false at the end, in order or not.
  bool read_stream(std::string& out, std::size_t most);

  void abort();
  void close();

 private:
  bool connect(int receive_buffer);
  bool send(const bench::Request& request);
  bool read_headers(std::string& headers);
  bool receive(std::string& out, std::size_t most);

  const bench::ClientTls& tls_;
  Mutex mutex_;  // of socket_, against abort()
  int socket_ = -1;
  SSL* ssl_ = nullptr;
  std::string rest_;  // read beyond the headers
  bench::ChunkDecoder chunks_;
  bool stream_over_ = false;
};

}  // namespace sublet::history
