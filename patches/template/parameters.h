// Parameters: what a template leaves open for each virtual cluster, with types that are checked.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "patches/template/scope.h"
#include "patches/template/value_form.h"

namespace re2 {
class RE2;
}

namespace sublet::patches {

class MapReader;

class Parameter {
 public:
  /// Reads the entry `parameters[index]`.
  static Parameter read(const YamlNode& node, const std::string& key, Problems& problems);

  const std::string& name() const { return name_; }
  const std::string& description() const { return description_; }
  cel::Kind kind() const;
  /// The type in words: `integer`, `one of devices, refuse`.
  std::string type_text() const;
  bool has_default() const { return default_.has_value(); }
  /// The value that a text (from --set) stands for; an error value says why it is none.
  cel::Value parse(const std::string& text) const;
  cel::Value default_value(const cel::Activation& activation) const;

 private:
  enum class Type : std::uint8_t { string, integer, number, boolean, one_of };
  static std::optional<Type> type_of(std::string_view name);
  void read_values(MapReader& reader, const YamlNode& node, const std::string& key, Problems& problems);
  void read_pattern(MapReader& reader, const YamlNode& node, const std::string& key, Problems& problems);
  void read_default(MapReader& reader, const std::string& key, Problems& problems);
  cel::Value check(cel::Value value) const;

  std::string name_;
  std::string description_;
  Type type_ = Type::string;
  std::vector<std::string> values_;  // one_of
  std::string pattern_;
  std::shared_ptr<const re2::RE2> compiled_;
  std::optional<ValueForm> default_;
};

/// Reads the list; reports names that come twice.
std::vector<Parameter> read_parameters(const YamlNode* node, Problems& problems);

/// Binds all parameters: given texts first, then defaults. Lists everything that is wrong.
Result<std::vector<BoundParameter>> bind_parameters(const std::vector<Parameter>& parameters,
                                                    const std::map<std::string, std::string>& given,
                                                    const PatchContext& context);

}  // namespace sublet::patches
