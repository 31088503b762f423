#include "sublet/net/http.h"

#include <algorithm>
#include <array>

#include "sublet/base/mutex.h"
#include "sublet/base/text.h"

namespace sublet::net {
namespace {

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c = to_lower(c);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool unreserved(char c) {
  return (c >= '0' && c <= '9') || (to_lower(c) >= 'a' && to_lower(c) <= 'z') || c == '-' || c == '.' || c == '_' ||
         c == '~';
}

struct ReasonPhrase {
  int code;
  std::string_view phrase;
};

constexpr std::array kReasonPhrases = std::to_array<ReasonPhrase>({
    {100, "Continue"},
    {101, "Switching Protocols"},
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {206, "Partial Content"},
    {301, "Moved Permanently"},
    {302, "Found"},
    {304, "Not Modified"},
    {307, "Temporary Redirect"},
    {308, "Permanent Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {411, "Length Required"},
    {412, "Precondition Failed"},
    {413, "Request Entity Too Large"},
    {414, "Request URI Too Long"},
    {415, "Unsupported Media Type"},
    {417, "Expectation Failed"},
    {422, "Unprocessable Entity"},
    {426, "Upgrade Required"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
});

/// Collects one answer for fetch().
class Collector final : public ResponseObserver {
 public:
  void on_head(int code, const Headers& headers) override {
    const MutexLock lock(mutex_);
    response_.code = code;
    response_.headers = headers;
  }
  void on_body(std::string_view chunk) override {
    const MutexLock lock(mutex_);
    response_.body.append(chunk);
  }
  void on_end(Outcome outcome) override {
    MutexLock lock(mutex_);
    outcome_ = std::move(outcome);
    lock.unlock();  // who waits takes it first of all
    ended_.notify_all();
  }
  Result<Response> wait() {
    MutexLock lock(mutex_);
    ended_.wait(lock, [this]() SUBLET_REQUIRES(mutex_) { return outcome_.has_value(); });
    if (!*outcome_) return fail(outcome_->error());
    return std::move(response_);
  }

 private:
  Mutex mutex_;
  CondVar ended_;
  Response response_ SUBLET_GUARDED_BY(mutex_);
  std::optional<Outcome> outcome_ SUBLET_GUARDED_BY(mutex_);
};

}  // namespace

void Headers::set(std::string name, std::string value) {
  std::erase_if(fields_, [&](const auto& field) { return equal_ignoring_case(field.first, name); });
  add(std::move(name), std::move(value));
}

std::string_view Headers::get(std::string_view name) const {
  for (const auto& [key, value] : fields_)
    if (equal_ignoring_case(key, name)) return value;
  return {};
}

bool Headers::has(std::string_view name) const {
  return std::any_of(fields_.begin(), fields_.end(),
                     [&](const auto& field) { return equal_ignoring_case(field.first, name); });
}

std::vector<std::string_view> Headers::all(std::string_view name) const {
  std::vector<std::string_view> values;
  for (const auto& [key, value] : fields_)
    if (equal_ignoring_case(key, name)) values.push_back(value);
  return values;
}

std::string_view Request::path() const { return std::string_view(target).substr(0, target.find('?')); }

std::string_view Request::query() const {
  const auto mark = target.find('?');
  return mark == std::string::npos ? std::string_view() : std::string_view(target).substr(mark + 1);
}

std::optional<std::string> percent_decode(std::string_view text, bool plus_is_space) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus_is_space) {
      out += ' ';
    } else if (text[i] != '%') {
      out += text[i];
    } else {
      const int high = i + 2 < text.size() ? hex_value(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? hex_value(text[i + 2]) : -1;
      if (high < 0 || low < 0) return std::nullopt;
      out += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  return out;
}

std::string percent_encode(std::string_view text) {
  static constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (unreserved(c)) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += kHex[byte >> 4];
    out += kHex[byte & 15];
  }
  return out;
}

std::vector<std::pair<std::string, std::string>> parse_query(std::string_view query) {
  std::vector<std::pair<std::string, std::string>> parameters;
  const auto decode = [](std::string_view part) { return percent_decode(part, true).value_or(std::string(part)); };
  while (!query.empty()) {
    const auto part = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), part.size() + 1));
    if (part.empty()) continue;
    const auto equals = part.find('=');
    parameters.emplace_back(decode(part.substr(0, equals)),
                            equals == std::string_view::npos ? std::string() : decode(part.substr(equals + 1)));
  }
  return parameters;
}

std::string_view reason_phrase(int code) {
  const auto found = std::lower_bound(kReasonPhrases.begin(), kReasonPhrases.end(), code,
                                      [](const ReasonPhrase& entry, int wanted) { return entry.code < wanted; });
  return found != kReasonPhrases.end() && found->code == code ? found->phrase : "Unknown";
}

Result<Response> fetch(Transport& transport, Request request, std::chrono::milliseconds timeout) {
  const auto collector = std::make_shared<Collector>();
  const auto exchange = transport.start(std::move(request), collector, timeout);
  return collector->wait();
}

}  // namespace sublet::net
