// Kubernetes Status documents to sublet::Status.
#include "kube/answer.h"
#include "sublet/kube/client.h"
#include "sublet/schema/utf8.h"

namespace sublet::kube {
namespace {

constexpr std::size_t kQuotedBodyMax = 200;

/// What a body that is no Status says, cut short: proxies and load balancers answer with pages of HTML. It goes into
/// messages, so it is text, whatever it was.
std::string quote_body(std::string_view body) {
  std::string out = schema::repair_utf8(body.substr(0, kQuotedBodyMax), [](unsigned char) { return "\xef\xbf\xbd"; });
  for (char& c : out)
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  return out;
}

int retry_after_of(const net::Headers& headers) {
  int seconds = 0;
  for (const char c : headers.get("Retry-After")) {
    if (c < '0' || c > '9' || seconds > 3600) return 0;  // HTTP dates are not used by Kubernetes
    seconds = seconds * 10 + (c - '0');
  }
  return seconds;
}

}  // namespace

Status status_from_document(const schema::Value& status, int http_code) {
  Status out;
  const schema::Value details = status["details"];
  out.reason = reason_from_name(status["reason"].text());
  out.code = http_code != 0 ? http_code : static_cast<int>(status["code"].integer());
  if (out.reason == Reason::unknown && status["reason"].text().empty()) out.reason = reason_from_http_code(out.code);
  out.message = status["message"].string();
  out.name = details["name"].string();
  out.group = details["group"].string();
  out.kind = details["kind"].string();
  out.uid = details["uid"].string();
  for (const schema::Value cause : details["causes"])
    out.causes.push_back({cause["reason"].string(), cause["message"].string(), cause["field"].string()});
  out.retry_after_seconds = static_cast<int>(details["retryAfterSeconds"].integer());
  out.continue_token = status.path("metadata.continue").string();
  return out;
}

Status status_from_answer(int code, const net::Headers& headers, std::string_view body) {
  Status out;
  const auto parsed = schema::Document::parse_json(body);
  if (parsed && (*parsed)["kind"].text() == "Status") {
    out = status_from_document(parsed->root(), code);
  } else {
    out.reason = reason_from_http_code(code);
    out.code = code;
    out.message = "the server answered " + std::to_string(code) + " " + std::string(net::reason_phrase(code));
    if (!body.empty()) out.message += ": " + quote_body(body);
  }
  if (const int seconds = retry_after_of(headers); seconds > out.retry_after_seconds) out.retry_after_seconds = seconds;
  return out;
}

}  // namespace sublet::kube
