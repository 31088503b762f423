// Effects: what a patch does to an object. One table of verbs; a new verb is a row and a function.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "patches/template/path.h"
#include "sublet/patches/template.h"

namespace sublet::patches {

struct Effect;

/// What effects leave behind beside the changed object.
struct EffectResult {
  std::vector<std::string> warnings;
  std::vector<std::string> denials;
};

struct Verb {
  std::string_view name;
  enum class Needs : std::uint8_t { path, message } needs;
  // Options that the verb takes beside `when`.
  static constexpr unsigned kValue = 1, kValues = 2, kTo = 4, kKey = 8, kPrune = 16, kMessage = 32;
  unsigned options;
  bool takes(unsigned option) const { return (options & option) != 0; }
  Outcome (*apply)(const Effect& effect, const Path& path, schema::Value object, ObjectScope& scope,
                   std::string_view kind);
};

struct Effect {
  const Verb* verb = nullptr;
  std::optional<cel::Program> when;
  std::vector<Path> paths;
  ValueForm value;                // set, default, merge; deny and warn: the message
  std::vector<ValueForm> values;  // append
  ValueForm to;                   // rename
  std::vector<std::string> keys;  // merge into lists
  bool prune = false;
  bool has_message = false;

  /// Reads the entry `patches[i].effects[j]`.
  static Effect read(const YamlNode& node, const std::vector<std::string>& kinds, const cel::Environment& environment,
                     const BorderFacts& border, const std::string& key, Problems& problems);
  /// False: the condition did not hold. An error ends the patch.
  Result<bool> apply(schema::Value object, ObjectScope& scope, std::string_view kind, EffectResult& result) const;
};

}  // namespace sublet::patches
