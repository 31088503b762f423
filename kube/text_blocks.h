// TextBlocks: memory for texts that are all given back soon, whoever stays beside them: they lie in blocks that malloc
// takes from the kernel, and each block goes back there with the last of its texts. Among long-lived allocations they
// would leave holes as small as they are. Not thread-safe; what it gave may outlive it, on any thread.
#pragma once

#include <memory>
#include <string_view>
#include <utility>

namespace sublet::kube {

/// A text and who keeps its bytes.
struct KeptText {
  std::string_view text;
  std::shared_ptr<const void> keeper;
};

/// A copy in memory of its own.
KeptText keep_alone(std::string_view text);

class TextBlocks {
 public:
  KeptText keep(std::string_view text);

 private:
  std::shared_ptr<char[]> block_;
  std::size_t used_ = 0;
};

}  // namespace sublet::kube
