// KindFacts: a kind whose strategy differs from the generic one by facts and rules, as one row of its family's table;
// row_of() makes the Strategy. Internal to strategies/.
#pragma once

#include <string_view>

#include "apiserver/strategies/default_facts.h"
#include "apiserver/strategies/rows.h"
#include "apiserver/validation/field_rules.h"

namespace sublet::apiserver {

inline constexpr unsigned kGeneration = 1;          // counts changes of what is wanted
inline constexpr unsigned kCreateOnUpdate = 2;      // a PUT makes what is not there
inline constexpr unsigned kUpdateNeedsVersion = 4;  // no PUT without a resourceVersion
inline constexpr unsigned kReturnsDeleted = 8;      // a DELETE answers with the object
inline constexpr unsigned kSealsMetadata = 16;      // its /status changes no metadata
inline constexpr unsigned kAnyFinalizer = 32;       // as long as it is a qualified name

struct KindFacts {
  std::string_view group, resource;
  void (*defaults)(schema::Value) = nullptr;
  unsigned traits = 0;
  NameRule name_rule = NameRule::dns_subdomain;
  void (*validate)(const schema::Value& object, Causes& causes) = nullptr;
  void (*validate_update)(const schema::Value& object, const schema::Value& old, Causes& causes) = nullptr;
  void (*validate_status)(const schema::Value& object, const schema::Value& old, Causes& causes) = nullptr;
  void (*validate_create)(const schema::Value& object, Causes& causes) = nullptr;
  bool (*is_skipped)(const schema::Value& object, std::string_view field) = nullptr;
  void (*skip_places)(const schema::Value& object, ReportedFields& reported) = nullptr;
  bool is(unsigned trait) const { return (traits & trait) != 0; }
};

Strategy row_of(const KindFacts& facts);

/// A Strategy's `validate` that is a table alone.
template <const auto& Rules>
void rules_of(const schema::Value& object, Causes& causes) {
  check_rules(causes, "", object, Rules);
}
/// A Strategy's `validate_update` that is a list of fields that stay.
template <const auto& Paths>
void kept(const schema::Value& object, const schema::Value& old, Causes& causes) {
  check_kept(causes, object, old, Paths);
}

}  // namespace sublet::apiserver
