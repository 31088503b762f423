// Url: as Go's net/url reads one.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sublet::patches::cel {

struct Url {
  std::string scheme, host, path, raw_path, query;
  bool user = false;

  std::string hostname() const;
  std::string port() const;
  std::string escaped_path() const;
  /// Names with their values, in order of appearance.
  std::vector<std::pair<std::string, std::vector<std::string>>> parameters() const;

  /// An absolute URL or a rooted path; else `problem` has Go's words, without its prefix.
  static std::optional<Url> parse(std::string_view text, std::string& problem);
};

}  // namespace sublet::patches::cel
