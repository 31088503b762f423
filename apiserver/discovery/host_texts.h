// HostTexts: descriptions from a host's OpenAPI v3 document of a group version, by definition and field.
//
// Our own documents have no descriptions of fields. Only texts for definitions of ours are shown, never what the host
// alone defines. Holds the document's text, some 100 KB, while one of our documents is written. Pure; threads: any.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace sublet::apiserver {

class HostTexts {
 public:
  explicit HostTexts(std::shared_ptr<const std::string> document);
  /// Of a definition itself; "" when it has none.
  std::string of(std::string_view definition) const;
  std::string of(std::string_view definition, std::string_view field) const;

 private:
  struct Definition {
    std::string_view text;  // these are JSON
    std::map<std::string_view, std::string_view> fields;
  };
  const std::shared_ptr<const std::string> document_;
  std::map<std::string_view, Definition> definitions_;
};

/// What tells a host's documents apart: the hash of each, by the group version's path ("apis/apps/v1").
struct HostHashes {
  std::map<std::string, std::string, std::less<>> by_path;
  std::string key;  // of all of them; empty: there are none

  /// Of a map as JSON; none when it is no such map.
  static HostHashes read(std::string_view json);
};

}  // namespace sublet::apiserver
