#include "net/socket/output_queue.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string_view>

namespace sublet::net {
namespace {

constexpr std::size_t kGatherMax = 16 * 1024;  // one TLS record
constexpr std::size_t kKeptItems = 4;          // capacity that an empty queue may keep
constexpr std::size_t kGoneItemsMax = 64;      // gone items are removed when they are more than that and half of all

/// An item as it goes over the wire: up to three pieces.
struct Framed {
  char size_line[18];
  std::string_view pieces[3];

  explicit Framed(const OutputItem& item) {
    if (item.chunked) {
      char* end = std::to_chars(size_line, size_line + 16, item.bytes->size(), 16).ptr;
      *end++ = '\r';
      *end++ = '\n';
      pieces[0] = {size_line, static_cast<std::size_t>(end - size_line)};
      pieces[2] = "\r\n";
    }
    pieces[1] = *item.bytes;
  }
  Framed(const Framed&) = delete;
  Framed& operator=(const Framed&) = delete;
  std::size_t size() const { return pieces[0].size() + pieces[1].size() + pieces[2].size(); }
};

/// Copies what fits, from `skip` on.
std::size_t copy_from(const Framed& framed, std::size_t skip, char* out, std::size_t room) {
  std::size_t copied = 0;
  for (auto piece : framed.pieces) {
    const auto skipped = std::min(skip, piece.size());
    skip -= skipped;
    piece.remove_prefix(skipped);
    const auto size = std::min(piece.size(), room - copied);
    if (size == 0) continue;  // memcpy from a null view is undefined
    std::memcpy(out + copied, piece.data(), size);
    copied += size;
  }
  return copied;
}

}  // namespace

void OutputQueue::push(OutputItem item) {
  if (!item.bytes || item.bytes->empty()) return;
  if (head_ > kGoneItemsMax && head_ > items_.size() / 2) {
    items_.erase(items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(head_));
    head_ = 0;
  }
  left_ += Framed(item).size();
  items_.push_back(std::move(item));
}

void OutputQueue::clear() {
  std::vector<OutputItem>().swap(items_);
  head_ = offset_ = left_ = 0;
}

Io OutputQueue::flush(Stream& stream, std::size_t& sent) {
  char gathered[kGatherMax];
  while (!empty()) {
    const Framed front(items_[head_]);
    const auto prefix = front.pieces[0].size();
    const auto body_done = offset_ > prefix ? offset_ - prefix : 0;
    Stream::Done done;
    if (offset_ >= prefix && body_done < front.pieces[1].size() && front.pieces[1].size() - body_done >= kGatherMax) {
      const auto rest = front.pieces[1].substr(body_done);
      const auto size = std::min(rest.size(), stream.write_size_max());
      done = stream.write(rest.data(), size, left_ > size);
    } else {
      std::size_t size = copy_from(front, offset_, gathered, kGatherMax);
      for (auto at = head_ + 1; at < items_.size() && size < kGatherMax; ++at)
        size += copy_from(Framed(items_[at]), 0, gathered + size, kGatherMax - size);
      done = stream.write(gathered, size, left_ > size);
    }
    if (done.io != Io::ok) return done.io;
    consume(done.bytes, sent);
  }
  return Io::ok;
}

void OutputQueue::consume(std::size_t size, std::size_t& sent) {
  left_ -= size;
  while (size > 0) {
    const Framed front(items_[head_]);
    const auto taken = std::min(size, front.size() - offset_);
    const auto body_start = front.pieces[0].size();
    const auto body_end = body_start + front.pieces[1].size();
    const auto from = std::clamp(offset_, body_start, body_end);
    const auto to = std::clamp(offset_ + taken, body_start, body_end);
    if (items_[head_].counted) sent += to - from;
    offset_ += taken;
    size -= taken;
    if (offset_ < front.size()) return;
    items_[head_].bytes.reset();
    ++head_;
    offset_ = 0;
  }
  if (!empty()) return;
  items_.clear();
  head_ = 0;
  if (items_.capacity() > kKeptItems) items_.shrink_to_fit();
}

}  // namespace sublet::net
