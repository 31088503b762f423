#include "syncer/translate/variables.h"

#include <algorithm>
#include <iterator>

namespace sublet::syncer {
namespace {

// A name, or all that begin so when it ends in '*'. CUDA_VISIBLE_DEVICES is not among them: it can only leave out
// devices that the container has. Nor is LD_LIBRARY_PATH, which images for GPUs need.
constexpr std::string_view kSteering[] = {
    // NVIDIA's container toolkit, and what shares devices by it.
    "NVIDIA_*",
    "CUDA_MPS_*",
    // HAMi's limiter.
    "CUDA_DEVICE_*",
    "CUDA_DISABLE_CONTROL",
    "CUDA_OVERSUBSCRIBE",
    "CUDA_TASK_PRIORITY",
    "GPU_CORE_UTILIZATION_POLICY",
    // KAI and Run:ai.
    "RUNAI_NUM_OF_GPUS",
    "GPU_PORTION",
    // Runtimes of other makers.
    "AMD_VISIBLE_DEVICES",
    "ASCEND_VISIBLE_DEVICES",
    "ASCEND_RUNTIME_OPTIONS",
    "CAMBRICON_VISIBLE_DEVICES",
    "HABANA_VISIBLE_DEVICES",
    "METAX_VISIBLE_DEVICES",
    "MTHREADS_VISIBLE_DEVICES",
    // Code in processes that the host starts: the loader's.
    "LD_AUDIT",
    "LD_PRELOAD",
};

bool whole_family(std::string_view steering) { return steering.ends_with('*'); }
std::string_view text_of(std::string_view steering) {
  return whole_family(steering) ? steering.substr(0, steering.size() - 1) : steering;
}

}  // namespace

bool steers(std::string_view variable) {
  return std::ranges::any_of(kSteering, [&](std::string_view steering) {
    return whole_family(steering) ? variable.starts_with(text_of(steering)) : variable == steering;
  });
}

bool could_steer(std::string_view prefix, const patches::Patterns& allowed) {
  return std::ranges::any_of(kSteering, [&](std::string_view steering) {
    if (allowed.match(steering)) return false;
    const std::string_view text = text_of(steering);
    return text.starts_with(prefix) || (whole_family(steering) && prefix.starts_with(text) && !allowed.match(prefix));
  });
}

}  // namespace sublet::syncer
