// Stream: one connected, non-blocking socket, plain or TLS, under a connection's state machine.
//
// It owns the descriptor. All calls from the loop's thread; none blocks. After `failed` or `end` only destruction is
// useful. read() and write() may each ask for the other direction (`want_write`, `want_read`), as TLS needs it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "net/socket/strangers.h"
#include "sublet/base/descriptor.h"
#include "sublet/base/status.h"
#include "sublet/net/http.h"
#include "sublet/net/tls_context.h"

namespace sublet::net {

inline constexpr std::size_t kReadSize = 16 * 1024;
inline constexpr int kReadsPerEvent = 16;  // of one connection; then the loop serves the others

enum class Io { ok, want_read, want_write, end, failed };

class Stream {
 public:
  struct Done {
    Io io;
    std::size_t bytes = 0;
  };
  explicit Stream(Descriptor fd) : fd_(std::move(fd)) {}
  virtual ~Stream() = default;

  int fd() const { return fd_.get(); }
  /// ok when done (at once for plain streams).
  virtual Io handshake() { return Io::ok; }
  /// What ALPN chose; "" when it was not used.
  virtual std::string_view protocol() const { return {}; }
  virtual Done read(char* out, std::size_t size) = 0;
  /// May take less than `size`. A call after `want_*` must offer the same bytes first (more may follow). `more`: the
  /// next write() comes at once, so the kernel may wait with what would not fill a packet: it wakes the peer once for
  /// all of them.
  virtual Done write(const char* bytes, std::size_t size, bool more) = 0;
  /// More than this per write() is of no use.
  virtual std::size_t write_size_max() const = 0;
  /// True when bytes wait inside the stream that epoll cannot know of.
  virtual bool holds_input() const { return false; }
  /// Says "no more bytes from here" to the peer, as far as that goes without waiting.
  virtual void shutdown_writing();
  /// Who the peer is, as far as the transport proves it. Once, after the handshake: what proved it is dropped.
  virtual PeerIdentity take_peer() = 0;
  /// Why the last call failed, for people.
  const std::string& error() const { return error_; }
  /// Bytes that the kernel took from us and the peer has not taken yet.
  std::size_t unacknowledged() const;
  /// The next destruction resets the connection instead of closing it in order.
  void reset_on_close();
  /// Kept as long as the stream lives.
  void hold(std::shared_ptr<void> what) { held_ = std::move(what); }
  /// Null once the peer is authenticated, and where peers need no authentication.
  void count_as(std::unique_ptr<Stranger> stranger) { stranger_ = std::move(stranger); }
  Stranger* stranger() const { return stranger_.get(); }

 protected:
  Done from_errno(const char* what);
  Descriptor fd_;
  std::string error_;

 private:
  std::shared_ptr<void> held_;
  std::unique_ptr<Stranger> stranger_;  // goes before the descriptor
};

std::unique_ptr<Stream> make_plain_stream(Descriptor fd);
/// To be driven by handshake() first, once there is something to read.
std::unique_ptr<Stream> make_tls_server_stream(Descriptor fd, std::shared_ptr<TlsContext> context);
/// `host` is verified (and sent as SNI) unless the context names another.
Result<std::unique_ptr<Stream>> make_tls_client_stream(Descriptor fd, std::shared_ptr<TlsContext> context,
                                                       const std::string& host);

/// "127.0.0.1:4711", "[::1]:4711" or "unix".
std::string peer_address(int fd);

}  // namespace sublet::net
