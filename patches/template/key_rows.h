// KeyRow: a key of vcluster.yaml and what sublet makes of it. The one table; who reads it is config_keys.cpp.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sublet/patches/template.h"

namespace sublet::patches {

enum class Takes : std::uint8_t {
  only_true,    // what sublet does anyway; false is refused
  only_false,   // what sublet does not do; true is refused. "auto" and null count as false
  only_empty,   // "", [], {} and null are fine
  only_zero,    // 0 and null are
  boolean,      // honoured; "auto" and null leave the default
  either,       // true or false: sublet does what is safe of the two, and neither asks for more
  integer,      // honoured
  strings,      // a list of strings, honoured
  labels,       // a map of labels, honoured
  selector,     // a label selector's expressions, honoured
  choice,       // one of the words in `reason`, honoured
  count,        // a whole number from 1 to 1,000,000, honoured
  quantities,   // a map of resources to quantities, honoured
  custom,       // custom resources (custom_keys.h)
  mappings,     // of objects of the kind in `reason` (mapping_keys.h)
  api_value,    // a value of the API, of the place in `reason`: "NetworkPolicy spec.ingress", honoured
  network,      // addresses such as 10.0.0.0/8, honoured
  networks,     // a list of them, honoured
  images,       // a map of images to images, honoured
  tolerations,  // a list such as ["gpu=yes:NoSchedule"], honoured
  exports,      // a list of kubeconfigs to write to the host (export_keys.h), honoured
  manifests,    // a text of YAML objects, honoured
  word,         // a text of the form in `reason` ("host", "name", "url", "role"), honoured
  hosts,        // a list of names and addresses, honoured
  port,         // honoured; 0: none is chosen
  address,      // one address: any is fine, for what `reason` says
  nothing,      // refused with all below it, but for what asks for nothing
};

/// A place in the configuration.
template <class T>
using PartOf = T& (*)(SyncConfig&);
template <auto... Members>
constexpr auto& part_of(SyncConfig& config) {
  return (config.*....*Members);
}

struct KeyRow {
  std::string_view path;  // a last '*' stands for all keys that have no row
  Takes takes;
  std::string_view reason;  // completes "... because" for what is refused
  bool SyncConfig::*flag = nullptr;
  std::string SyncConfig::*text = nullptr;
  std::int64_t SyncConfig::*number = nullptr;
  std::vector<std::string> SyncConfig::*list = nullptr;
  int SyncConfig::*count = nullptr;
  bool Policies::*policy = nullptr;  // of the policies
  Quantities Policies::*map = nullptr;
  std::string Policies::*word = nullptr;
  PartOf<bool> on = nullptr;
  PartOf<std::string> said = nullptr;
  PartOf<std::int64_t> port = nullptr;
  PartOf<std::vector<std::string>> hosts = nullptr;
  PartOf<std::optional<std::vector<std::string>>> items = nullptr;
  std::string_view ours = "";  // members of an api_value that are sublet's to write
};

std::span<const KeyRow> key_rows();

}  // namespace sublet::patches
