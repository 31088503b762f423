#include "simhost/session/channels.h"

#include <algorithm>
#include <map>
#include <optional>

#include "simhost/session/spdy.h"

namespace sublet::simhost::session {
namespace {

class WebSocketChannels final : public Channels {
 public:
  WebSocketChannels(const Protocol& protocol, const WantedChannels& wanted, std::shared_ptr<Out> out, Calls calls)
      : calls_(std::move(calls)),
        first_(wanted.output   ? Channel::output
               : wanted.errors ? Channel::errors
                               : Channel::status),
        plain_status_(protocol.plain_status),
        socket_(protocol, std::move(out),
                {[this](unsigned char channel, std::string_view bytes) {
                   if (channel <= static_cast<unsigned char>(Channel::resize))
                     calls_.bytes(static_cast<Channel>(channel), bytes);
                 },
                 [this](unsigned char channel) { calls_.ended(static_cast<Channel>(channel)); },
                 [this] { calls_.over(); }}) {}
  /// An empty message says that the session has begun, as the kubelet's does.
  void begin() override {
    write(first_, "");
    calls_.ready();
  }
  void put(std::string_view bytes) override { socket_.put(bytes); }
  void write(Channel channel, std::string_view bytes) override {
    socket_.write(static_cast<unsigned char>(channel), bytes);
  }
  void write_status(std::string_view message, std::string_view object) override {
    if (!plain_status_) return write(Channel::status, object);
    if (!message.empty()) write(Channel::status, message);
  }
  void finish() override { socket_.finish(); }

 private:
  const Calls calls_;
  const Channel first_;
  const bool plain_status_;
  ChannelSocket socket_;
};

class SpdyChannels final : public Channels {
 public:
  SpdyChannels(const WantedChannels& wanted, std::shared_ptr<Out> out, Calls calls)
      : calls_(std::move(calls)),
        out_(std::move(out)),
        awaited_(1u + wanted.input + wanted.output + (wanted.errors && !wanted.tty) + wanted.tty),
        spdy_({[this](std::uint32_t stream, const Spdy::Headers& headers) { opened(stream, headers); },
               [this](std::uint32_t stream, std::string_view bytes) {
                 if (const auto channel = channel_of(stream)) calls_.bytes(*channel, bytes);
               },
               [this](std::uint32_t stream) {
                 if (const auto channel = channel_of(stream)) calls_.ended(*channel);
               },
               [this](std::string bytes) { out_->send(std::move(bytes)); },
               [this] {
                 out_->close();
                 calls_.over();
               }}) {}
  void begin() override {}
  void put(std::string_view bytes) override { spdy_.put(bytes); }
  void write(Channel channel, std::string_view bytes) override {
    if (const auto found = streams_.find(channel); found != streams_.end()) spdy_.write(found->second, bytes);
  }
  void finish() override {
    for (const auto& [channel, stream] : streams_) spdy_.end(stream);
    out_->end();
  }

 private:
  void opened(std::uint32_t stream, const Spdy::Headers& headers) {
    static const std::map<std::string, Channel, std::less<>> kNames = {{"stdin", Channel::input},
                                                                       {"stdout", Channel::output},
                                                                       {"stderr", Channel::errors},
                                                                       {"error", Channel::status},
                                                                       {"resize", Channel::resize}};
    const auto type = headers.find("streamtype");
    const auto name = type == headers.end() ? kNames.end() : kNames.find(type->second);
    if (name == kNames.end() || !streams_.emplace(name->second, stream).second) return spdy_.end(stream);
    if (streams_.size() == awaited_) calls_.ready();
  }
  std::optional<Channel> channel_of(std::uint32_t stream) const {
    const auto found = std::ranges::find(streams_, stream, [](const auto& entry) { return entry.second; });
    return found == streams_.end() ? std::nullopt : std::optional(found->first);
  }

  const Calls calls_;
  const std::shared_ptr<Out> out_;
  const std::size_t awaited_;
  std::map<Channel, std::uint32_t> streams_;
  Spdy spdy_;
};

}  // namespace

std::unique_ptr<Channels> make_channels(const Protocol& protocol, const WantedChannels& wanted,
                                        std::shared_ptr<Out> out, Channels::Calls calls) {
  if (protocol.kind == Protocol::Kind::spdy)
    return std::make_unique<SpdyChannels>(wanted, std::move(out), std::move(calls));
  return std::make_unique<WebSocketChannels>(protocol, wanted, std::move(out), std::move(calls));
}

}  // namespace sublet::simhost::session
