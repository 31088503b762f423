// NoEffect: objects that are stored although nothing in this virtual cluster acts on them yet. Their writers get a
// Warning, so that nothing is silently ignored. Pure; the facts are one table.
#pragma once

#include <string_view>
#include <vector>

#include "apiserver/strategies/strategy.h"

namespace sublet::apiserver {

/// Of kinds that are carried to a host it is silent. Warns of an object that is made (`old` missing), or changed into
/// one that has no effect.
void warn_of_no_effect(WriteContext& context, const schema::Value& object, const schema::Value& old);
/// The kinds that some object of which is warned of, for docs/limits.md, which says the same to people.
std::vector<std::string_view> kinds_without_effect();

}  // namespace sublet::apiserver
