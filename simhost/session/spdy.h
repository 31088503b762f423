// Spdy: the server's end of SPDY/3.1 over bytes, with what kubectl uses: streams that the client opens, data both ways,
// half-closing, pings. No flow control (the client has none either).
//
// Frames, header blocks and streams are bounded; a violation of the protocol ends it. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace sublet::simhost::session {

class Spdy {
 public:
  using Headers = std::map<std::string, std::string>;
  struct Calls {
    std::function<void(std::uint32_t stream, const Headers& headers)> opened;  // has been answered
    std::function<void(std::uint32_t stream, std::string_view bytes)> data;
    std::function<void(std::uint32_t stream)> ended;  // the client sends no more there, or has reset it
    std::function<void(std::string bytes)> send;
    std::function<void()> over;
  };
  explicit Spdy(Calls calls);
  ~Spdy();
  void put(std::string_view bytes);
  void write(std::uint32_t stream, std::string_view bytes);
  /// Half-closes the stream: this side sends no more.
  void end(std::uint32_t stream);

  static constexpr std::size_t kFrameMax = 1024 * 1024, kHeadersMax = 16 * 1024, kStreamsMax = 512;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sublet::simhost::session
