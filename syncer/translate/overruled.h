// Overruled: what the border writes or removes after all patches. One table of members and one of keys: translate()
// acts by them, and by them border_facts() refuses, at load, the patches that would do nothing. Pure data; any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "sublet/schema/document.h"

namespace sublet::syncer {

class Translation;

struct OverruledMember {
  std::string_view kind;    // empty: every kind
  std::string_view parent;  // "metadata" or "spec"; empty: the object itself
  std::string_view member;
  void (*write)(const Translation& translation, schema::Value parent, std::string_view member);
  std::string_view why;
};
std::span<const OverruledMember> overruled_members();

/// A label or annotation that every host object gets.
struct OwnKey {
  std::string_view parent;  // "labels" or "annotations"
  std::string_view key;
  std::string (*value)(const Translation& translation);
};
std::span<const OwnKey> own_keys();
/// Whether the border writes this label or annotation itself. Of the keys under sublet.dev/ a template may write the
/// others: they are the platform's as its own are.
bool written_by_border(std::string_view key);

/// Writes the members of this kind's rows; "": those of every kind.
void overrule(const Translation& translation, std::string_view kind, schema::Value host_object);

}  // namespace sublet::syncer
