// WatchReader: the bytes of a watch answer to events, whatever pieces they arrive in.
//
// One JSON frame per line. A frame that is no JSON object, has an unknown type or is longer than kFrameBytesMax ends
// the watch with an error: the peer may be hostile. A cut-off last line is dropped, for the caller resumes behind the
// last whole event. An answer other than 200 is read as a Status (up to kErrorBytesMax). Threads: called by one
// transport thread at a time.
#pragma once

#include <memory>
#include <string>

#include "sublet/kube/client.h"

namespace sublet::kube {

class WatchReader final : public net::ResponseObserver {
 public:
  static constexpr std::size_t kFrameBytesMax = 32 * 1024 * 1024;
  static constexpr std::size_t kErrorBytesMax = 64 * 1024;

  explicit WatchReader(std::shared_ptr<WatchObserver> observer) : observer_(std::move(observer)) {}

  void on_head(int code, const net::Headers& headers) override;
  void on_body(std::string_view chunk) override;
  void on_end(Outcome outcome) override;

 private:
  void take_line(std::string_view line);
  void finish(Outcome outcome);

  std::shared_ptr<WatchObserver> observer_;
  int code_ = 0;
  net::Headers headers_;  // kept for an error answer only
  std::string partial_;
  bool ended_ = false;
};

}  // namespace sublet::kube
