// Map of this file: bytes and lines; heads (gate, start line, fields, framing); bodies; the two parsers.
// Rules: RFC 9112, and where it leaves a choice between mercy and refusal, refusal
// (docs/decisions/net-http1-parser.md).
#include "net/http/h1_parser.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <string>

#include "sublet/base/text.h"
#include "sublet/net/header_words.h"

namespace sublet::net {
namespace {

constexpr std::size_t kChunkLineMax = 4 * 1024;  // a chunk's size with its extensions
constexpr std::size_t kTrailerBytesMax = 8 * 1024;
constexpr std::uint64_t kBodyGrowth = 4;  // reserve this multiple of what has come

// Bytes and lines -----------------------------------------------------------------------------------------------------

enum : unsigned char { kToken = 1, kValue = 2, kTarget = 4 };

/// What each byte may be part of: names and methods (token), values, request targets.
constexpr auto kBytes = [] {
  std::array<unsigned char, 256> kinds{};
  for (int c = 0x21; c < 0x100; ++c)
    if (c != 0x7f) kinds[static_cast<std::size_t>(c)] = kValue | kTarget;
  kinds[' '] = kinds['\t'] = kValue;
  for (const char c : std::string_view("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"))
    kinds[static_cast<unsigned char>(c)] |= kToken;
  return kinds;
}();

bool only(unsigned char kind, std::string_view text) {
  return std::all_of(text.begin(), text.end(), [kind](char c) { return kBytes[static_cast<unsigned char>(c)] & kind; });
}

/// Takes a line off the front, without its CRLF. False when the end is missing.
bool take_line(std::string_view& text, std::string_view& line) {
  const auto end = text.find("\r\n");
  if (end == std::string_view::npos) return false;
  line = text.substr(0, end);
  text.remove_prefix(end + 2);
  return true;
}

// Heads ---------------------------------------------------------------------------------------------------------------

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
      if (head.substr(at, 2) != "\r\n") return "line of the message head does not end with CRLF";
      const char next = at + 2 < head.size() ? head[at + 2] : '\0';
      if (next == ' ' || next == '\t') return "folded line in the message head";
    }
    return {};
  }

 private:
  std::size_t looked_ = 0;
};

enum class Framing { none, length, chunked, until_end };

/// The fields of a head, and what they say about framing and the connection.
struct Fields {
  Headers headers;
  std::string_view fault;
  std::uint64_t length = 0;
  int lengths = 0, codings = 0, hosts = 0;
  bool close = false, keep = false;

  /// `lines`: the head behind its start line, with the empty line.
  void read(std::string_view lines) {
    std::string_view line;
    while (fault.empty() && take_line(lines, line) && !line.empty()) field(line);
    if (fault.empty() && lengths > 0 && codings > 0) fault = "both Content-Length and Transfer-Encoding";
  }

  void field(std::string_view line) {
    const auto colon = line.find(':');
    const auto name = line.substr(0, colon);
    if (colon == std::string_view::npos || name.empty() || !only(kToken, name)) return refuse("malformed header name");
    const auto value = trimmed(line.substr(colon + 1), kBlanks);
    if (!only(kValue, value)) return refuse("control character in a header value");
    if (equal_ignoring_case(name, "content-length")) return content_length(name, value);
    if (equal_ignoring_case(name, "transfer-encoding")) {
      if (codings++ > 0 || !equal_ignoring_case(value, "chunked")) refuse("Transfer-Encoding is not exactly chunked");
    } else if (equal_ignoring_case(name, "host")) {
      ++hosts;
    } else if (equal_ignoring_case(name, "connection")) {
      connection(value);
    }
    headers.add(std::string(name), std::string(value));
  }

  void content_length(std::string_view name, std::string_view value) {
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), length);
    const bool digits = !value.empty() && value.find_first_not_of("0123456789") == value.npos;
    if (lengths++ > 0 || !digits || error != std::errc() || end != value.data() + value.size())
      refuse("Content-Length is not one number");
    headers.add(std::string(name), std::string(value));
  }

  void connection(std::string_view list) {
    each_word(list, [this](std::string_view word) {
      close = close || equal_ignoring_case(word, "close");
      keep = keep || equal_ignoring_case(word, "keep-alive");
    });
  }

  void refuse(std::string_view why) {
    if (fault.empty()) fault = why;
  }
};

/// Minor version of "HTTP/1.0" or "HTTP/1.1"; -1 for anything else.
int minor_version(std::string_view text) { return text == "HTTP/1.1" ? 1 : text == "HTTP/1.0" ? 0 : -1; }

// Bodies --------------------------------------------------------------------------------------------------------------

/// Takes the framing off a body, in whatever pieces it comes.
class BodyReader {
 public:
  void begin(Framing framing, std::uint64_t length, std::uint64_t limit) {
    limit_ = limit;
    left_ = length;
    state_ = framing == Framing::none || (framing == Framing::length && length == 0) ? State::done
             : framing == Framing::length                                            ? State::data
             : framing == Framing::chunked                                           ? State::size_line
                                                                                     : State::until_end;
    chunked_ = framing == Framing::chunked;
  }
  bool done() const { return state_ == State::done; }
  /// What is still to come, as far as it is known.
  std::optional<std::uint64_t> left() const {
    return chunked_ || state_ == State::until_end ? std::nullopt : std::optional(left_);
  }
  bool ends_with_connection() const { return state_ == State::until_end; }
  void finish() { state_ = State::done; }
  bool too_large() const { return too_large_; }
  std::string_view fault() const { return fault_; }

  /// Returns how many bytes are used up; `sink` gets the body's own.
  template <class Sink>
  std::size_t put(std::string_view input, Sink&& sink) {
    const auto size = input.size();
    while (fault_.empty() && step(input, sink)) {
    }
    return size - input.size();
  }

 private:
  enum class State { size_line, data, data_end, trailer, until_end, done };

  /// One step through the body; false when more input is needed, or none.
  template <class Sink>
  bool step(std::string_view& input, Sink&& sink) {
    switch (state_) {
      case State::size_line:
        return size_line(input);
      case State::data:
        return data(input, sink);
      case State::data_end:
        return data_end(input);
      case State::trailer:
        return trailer(input);
      case State::until_end:
        if (!input.empty()) sink(input);
        input = {};
        return false;
      case State::done:
        break;
    }
    return false;
  }

  template <class Sink>
  bool data(std::string_view& input, Sink&& sink) {
    const auto piece = input.substr(0, std::min<std::uint64_t>(left_, input.size()));
    if (piece.empty()) return false;
    sink(piece);
    input.remove_prefix(piece.size());
    left_ -= piece.size();
    if (left_ == 0) state_ = chunked_ ? State::data_end : State::done;
    return true;
  }

  bool data_end(std::string_view& input) {
    if (input.size() < 2) return false;
    if (input.substr(0, 2) != "\r\n") return refuse("chunk is longer than its size");
    input.remove_prefix(2);
    state_ = State::size_line;
    return true;
  }

  /// A line that ends with CRLF and holds no other control character.
  bool line(std::string_view& input, std::size_t size_max, std::string_view& out) {
    const auto end = input.find('\n');
    if (end == std::string_view::npos ? input.size() > size_max : end > size_max)
      return refuse("chunk header or trailer is too large");
    if (end == std::string_view::npos) return false;
    if (end == 0 || input[end - 1] != '\r') return refuse("line in a chunked body does not end with CRLF");
    out = input.substr(0, end - 1);
    if (!only(kValue, out)) return refuse("control character in a chunked body's framing");
    input.remove_prefix(end + 1);
    return true;
  }

  bool size_line(std::string_view& input) {
    std::string_view text;
    if (!line(input, kChunkLineMax, text)) return false;
    const auto digits = text.substr(0, text.find_first_not_of("0123456789abcdefABCDEF"));
    const auto extension = trimmed(text.substr(digits.size()), kBlanks);
    if (digits.empty() || digits.size() > 16 || (!extension.empty() && extension.front() != ';'))
      return refuse("malformed chunk size");
    std::from_chars(digits.data(), digits.data() + digits.size(), left_, 16);  // 16 digits always fit
    if (left_ > limit_) {
      too_large_ = true;
      return refuse("body is too large");
    }
    limit_ -= left_;
    state_ = left_ == 0 ? State::trailer : State::data;
    return true;
  }

  bool trailer(std::string_view& input) {
    std::string_view text;
    if (!line(input, kTrailerBytesMax - trailer_bytes_, text)) return false;
    trailer_bytes_ += text.size();
    if (text.empty()) {
      state_ = State::done;
      return true;
    }
    Fields ignored;  // nothing that comes this late may matter, but it must be a field
    ignored.field(text);
    return ignored.fault.empty() || refuse("malformed trailer");
  }

  bool refuse(std::string_view why) {
    fault_ = why;
    return false;
  }

  State state_ = State::done;
  bool chunked_ = false;
  bool too_large_ = false;
  std::uint64_t left_ = 0;   // of the body or the chunk
  std::uint64_t limit_ = 0;  // of what chunks may still bring
  std::size_t trailer_bytes_ = 0;
  std::string_view fault_;
};

}  // namespace

// Requests ------------------------------------------------------------------------------------------------------------

struct RequestParser::Impl {
  const ParserLimits limits;
  HeadGate gate = {};
  BodyReader body = {};
  Request request = {};
  int minor = 1;
  int refusal = 0;
  bool head_done = false;
  bool keep_alive = true;
  std::uint64_t length = 0;  // of the body, when its head says it
  bool expects_continue = false;
  bool discards = false;
  std::string_view reason = {};

  void refuse(int code, std::string_view why) {
    if (refusal != 0) return;
    refusal = code;
    reason = why;
  }

  std::size_t put_head(std::string_view input) {
    std::size_t skipped = 0;  // empty lines before a request are left over from sloppy clients (RFC 9112 2.2)
    while (input.substr(skipped, 2) == "\r\n") skipped += 2;
    input.remove_prefix(skipped);
    const auto size = gate.find_end(input);
    if (size == 0 ? input.size() >= limits.head_bytes_max : size > limits.head_bytes_max) {
      refuse(431, "request head is too large");
      return skipped;
    }
    if (size == 0) return skipped;
    read_head(input.substr(0, size));
    return skipped + size;
  }

  void read_head(std::string_view head) {
    if (const auto fault = HeadGate::fault(head); !fault.empty()) return refuse(400, fault);
    std::string_view line;
    take_line(head, line);
    if (!start_line(line)) return refuse(400, "malformed request line");
    Fields fields;
    fields.read(head);
    request.headers = std::move(fields.headers);
    check(fields);
    if (refusal != 0) return;
    head_done = true;
    keep_alive = !fields.close && (minor == 1 || fields.keep);
    const auto framing = fields.codings > 0 ? Framing::chunked : fields.lengths > 0 ? Framing::length : Framing::none;
    body.begin(framing, fields.length, limits.body_bytes_max);
    length = fields.length;
  }

  bool start_line(std::string_view line) {
    const auto first = line.find(' ');
    const auto last = line.rfind(' ');
    if (first == std::string_view::npos || last <= first) return false;
    const auto method = line.substr(0, first), target = line.substr(first + 1, last - first - 1);
    minor = minor_version(line.substr(last + 1));
    if (method.empty() || !only(kToken, method) || target.empty() || !only(kTarget, target) || minor < 0) return false;
    request.method = method;
    request.target = target;
    return true;
  }

  /// What the fields must be together.
  void check(const Fields& fields) {
    if (!fields.fault.empty()) return refuse(400, fields.fault);
    if (fields.hosts > 1) return refuse(400, "more than one Host");
    if (minor == 1 && fields.hosts == 0) return refuse(400, "missing Host");
    if (minor == 0 && fields.codings > 0) return refuse(400, "Transfer-Encoding in HTTP/1.0");
    if (fields.length > limits.body_bytes_max) return refuse(413, "request body is too large");
    absolute_target();
    if (!request.target.starts_with('/')) return refuse(400, "request target is not a path");
    const auto expect = request.headers.get("expect");
    if (expect.empty()) return;
    if (!equal_ignoring_case(expect, "100-continue")) return refuse(417, "only 100-continue can be expected");
    expects_continue = minor == 1;
  }

  /// "http://host/path" means the path: proxies ask like that, and every server must understand it.
  void absolute_target() {
    auto& target = request.target;
    if (!target.starts_with("http://") && !target.starts_with("https://")) return;
    const auto path = target.find('/', target.find("//") + 2);
    target = path == std::string::npos ? "/" : target.substr(path);
  }

  /// Memory grows with the bytes received, not with the announced length: an announcement costs the peer nothing.
  void append(std::string_view bytes) {
    if (discards) return;
    auto& to = request.body;
    const std::uint64_t needed = to.size() + bytes.size();
    if (needed > to.capacity()) to.reserve(std::max(needed, std::min(length, kBodyGrowth * needed)));
    to.append(bytes);
  }

  std::size_t put_body(std::string_view input) {
    const auto taken = body.put(input, [this](std::string_view bytes) { append(bytes); });
    if (!body.fault().empty()) refuse(body.too_large() ? 413 : 400, body.fault());
    return taken;
  }
};

RequestParser::RequestParser(ParserLimits limits) : impl_(new Impl{limits}) {}
RequestParser::~RequestParser() = default;

std::size_t RequestParser::put(std::string_view input) {
  std::size_t taken = 0;
  if (refusal() == 0 && !head_done()) taken = impl_->put_head(input);
  if (refusal() == 0 && head_done()) taken += impl_->put_body(input.substr(taken));
  return taken;
}

bool RequestParser::head_done() const { return impl_->head_done; }
bool RequestParser::done() const { return impl_->refusal == 0 && impl_->head_done && impl_->body.done(); }
int RequestParser::refusal() const { return impl_->refusal; }
std::string_view RequestParser::error() const { return impl_->reason; }
bool RequestParser::keep_alive() const { return impl_->keep_alive; }
bool RequestParser::is_http_1_0() const { return impl_->minor == 0; }
bool RequestParser::expects_continue() const { return impl_->expects_continue; }
Request RequestParser::take() { return std::move(impl_->request); }
std::string RequestParser::take_body() { return std::move(impl_->request.body); }
std::size_t RequestParser::held() const { return impl_->request.body.capacity(); }

Request RequestParser::take_head() {
  Request head = std::move(impl_->request);
  impl_->request = {};
  impl_->request.body = std::move(head.body);
  head.body.clear();
  return head;
}

/// A peer that waits for 100 Continue may never send its body.
bool RequestParser::rest_is_below(std::size_t bytes) const {
  const auto left = impl_->body.left();
  return !impl_->expects_continue && left && *left <= bytes;
}

void RequestParser::discard() {
  impl_->discards = true;
  std::string().swap(impl_->request.body);
}

// Responses -----------------------------------------------------------------------------------------------------------

struct ResponseParser::Impl {
  Listener& listener;
  const bool is_answer_to_head;
  const std::size_t head_bytes_max;
  const bool may_upgrade;
  HeadGate gate = {};
  BodyReader body = {};
  int code = 0;
  bool head_done = false;
  bool keep_alive = false;
  std::string_view error = {};

  std::size_t put_head(std::string_view input) {
    const auto size = gate.find_end(input);
    if (size == 0 ? input.size() >= head_bytes_max : size > head_bytes_max) error = "response head is too large";
    if (size == 0 || !error.empty()) return 0;
    read_head(input.substr(0, size));
    return size;
  }

  void read_head(std::string_view head) {
    error = HeadGate::fault(head);
    if (!error.empty()) return;
    std::string_view line;
    take_line(head, line);
    const int minor = start_line(line);
    Fields fields;
    fields.read(head);
    if (minor < 0 || !fields.fault.empty() || (code == 101 && !may_upgrade)) {
      error = "malformed response";
      return;
    }
    if (code < 200 && code != 101) {  // interim: another head follows
      gate = {};
      return;
    }
    head_done = true;
    const bool bodyless = is_answer_to_head || code == 101 || code == 204 || code == 304;
    const auto framing = bodyless             ? Framing::none
                         : fields.codings > 0 ? Framing::chunked
                         : fields.lengths > 0 ? Framing::length
                                              : Framing::until_end;
    keep_alive = framing != Framing::until_end && !fields.close && (minor == 1 || fields.keep);
    body.begin(framing, fields.length, std::numeric_limits<std::uint64_t>::max());
    listener.on_head(code, fields.headers);
  }

  /// "HTTP/1.1 200 reason". Returns the minor version, -1 when malformed.
  int start_line(std::string_view line) {
    const int minor = minor_version(line.substr(0, 8));
    const auto rest = line.substr(std::min<std::size_t>(8, line.size()));
    const bool digits = rest.size() >= 4 && rest[0] == ' ' && rest[1] >= '1' && rest[1] <= '9' && rest[2] >= '0' &&
                        rest[2] <= '9' && rest[3] >= '0' && rest[3] <= '9';
    if (!digits || (rest.size() > 4 && rest[4] != ' ') || !only(kValue, rest)) return -1;
    code = (rest[1] - '0') * 100 + (rest[2] - '0') * 10 + (rest[3] - '0');
    return minor;
  }

  std::size_t put_body(std::string_view input) {
    const auto taken = body.put(input, [this](std::string_view bytes) { listener.on_body(bytes); });
    if (!body.fault().empty()) error = "malformed response";
    return taken;
  }
};

ResponseParser::ResponseParser(Listener& listener, bool is_answer_to_head, std::size_t head_bytes_max, bool may_upgrade)
    : impl_(new Impl{listener, is_answer_to_head, head_bytes_max, may_upgrade}) {}
ResponseParser::~ResponseParser() = default;

std::size_t ResponseParser::put(std::string_view input) {
  std::size_t total = 0;
  while (impl_->error.empty() && !impl_->head_done && total < input.size()) {
    const auto taken = impl_->put_head(input.substr(total));
    if (taken == 0) return total;
    total += taken;
  }
  if (impl_->error.empty() && impl_->head_done) total += impl_->put_body(input.substr(total));
  return total;
}

void ResponseParser::put_end() {
  if (done() || !impl_->error.empty()) return;
  if (impl_->head_done && impl_->body.ends_with_connection())
    impl_->body.finish();
  else
    impl_->error = "the peer closed the connection in mid-answer";
}

bool ResponseParser::upgraded() const { return impl_->head_done && impl_->code == 101; }
bool ResponseParser::done() const { return impl_->error.empty() && impl_->head_done && impl_->body.done(); }
std::string_view ResponseParser::error() const { return impl_->error; }
bool ResponseParser::keep_alive() const { return impl_->keep_alive; }

}  // namespace sublet::net
