// The response parser as the client drives it, with a hostile server: whole and in pieces must give the same answer.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "net/http/h1_parser.h"

namespace {

using sublet::net::Headers;
using sublet::net::ResponseParser;

constexpr std::size_t kHeadMax = 2048;

struct Reader final : ResponseParser::Listener {
  explicit Reader(bool is_answer_to_head) : parser(*this, is_answer_to_head, kHeadMax) {}
  void on_head(int code, const Headers& headers) override {
    if (heads++ > 0 || code < 200) std::abort();
    log += std::to_string(code) + " " + std::to_string(headers.size()) + "\n";
  }
  void on_body(std::string_view chunk) override {
    if (heads != 1) std::abort();
    log.append(chunk);
  }
  void feed(std::string_view bytes) {
    pending.append(bytes);
    const auto taken = parser.put(pending);
    if (taken > pending.size()) std::abort();
    pending.erase(0, taken);
  }
  std::string verdict() {
    parser.put_end();
    // Which fault of several is named may depend on the pieces; that there is one may not.
    return log + (parser.error().empty() ? "" : "\nbad") + (parser.done() ? "\ndone" : "");
  }

  ResponseParser parser;
  std::string pending, log;
  int heads = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const bool is_answer_to_head = data[0] == 'H' && size > 1 && data[1] == 'E';
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  Reader whole(is_answer_to_head), split(is_answer_to_head);
  whole.feed(input);
  for (std::size_t at = 0, turn = 0; at < size; ++turn) {
    const auto length = 1 + (data[turn % size] + turn) % 23;
    split.feed(input.substr(at, length));
    at += length;
  }
  if (whole.verdict() != split.verdict()) std::abort();
  return 0;
}
