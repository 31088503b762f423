// The objects of a run as the API has them: ConfigMaps `key-N` with the numbers of the writes in `data`, a pad that
// belongs to `a` (so that halves of two versions would show), and a label by `a` for the selectors.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tests/history/event_log.h"
#include "tests/history/watch_check.h"

namespace sublet::history {

inline constexpr char kNamespacePath[] = "/api/v1/namespaces/history";
inline constexpr char kObjectsPath[] = "/api/v1/namespaces/history/configmaps";

std::string object_path(std::uint16_t key);
/// The body of a POST or PUT; `version` 0: any.
std::string object_body(std::uint16_t key, std::uint32_t a, std::uint32_t b, Version version);
std::string patch_body(std::uint32_t b);
/// DeleteOptions that ask for this version.
std::string delete_body(Version version);

const char* color_of(std::uint32_t a);  // of three

/// One object of an answer; a text that is not whole has no value. `problem` is told when its parts do not fit
/// together.
struct ReadObject {
  LoggedEvent object;  // `key` is that of its name; change: added
  std::uint64_t uid = 0;
  bool ours = false;  // false: another's, such as kube-root-ca.crt
};
std::optional<ReadObject> read_object(std::string_view json, std::string& problem);
std::optional<Listed> read_list(std::string_view json, std::string& problem);
/// A line of a watch; an ERROR is a problem.
std::optional<StreamItem> read_watch_line(std::string_view json, bool& ours, std::string& problem);
/// `reason` of a Status.
std::string read_reason(std::string_view json);
/// metadata.resourceVersion of whatever it is; 0 when there is none.
Version read_version(std::string_view json);

}  // namespace sublet::history
