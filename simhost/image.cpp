#include "simhost/image.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace sublet::simhost {
namespace {

/// Parts of references that no registry has: our own, and those of upstream's conformance tests.
constexpr std::array<std::string_view, 4> kNotThere{"does-not-exist", ":non-existent", "/webserver:404",
                                                    "invalid.registry.k8s.io/"};

/// Programs of images whose behaviour matters.
struct EntryPoint {
  std::string_view image;     // how the name ends, without its tag
  std::string_view argument;  // the first one; "*": any or none
  std::string_view line;      // what it prints first
  bool ends = false;          // at once, with exit code 0: a shell that reads an empty input
};
constexpr std::array<EntryPoint, 5> kEntryPoints{{
    {"/pause", "*", "", false},
    {"/e2e-test-images/busybox", "*", "", true},
    {"/e2e-test-images/agnhost", "", "Paused", false},
    {"/e2e-test-images/agnhost", "pause", "Paused", false},
    {"/e2e-test-images/agnhost", "*", "", false},
}};

}  // namespace

std::string full_image_name(const std::string& image) {
  std::string out = image;
  const auto slash = image.find('/');
  const std::string registry = image.substr(0, slash);
  if (slash == std::string::npos) {
    out = "docker.io/library/" + image;
  } else if (registry.find_first_of(".:") == std::string::npos && registry != "localhost") {
    out = "docker.io/" + image;
  }
  const auto name = out.rfind('/');
  if (out.find_first_of(":@", name) == std::string::npos) out += ":latest";
  return out;
}

std::string pull_failure(const std::string& image) {
  const std::string name = full_image_name(image);
  if (std::ranges::none_of(kNotThere, [&](std::string_view part) { return name.find(part) != std::string::npos; }))
    return {};
  return "failed to pull and unpack image \"" + name + "\": failed to resolve reference \"" + name + "\": " + name +
         ": not found";
}

std::optional<shell::Trace> entry_point(const std::string& image, const shell::Words& arguments) {
  const std::string full = full_image_name(image);
  const std::string name = full.substr(0, full.find_first_of(":@", full.rfind('/')));
  const std::string_view argument = arguments.empty() ? std::string_view() : arguments[0];
  for (const EntryPoint& known : kEntryPoints) {
    if (!name.ends_with(known.image) || (known.argument != "*" && known.argument != argument)) continue;
    shell::Trace out;
    if (!known.line.empty()) out.lines.push_back({std::chrono::milliseconds(0), std::string(known.line)});
    if (known.ends) out.end = shell::End{std::chrono::milliseconds(0), 0};
    return out;
  }
  return std::nullopt;
}

}  // namespace sublet::simhost
