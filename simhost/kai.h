// Kai: what simhost knows of the KAI scheduler: its annotations, the rules of its admission webhook, shares of GPUs.
//
// Source: KAI's pkg/binder/plugins/gpusharing/gpu-request/gpu_request_validator.go; rules_test.cpp has its cases. Where
// KAI accepts contradictions, simhost refuses. Pure functions and values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sublet/schema/document.h"

namespace sublet::simhost {

inline constexpr std::string_view kKaiScheduler = "kai-scheduler";
inline constexpr std::string_view kQueueLabel = "kai.scheduler/queue";
inline constexpr std::string_view kGpuGroupLabel = "runai-gpu-group";
inline constexpr std::string_view kReceivedTypeAnnotation = "received-resource-type";
inline constexpr std::int64_t kWholeGpu = 1'000'000;  // shares are millionths of one GPU

/// A request for a share of one GPU, or of each of several.
struct GpuShareRequest {
  std::int64_t share = 0;       // millionths; 0: given by memory
  std::int64_t memory_mib = 0;  // 0: given by share
  int devices = 1;
  /// Millionths of a GPU with that much memory, rounded up to a hundredth when asked for by memory, as KAI does.
  std::int64_t share_of(std::int64_t gpu_memory_mib) const;
};

/// What KAI's webhook refuses about a pod of its own scheduler; empty when it passes (or is of another scheduler).
std::vector<std::string> kai_violations(const schema::Value& pod);
/// nullopt: no share is asked for, or not validly.
std::optional<GpuShareRequest> gpu_share_request(const schema::Value& pod);

/// The GPUs of one node that are shared. Each group is one device, taken whole from the node.
class GpuGroups {
 public:
  struct Pick {
    std::vector<std::string> existing;  // groups to join
    int fresh = 0;                      // devices to open a new group on
  };
  /// `devices` different devices with `share` left on each, the fullest first; at most `free_devices` new ones.
  std::optional<Pick> pick(std::int64_t share, int devices, std::int64_t free_devices) const;
  /// Returns true when the group is new and so takes a whole device.
  bool join(const std::string& group, std::int64_t share);
  /// Returns true when the group is empty now and its device is free.
  bool leave(const std::string& group, std::int64_t share);

 private:
  struct Group {
    std::string id;
    std::int64_t used = 0;
  };
  std::vector<Group> groups_;
};

/// The groups that a pod's labels name: `runai-gpu-group`, or `runai-gpu-group/<g>` for several devices.
std::vector<std::string> gpu_groups_of(const schema::Value& labels);

}  // namespace sublet::simhost
