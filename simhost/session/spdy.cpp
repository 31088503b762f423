// Map of this file: header blocks (zlib with SPDY's dictionary), frames out, frames in.
#include "simhost/session/spdy.h"

#include <zlib.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "simhost/session/spdy_dictionary.h"

namespace sublet::simhost::session {
namespace {

enum Type : unsigned {
  syn_stream = 1,
  syn_reply = 2,
  rst_stream = 3,
  settings = 4,
  ping = 6,
  go_away = 7,
  headers = 8,
  window_update = 9
};
constexpr std::size_t kHeadSize = 8;
constexpr unsigned char kControl = 0x80, kFin = 0x01;
constexpr std::uint32_t kVersion = 3, kRefused = 3;
constexpr std::size_t kPieceMax = 32 * 1024;  // of one data frame

unsigned char byte_at(std::string_view text, std::size_t at) { return static_cast<unsigned char>(text[at]); }

std::uint32_t number(std::string_view text, std::size_t at, std::size_t bytes) {
  std::uint32_t out = 0;
  for (std::size_t i = 0; i < bytes; ++i) out = out << 8 | byte_at(text, at + i);
  return out;
}

void append(std::string& out, std::uint32_t value, int bytes) {
  for (int i = bytes - 1; i >= 0; --i) out += static_cast<char>(value >> (8 * i) & 0xff);
}

std::string control_frame(unsigned type, unsigned char flags, std::string_view payload) {
  std::string frame;
  append(frame, 0x8000u | kVersion, 2);
  append(frame, type, 2);
  frame += static_cast<char>(flags);
  append(frame, static_cast<std::uint32_t>(payload.size()), 3);
  return frame.append(payload);
}

// Header blocks -------------------------------------------------------------------------------------------------------

/// One for the whole connection: each block continues the last.
class Inflater {
 public:
  Inflater() { ready_ = ::inflateInit(&stream_) == Z_OK; }
  ~Inflater() { ::inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  std::optional<std::string> take(std::string_view block) {
    std::string input(block), out(Spdy::kHeadersMax, '\0');
    stream_.next_in = reinterpret_cast<Bytef*>(input.data());
    stream_.avail_in = static_cast<uInt>(input.size());
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(out.size());
    while (ready_ && stream_.avail_in > 0) {
      int code = ::inflate(&stream_, Z_SYNC_FLUSH);
      if (code == Z_NEED_DICT) code = ::inflateSetDictionary(&stream_, kSpdyDictionary, sizeof(kSpdyDictionary));
      if (code != Z_OK || stream_.avail_out == 0) ready_ = false;
    }
    if (!ready_) return std::nullopt;
    out.resize(out.size() - stream_.avail_out);
    return out;
  }

 private:
  z_stream stream_{};
  bool ready_ = false;
};

class Deflater {
 public:
  Deflater() {
    ::deflateInit(&stream_, Z_BEST_SPEED);
    ::deflateSetDictionary(&stream_, kSpdyDictionary, sizeof(kSpdyDictionary));
  }
  ~Deflater() { ::deflateEnd(&stream_); }
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;

  std::string put(std::string text) {
    std::string out(::deflateBound(&stream_, text.size()) + 64, '\0');
    stream_.next_in = reinterpret_cast<Bytef*>(text.data());
    stream_.avail_in = static_cast<uInt>(text.size());
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(out.size());
    ::deflate(&stream_, Z_SYNC_FLUSH);
    out.resize(out.size() - stream_.avail_out);
    return out;
  }

 private:
  z_stream stream_{};
};

std::optional<std::string_view> take_text(std::string_view& block) {
  if (block.size() < 4) return std::nullopt;
  const std::size_t size = number(block, 0, 4);
  block.remove_prefix(4);
  if (size > block.size()) return std::nullopt;
  const auto text = block.substr(0, size);
  block.remove_prefix(size);
  return text;
}

std::optional<Spdy::Headers> read_headers(std::string_view block) {
  if (block.size() < 4) return std::nullopt;
  Spdy::Headers out;
  const auto count = number(block, 0, 4);
  block.remove_prefix(4);
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto name = take_text(block);
    const auto value = name ? take_text(block) : std::nullopt;
    if (!value) return std::nullopt;
    out.emplace(*name, *value);
  }
  return out;
}

}  // namespace

struct Spdy::Impl {
  struct Stream {
    bool client_ended = false, we_ended = false;
  };
  explicit Impl(Calls calls_) : calls(std::move(calls_)) {}

  // Frames out --------------------------------------------------------------------------------------------------------

  void reply(std::uint32_t stream) {
    std::string payload;
    append(payload, stream, 4);
    std::string none;
    append(none, 0, 4);
    calls.send(control_frame(syn_reply, 0, payload + deflater.put(none)));
  }
  void refuse(std::uint32_t stream) {
    std::string payload;
    append(payload, stream, 4);
    append(payload, kRefused, 4);
    calls.send(control_frame(rst_stream, 0, payload));
  }
  void data(std::uint32_t stream, std::string_view bytes, unsigned char flags) {
    std::string frame;
    append(frame, stream, 4);
    frame += static_cast<char>(flags);
    append(frame, static_cast<std::uint32_t>(bytes.size()), 3);
    calls.send(frame.append(bytes));
  }

  // Frames in ---------------------------------------------------------------------------------------------------------

  bool take_frame() {
    if (in.size() < kHeadSize) return false;
    const std::size_t size = number(in, 5, 3);
    if (size > kFrameMax) return fault(), false;
    if (in.size() < kHeadSize + size) return false;
    const std::string frame = in.substr(0, kHeadSize + size);
    in.erase(0, frame.size());
    if ((byte_at(frame, 0) & kControl) != 0)
      on_control(frame);
    else
      on_data(frame);
    return true;
  }

  void on_control(std::string_view frame) {
    const std::uint32_t type = number(frame, 2, 2);
    const unsigned char flags = byte_at(frame, 4);
    const auto payload = frame.substr(kHeadSize);
    if ((number(frame, 0, 2) & 0x7fff) != kVersion) return fault();
    if (type == syn_stream) return on_open(payload, flags);
    if (type == ping && payload.size() == 4) return calls.send(std::string(frame));
    if (type == rst_stream && payload.size() == 8) return on_end(number(payload, 0, 4) & 0x7fffffff);
    if (type == go_away) return;
    if (type == headers && payload.size() >= 4 && !inflater.take(payload.substr(4))) fault();  // keeps the two in step
  }

  void on_open(std::string_view payload, unsigned char flags) {
    if (payload.size() < 10) return fault();
    const std::uint32_t id = number(payload, 0, 4) & 0x7fffffff;
    const auto block = inflater.take(payload.substr(10));
    const auto said = block ? read_headers(*block) : std::nullopt;
    if (!said || id % 2 == 0 || streams.contains(id)) return fault();
    if (streams.size() >= kStreamsMax) return refuse(id);
    streams[id];
    reply(id);
    calls.opened(id, *said);
    if ((flags & kFin) != 0) on_end(id);
  }

  void on_data(std::string_view frame) {
    const std::uint32_t id = number(frame, 0, 4);
    if (!streams.contains(id)) return;
    if (frame.size() > kHeadSize) calls.data(id, frame.substr(kHeadSize));
    if ((byte_at(frame, 4) & kFin) != 0) on_end(id);
  }

  void on_end(std::uint32_t id) {
    const auto found = streams.find(id);
    if (found == streams.end() || std::exchange(found->second.client_ended, true)) return;
    if (found->second.we_ended) streams.erase(found);
    calls.ended(id);
  }

  void fault() {
    if (!std::exchange(over, true)) calls.over();
  }

  const Calls calls;
  std::string in;
  std::map<std::uint32_t, Stream> streams;
  Inflater inflater;
  Deflater deflater;
  bool over = false;
};

Spdy::Spdy(Calls calls) : impl_(std::make_unique<Impl>(std::move(calls))) {}
Spdy::~Spdy() = default;

void Spdy::put(std::string_view bytes) {
  impl_->in.append(bytes);
  while (!impl_->over && impl_->take_frame()) {
  }
}

void Spdy::write(std::uint32_t stream, std::string_view bytes) {
  const auto found = impl_->streams.find(stream);
  if (found == impl_->streams.end() || found->second.we_ended) return;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(bytes.size(), kPieceMax)))
    impl_->data(stream, bytes.substr(0, kPieceMax), 0);
}

void Spdy::end(std::uint32_t stream) {
  const auto found = impl_->streams.find(stream);
  if (found == impl_->streams.end() || std::exchange(found->second.we_ended, true)) return;
  impl_->data(stream, {}, kFin);
  if (found->second.client_ended) impl_->streams.erase(found);
}

}  // namespace sublet::simhost::session
