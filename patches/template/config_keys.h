// Configuration keys, as in vcluster.yaml: one table says of every key whether sublet does what it asks for, and if
// not, why not. A key that would silently do nothing, or something else, is refused.
#pragma once

#include "patches/template/source.h"
#include "sublet/patches/template.h"

namespace sublet::patches {

/// Reads all keys of the root map but those in `others`; reports every one that is refused or unknown to `refused`, and
/// what is written wrongly to `problems`.
SyncConfig read_config(const YamlNode& root, const std::vector<std::string_view>& others, Problems& problems,
                       Problems& refused);

/// The keys that are done, as the table has them: with a test that each has an effect (cluster/keys_test.cpp).
enum class HonouredForm : std::uint8_t {
  boolean,
  integer,
  strings,
  labels,
  selector,
  choice,
  count,
  quantities,
  custom,
  mappings,
  api_value,
  network,
  networks,
  word,
  hosts,
  port,
  images,
  exports,
  manifests,
  tolerations
};
struct HonouredKey {
  std::string_view path;
  HonouredForm form;
  std::string_view words;  // of a choice; of an api_value the place, of a word the form
};
std::vector<HonouredKey> honoured_keys();

/// Of a key that is accepted, what that means.
enum class Acceptance : std::uint8_t {
  acts,          // what is written there decides something
  always_so,     // it says what sublet does anyway; what says otherwise is refused
  asks_nothing,  // empty or switched off; what asks for something is refused
};
Acceptance acceptance_of(std::string_view path);

}  // namespace sublet::patches
