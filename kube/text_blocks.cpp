#include "kube/text_blocks.h"

#include <algorithm>

namespace sublet::kube {
namespace {

constexpr std::size_t kBlockBytes = std::size_t{128} << 10;  // from here on malloc asks the kernel (subletd/main.cpp)
constexpr std::size_t kSharedMax = kBlockBytes / 16;

}  // namespace

KeptText keep_alone(std::string_view text) {
  if (text.empty()) return {};
  const auto bytes = std::make_shared_for_overwrite<char[]>(text.size());
  std::ranges::copy(text, bytes.get());
  return {{bytes.get(), text.size()}, {bytes, bytes.get()}};
}

KeptText TextBlocks::keep(std::string_view text) {
  if (text.size() > kSharedMax) return keep_alone(text);
  if (!block_ || kBlockBytes - used_ < text.size()) {
    block_ = std::make_shared_for_overwrite<char[]>(kBlockBytes);
    used_ = 0;
  }
  char* const at = block_.get() + used_;
  std::ranges::copy(text, at);
  used_ += text.size();
  return {{at, text.size()}, {block_, at}};
}

}  // namespace sublet::kube
