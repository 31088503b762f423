// gzip for large answers, level 1 as upstream: whole, or piece by piece. One thread at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace sublet::apiserver {

inline constexpr std::size_t kGzipBytesMin = 128 * 1024;

/// One gzip stream, fed in pieces.
class GzipStream {
 public:
  GzipStream();
  ~GzipStream();
  /// Appends what the compressor gives for `piece` to `out`: with `last` the stream's end, else possibly nothing yet.
  void put(std::string_view piece, bool last, std::string& out);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string gzip(std::string_view bytes);
/// "" when the text is no gzip stream.
std::string gunzip(std::string_view bytes);
bool accepts_gzip(std::string_view accept_encoding);

}  // namespace sublet::apiserver
