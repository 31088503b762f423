#include "net/h1_parser.h"

#include <algorithm>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/rfc7230.hpp>
#include <cstring>
#include <limits>
#include <optional>
#include <string>

namespace sublet::net {
namespace {

namespace http = boost::beast::http;
using boost::beast::error_code;
using BeastView = boost::beast::string_view;

constexpr std::size_t kChunkLineMax = 4 * 1024;  // chunk size with its extensions
constexpr std::size_t kBodyReserveMax = 256 * 1024;
constexpr int kTrailerSlack = 8 * 1024;

std::string_view view(BeastView text) { return {text.data(), text.size()}; }

bool same(std::string_view a, std::string_view b) {
  return boost::beast::iequals({a.data(), a.size()}, {b.data(), b.size()});
}

/// Finds the end of a head and refuses bytes in it that others may read otherwise. Remembers how far it looked.
class HeadGate {
 public:
  /// Size of the head with its empty line, or 0 while it is incomplete.
  std::size_t find_end(std::string_view input) {
    const auto from = looked_ > 3 ? looked_ - 3 : 0;
    const auto end = input.find("\r\n\r\n", from);
    looked_ = input.size();
    return end == std::string_view::npos ? 0 : end + 4;
  }

  /// What is wrong with a complete head's bytes; "" when nothing is.
  static std::string_view fault(std::string_view head) {
    if (head.find('\0') != std::string_view::npos) return "NUL byte in the message head";
    for (std::size_t at = 0; (at = head.find_first_of("\r\n", at)) != std::string_view::npos; at += 2) {
      if (head[at] == '\n' || head.substr(at, 2) != "\r\n") return "line of the message head does not end with CRLF";
      const char next = at + 2 < head.size() ? head[at + 2] : '\0';
      if (next == ' ' || next == '\t') return "folded line in the message head";
    }
    return {};
  }

 private:
  std::size_t looked_ = 0;
};

/// The framing fields of a head, checked more strictly than the grammar asks.
class FramingCheck {
 public:
  void field(std::string_view name, std::string_view value) {
    if (same(name, "content-length")) {
      const bool digits = !value.empty() && value.size() < 19 && value.find_first_not_of("0123456789") == value.npos;
      if (lengths_++ > 0 || !digits) fault_ = "Content-Length is not one number";
    } else if (same(name, "transfer-encoding")) {
      if (codings_++ > 0 || !same(value, "chunked")) fault_ = "Transfer-Encoding is not exactly chunked";
    } else if (same(name, "host")) {
      ++hosts_;
    }
    if (lengths_ > 0 && codings_ > 0) fault_ = "both Content-Length and Transfer-Encoding";
  }
  std::string_view fault() const { return fault_; }
  bool chunked() const { return codings_ > 0; }
  int hosts() const { return hosts_; }

 private:
  int lengths_ = 0, codings_ = 0, hosts_ = 0;
  std::string_view fault_;
};

}  // namespace

// Requests ------------------------------------------------------------------------------------------------------------

struct RequestParser::Impl final : http::basic_parser<true> {
  explicit Impl(ParserLimits parser_limits) : limits(parser_limits) {
    header_limit(static_cast<std::uint32_t>(std::min<std::size_t>(limits.head_bytes_max, 1u << 30)));
    body_limit(limits.body_bytes_max);
    eager(true);
  }

  std::size_t put_head(std::string_view input) {
    std::size_t skipped = 0;  // empty lines before a request are left over from sloppy clients (RFC 9112 2.2)
    while (input.substr(skipped, 2) == "\r\n") skipped += 2;
    input.remove_prefix(skipped);
    const auto size = gate.find_end(input);
    if (size == 0 ? input.size() >= limits.head_bytes_max : size > limits.head_bytes_max) {
      refuse(431, "request head is too large");
    } else if (size > 0) {
      if (const auto fault = HeadGate::fault(input.substr(0, size)); !fault.empty()) return refuse(400, fault), 0;
      return skipped + feed(input.substr(0, size));
    }
    return skipped;
  }

  std::size_t feed(std::string_view input) {
    error_code code;
    const auto taken = http::basic_parser<true>::put(boost::asio::const_buffer(input.data(), input.size()), code);
    if (code == http::error::body_limit)
      refuse(413, "request body is too large");
    else if (code && code != http::error::need_more)
      refuse(400, "malformed request");  // unless an event of ours has already said why
    else if (code == http::error::need_more && is_header_done() && input.size() - taken > kChunkLineMax + kTrailerSlack)
      refuse(400, "chunk header or trailer is too large");
    return taken;
  }

  void refuse(int code, std::string_view why) {
    if (refusal != 0) return;
    refusal = code;
    reason = why;
  }

  /// Everything that a head must be beyond the grammar.
  void check_head() {
    if (!framing.fault().empty()) return refuse(400, framing.fault());
    if (framing.hosts() > 1) return refuse(400, "more than one Host");
    if (version >= 11 && framing.hosts() == 0) return refuse(400, "missing Host");
    if (version < 11 && framing.chunked()) return refuse(400, "Transfer-Encoding in HTTP/1.0");
    if (request.target.starts_with("http://") || request.target.starts_with("https://")) {
      const auto path = request.target.find('/', request.target.find("//") + 2);
      request.target = path == std::string::npos ? "/" : request.target.substr(path);
    }
    if (!request.target.starts_with('/')) return refuse(400, "request target is not a path");
    const auto expect = request.headers.get("expect");
    if (expect.empty()) return;
    if (!same(expect, "100-continue")) return refuse(417, "only 100-continue can be expected");
    expects_continue = version >= 11;
  }

  // basic_parser's events; Beast has checked the grammar of what it hands over.
  void on_request_impl(http::verb, BeastView method, BeastView target, int http_version, error_code&) override {
    request.method = view(method);
    request.target = view(target);
    version = http_version;
  }
  void on_field_impl(http::field, BeastView name, BeastView value, error_code&) override {
    if (is_header_done()) return;  // trailers
    framing.field(view(name), view(value));
    request.headers.add(std::string(view(name)), std::string(view(value)));
  }
  void on_header_impl(error_code& code) override {
    check_head();
    if (refusal != 0) code = http::error::bad_value;
  }
  void on_body_init_impl(const boost::optional<std::uint64_t>& size, error_code&) override {
    if (size) request.body.reserve(static_cast<std::size_t>(std::min<std::uint64_t>(*size, kBodyReserveMax)));
  }
  std::size_t on_body_impl(BeastView bytes, error_code&) override {
    request.body.append(bytes.data(), bytes.size());
    return bytes.size();
  }
  void on_chunk_header_impl(std::uint64_t, BeastView, error_code&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, BeastView bytes, error_code& code) override {
    return on_body_impl(bytes, code);
  }
  void on_response_impl(int, BeastView, int, error_code&) override {}
  void on_finish_impl(error_code&) override {}

  const ParserLimits limits;
  HeadGate gate;
  FramingCheck framing;
  Request request;
  int version = 11;
  int refusal = 0;
  bool expects_continue = false;
  std::string_view reason;
};

RequestParser::RequestParser(ParserLimits limits) : impl_(std::make_unique<Impl>(limits)) {}
RequestParser::~RequestParser() = default;

std::size_t RequestParser::put(std::string_view input) {
  if (refusal() != 0 || done()) return 0;
  std::size_t taken = 0;
  if (!head_done()) taken = impl_->put_head(input);
  if (refusal() == 0 && head_done() && !done() && taken < input.size()) taken += impl_->feed(input.substr(taken));
  return taken;
}

bool RequestParser::head_done() const { return impl_->is_header_done(); }
bool RequestParser::done() const { return impl_->refusal == 0 && impl_->is_done(); }
int RequestParser::refusal() const { return impl_->refusal; }
std::string_view RequestParser::error() const { return impl_->reason; }
bool RequestParser::keep_alive() const { return impl_->keep_alive(); }
bool RequestParser::is_http_1_0() const { return impl_->version < 11; }
bool RequestParser::expects_continue() const { return impl_->expects_continue; }
Request RequestParser::take() { return std::move(impl_->request); }

// Responses -----------------------------------------------------------------------------------------------------------

namespace {

/// One response message; an interim one (1xx) is followed by another.
struct ResponseMessage final : http::basic_parser<false> {
  ResponseMessage(ResponseParser::Listener& response_listener, bool skip_body, std::size_t head_bytes_max)
      : listener(response_listener) {
    header_limit(static_cast<std::uint32_t>(std::min<std::size_t>(head_bytes_max, 1u << 30)));
    // Not boost::none: Beast 1.74 compares `length > limit` on optionals, and every number is more than none.
    body_limit(std::numeric_limits<std::uint64_t>::max());
    eager(true);
    skip(skip_body);
  }

  void on_response_impl(int response_code, BeastView, int, error_code&) override { code = response_code; }
  void on_field_impl(http::field, BeastView name, BeastView value, error_code&) override {
    if (is_header_done()) return;  // trailers
    framing.field(view(name), view(value));
    headers.add(std::string(view(name)), std::string(view(value)));
  }
  void on_header_impl(error_code& error) override {
    if (!framing.fault().empty() || code == 101) {
      error = http::error::bad_value;
      return;
    }
    if (code >= 200) listener.on_head(code, headers);
    headers = {};
  }
  void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
  std::size_t on_body_impl(BeastView bytes, error_code&) override {
    if (!bytes.empty()) listener.on_body(view(bytes));
    return bytes.size();
  }
  void on_chunk_header_impl(std::uint64_t, BeastView, error_code&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, BeastView bytes, error_code& error) override {
    return on_body_impl(bytes, error);
  }
  void on_request_impl(http::verb, BeastView, BeastView, int, error_code&) override {}
  void on_finish_impl(error_code&) override {}

  ResponseParser::Listener& listener;
  HeadGate gate;
  FramingCheck framing;
  Headers headers;
  int code = 0;
};

}  // namespace

struct ResponseParser::Impl {
  Listener& listener;
  const bool is_answer_to_head;
  const std::size_t head_bytes_max;
  std::optional<ResponseMessage> message;
  std::string error;

  void begin() { message.emplace(listener, is_answer_to_head, head_bytes_max); }

  std::size_t put_once(std::string_view input) {
    if (!message->is_header_done()) {
      const auto size = message->gate.find_end(input);
      if (size == 0 ? input.size() >= head_bytes_max : size > head_bytes_max) error = "response head is too large";
      if (size == 0 || !error.empty()) return 0;
      error = HeadGate::fault(input.substr(0, size));
      if (!error.empty()) return 0;
      return feed(input.substr(0, size));
    }
    return feed(input);
  }

  std::size_t feed(std::string_view input) {
    error_code code;
    const auto taken = message->put(boost::asio::const_buffer(input.data(), input.size()), code);
    if (code && code != http::error::need_more)
      error = "malformed response";
    else if (message->is_header_done() && code == http::error::need_more &&
             input.size() - taken > kChunkLineMax + kTrailerSlack)
      error = "chunk header or trailer is too large";
    return taken;
  }
};

ResponseParser::ResponseParser(Listener& listener, bool is_answer_to_head, std::size_t head_bytes_max)
    : impl_(new Impl{listener, is_answer_to_head, head_bytes_max, std::nullopt, {}}) {
  impl_->begin();
}
ResponseParser::~ResponseParser() = default;

std::size_t ResponseParser::put(std::string_view input) {
  std::size_t total = 0;
  while (impl_->error.empty() && !done()) {
    if (impl_->message->is_done()) impl_->begin();  // behind an interim response
    const auto taken = impl_->put_once(input.substr(total));
    total += taken;
    if (taken == 0 || total == input.size()) break;
  }
  return total;
}

void ResponseParser::put_end() {
  if (done() || !impl_->error.empty()) return;
  error_code code;
  if (impl_->message->is_header_done() && !impl_->message->is_done()) impl_->message->put_eof(code);
  if (code || !done()) impl_->error = "the peer closed the connection in mid-answer";
}

bool ResponseParser::done() const { return impl_->message->is_done() && impl_->message->code >= 200; }
std::string_view ResponseParser::error() const { return impl_->error; }
bool ResponseParser::keep_alive() const { return impl_->message->keep_alive(); }

}  // namespace sublet::net
