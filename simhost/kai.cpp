#include "simhost/kai.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "simhost/resources.h"

namespace sublet::simhost {
namespace {

constexpr const char* kFraction = "gpu-fraction";
constexpr const char* kMemory = "gpu-memory";
constexpr const char* kDevices = "gpu-fraction-num-devices";
constexpr const char* kContainer = "gpu-fraction-container-name";
constexpr const char* kMps = "mps";

template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  Number out{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return out;
}

std::optional<std::int64_t> parse_fraction(std::string_view text) {
  const auto number = parse_number<double>(text);
  if (!number || !(*number > 0 && *number < 1)) return std::nullopt;  // NaN fails both
  return std::max<std::int64_t>(1, std::llround(*number * kWholeGpu));
}

std::optional<std::int64_t> parse_positive(std::string_view text) {
  const auto number = parse_number<std::int64_t>(text);
  return number && *number > 0 ? number : std::nullopt;
}

template <class Visit>
void each_container(const schema::Value& pod, Visit visit) {
  for (const char* list : {"containers", "initContainers"})
    for (const schema::Value container : pod["spec"][list]) visit(container);
}

/// Key presence counts, as in KAI, whatever the value.
bool has_limit(const schema::Value& pod, std::string_view prefix, bool exact) {
  bool found = false;
  each_container(pod, [&](const schema::Value& container) {
    for (const schema::Value limit : container["resources"]["limits"])
      found = found || (exact ? limit.key() == prefix : limit.key().starts_with(prefix));
  });
  return found;
}

bool has_container(const schema::Value& pod, std::string_view name) {
  bool found = false;
  each_container(pod, [&](const schema::Value& container) { found = found || container["name"].text() == name; });
  return found;
}

}  // namespace

std::vector<std::string> kai_violations(const schema::Value& pod) {
  std::vector<std::string> out;
  if (pod["spec"]["schedulerName"].text() != kKaiScheduler) return out;
  const schema::Value annotations = pod["metadata"]["annotations"];
  const schema::Value fraction = annotations[kFraction], memory = annotations[kMemory];
  const schema::Value devices = annotations[kDevices], container = annotations[kContainer];
  const bool shared = fraction || memory;
  const auto refuse_if = [&](bool wrong, const char* why) {
    if (wrong) out.emplace_back(why);
  };
  refuse_if(shared && has_limit(pod, kGpuResource, true),
            "cannot have both GPU fraction request and whole GPU resource request/limit");
  refuse_if(shared && has_limit(pod, "nvidia.com/mig-", false),
            "cannot have both GPU fraction request and MIG request");
  refuse_if(fraction && memory, "cannot request both GPU fraction and GPU memory");
  refuse_if(fraction && !parse_fraction(fraction.text()),
            "gpu-fraction annotation value must be a positive number smaller than 1.0");
  refuse_if(memory && !parse_positive(memory.text()),
            "gpu-memory annotation value must be a positive integer greater than 0");
  refuse_if(devices && !shared,
            "cannot request multiple fractional devices without specifying fraction portion or GPU memory");
  refuse_if(devices && !parse_positive(devices.text()),
            "gpu-fraction-num-devices annotation value must be a positive integer greater than 0");
  refuse_if(!shared && annotations[kMps].text() == "true", "MPS is only supported with GPU fraction request");
  refuse_if(shared && container && !has_container(pod, container.text()),
            "gpu-fraction-container-name names no container of the pod");
  return out;
}

std::optional<GpuShareRequest> gpu_share_request(const schema::Value& pod) {
  const schema::Value annotations = pod["metadata"]["annotations"];
  if (!(annotations[kFraction] || annotations[kMemory]) || !kai_violations(pod).empty()) return std::nullopt;
  GpuShareRequest out;
  if (annotations[kFraction]) out.share = *parse_fraction(annotations[kFraction].text());
  if (annotations[kMemory]) out.memory_mib = *parse_positive(annotations[kMemory].text());
  if (annotations[kDevices])
    out.devices = static_cast<int>(std::min<std::int64_t>(*parse_positive(annotations[kDevices].text()), 1024));
  return out;
}

std::int64_t GpuShareRequest::share_of(std::int64_t gpu_memory_mib) const {
  if (memory_mib == 0) return share;
  constexpr std::int64_t kHundredth = kWholeGpu / 100;
  if (gpu_memory_mib <= 0) return kWholeGpu + 1;  // fits nowhere
  const double hundredths = std::ceil(static_cast<double>(memory_mib) * 100 / static_cast<double>(gpu_memory_mib));
  return hundredths > 100 ? kWholeGpu + 1 : static_cast<std::int64_t>(hundredths) * kHundredth;
}

std::optional<GpuGroups::Pick> GpuGroups::pick(std::int64_t share, int devices, std::int64_t free_devices) const {
  if (share > kWholeGpu) return std::nullopt;
  std::vector<const Group*> open;
  for (const Group& group : groups_)
    if (group.used + share <= kWholeGpu) open.push_back(&group);
  std::ranges::stable_sort(open, std::greater<>(), [](const Group* group) { return group->used; });
  Pick out;
  for (const Group* group : open)
    if (static_cast<int>(out.existing.size()) < devices) out.existing.push_back(group->id);
  out.fresh = devices - static_cast<int>(out.existing.size());
  return out.fresh <= free_devices ? std::optional(out) : std::nullopt;
}

bool GpuGroups::join(const std::string& group, std::int64_t share) {
  const auto found = std::ranges::find(groups_, group, &Group::id);
  if (found != groups_.end()) {
    found->used += share;
    return false;
  }
  groups_.push_back({group, share});
  return true;
}

bool GpuGroups::leave(const std::string& group, std::int64_t share) {
  const auto found = std::ranges::find(groups_, group, &Group::id);
  if (found == groups_.end()) return false;
  found->used -= share;
  if (found->used > 0) return false;
  groups_.erase(found);
  return true;
}

std::vector<std::string> gpu_groups_of(const schema::Value& labels) {
  std::vector<std::string> out;
  for (const schema::Value label : labels)
    if (label.key() == kGpuGroupLabel || label.key().starts_with("runai-gpu-group/")) out.push_back(label.string());
  return out;
}

}  // namespace sublet::simhost
