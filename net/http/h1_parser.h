// RequestParser and ResponseParser: HTTP/1 messages from bytes, without sockets.
//
// Strict, because a proxy before us may read a doubtful message differently: bare CR or LF, NUL, folded lines, several
// or listed Content-Length, Content-Length beside Transfer-Encoding, any coding but `chunked`, a missing or second Host
// are all refused. Why it is our own: docs/decisions/net-http1-parser.md. put() is given contiguous bytes and says how
// many it took; the caller keeps the rest and offers it again with more behind it. One parser reads one message.
// Fuzzed: tests/fuzz/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "sublet/net/http.h"

namespace sublet::net {

struct ParserLimits {
  std::size_t head_bytes_max;
  std::size_t body_bytes_max;
};

class RequestParser {
 public:
  explicit RequestParser(ParserLimits limits);
  ~RequestParser();
  RequestParser(const RequestParser&) = delete;
  RequestParser& operator=(const RequestParser&) = delete;

  std::size_t put(std::string_view input);
  bool head_done() const;
  bool done() const;
  /// 0, or the HTTP code with which to refuse the message; error() says why, in words that need no escaping.
  int refusal() const;
  std::string_view error() const;
  // After head_done():
  bool keep_alive() const;
  bool is_http_1_0() const;
  bool expects_continue() const;
  /// After done(); once.
  Request take();
  // In two parts: the head before done(), the body after it.
  Request take_head();
  std::string take_body();
  /// Bytes of the body that lie here.
  std::size_t held() const;
  /// Whether the rest of the body is sure to come and not more than so many bytes.
  bool rest_is_below(std::size_t bytes) const;
  /// From here on the body's bytes are dropped.
  void discard();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

class ResponseParser {
 public:
  /// Hears the message while put() runs.
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void on_head(int code, const Headers& headers) = 0;
    virtual void on_body(std::string_view chunk) = 0;
  };
  /// `may_upgrade`: the request asks for another protocol, so 101 is an answer: what follows its head is not taken.
  ResponseParser(Listener& listener, bool is_answer_to_head, std::size_t head_bytes_max, bool may_upgrade = false);
  ~ResponseParser();
  ResponseParser(const ResponseParser&) = delete;
  ResponseParser& operator=(const ResponseParser&) = delete;

  std::size_t put(std::string_view input);
  /// The peer sent its last byte: ends a body without length; anywhere else an error.
  void put_end();
  bool done() const;
  bool upgraded() const;
  std::string_view error() const;  // "" while all is well
  /// After done(): whether the connection may carry another request.
  bool keep_alive() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sublet::net
