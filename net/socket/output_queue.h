// OutputQueue: bytes on their way to one socket, shared where they can be, with HTTP's chunk framing made on the fly.
//
// Items keep the caller's shared string. flush() joins small items into one write (one TLS record) on its own stack and
// hands large ones to the stream where they lie. Not thread-safe: the loop's thread only. Empty, it holds next to no
// memory.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "net/socket/stream.h"

namespace sublet::net {

struct OutputItem {
  std::shared_ptr<const std::string> bytes;
  bool chunked = false;  // framed as one chunk
  bool counted = false;  // its bytes count in flush()'s `sent`
};

class OutputQueue {
 public:
  /// Empty items are dropped: an empty chunk would end the message.
  void push(OutputItem item);
  void push(std::string bytes) { push({std::make_shared<const std::string>(std::move(bytes))}); }
  bool empty() const { return head_ == items_.size(); }
  void clear();
  /// Writes until all is gone (ok) or the stream wants or refuses something. Adds to `sent` how many bytes of counted
  /// items (without framing) went out.
  Io flush(Stream& stream, std::size_t& sent);

 private:
  void consume(std::size_t size, std::size_t& sent);

  std::vector<OutputItem> items_;
  std::size_t head_ = 0;    // first item not yet gone
  std::size_t offset_ = 0;  // bytes of it, framing included, that are gone
  std::size_t left_ = 0;    // bytes of all, framing included, that are not gone
};

}  // namespace sublet::net
