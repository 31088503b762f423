// The request parser as the server drives it: bytes arrive in any pieces, and the pieces must not matter. Every input
// is read twice, whole and split at places that the input itself chooses; both readings must agree on every message.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "net/http/h1_parser.h"

namespace {

using sublet::net::ParserLimits;
using sublet::net::RequestParser;

constexpr ParserLimits kLimits{2048, 4096};
constexpr int kMessagesMax = 20;

struct Reader {
  std::unique_ptr<RequestParser> parser;
  std::string pending;
  std::string log;  // what was understood
  int messages = 0;
  bool over = false;

  void feed(std::string_view bytes) {
    pending.append(bytes);
    while (!over) {
      if (!parser) parser = std::make_unique<RequestParser>(kLimits);
      const auto taken = parser->put(pending);
      if (taken > pending.size()) std::abort();
      pending.erase(0, taken);
      if (parser->refusal() != 0) {
        log += "refused " + std::to_string(parser->refusal()) + "\n";
        over = true;
      } else if (parser->done()) {
        note();
        parser.reset();
        over = ++messages == kMessagesMax;
      } else if (taken == 0 || pending.empty()) {
        return;
      }
    }
  }

  void note() {
    const bool keep = parser->keep_alive();
    const auto request = parser->take();
    if (request.body.size() > kLimits.body_bytes_max) std::abort();
    if (request.target.empty() || request.target[0] != '/') std::abort();
    if (request.headers.has("content-length") && request.headers.has("transfer-encoding")) std::abort();
    log += request.method + " " + request.target + (keep ? " keep\n" : " close\n");
    for (const auto& [name, value] : request.headers) {
      if (value.find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos) std::abort();
      log += name + ": " + value + "\n";
    }
    log += request.body + "\n";
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  Reader whole, split;
  whole.feed(input);
  for (std::size_t at = 0, turn = 0; at < size; ++turn) {
    const auto length = 1 + (data[turn % size] + turn) % 23;
    split.feed(input.substr(at, length));
    at += length;
  }
  if (whole.log != split.log) std::abort();
  return 0;
}
