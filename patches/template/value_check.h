// Value check: whether a value that a patch writes fits the place where it goes, all the way down: unknown members,
// kinds, quantities and enumerations. What is fixed in the file is told at load, with its line; what an expression
// makes is told when it is
// written, so that the refusal names the patch and not the host. Pure; any thread.
#pragma once

#include <string>

#include "patches/template/shape.h"
#include "patches/template/source.h"

namespace sublet::patches {

/// Checks the fixed parts of a value in the file; strings with `${...}` are left to fit_built(). Adds problems under
/// the path `key`, each with the mark of its own node. `node` itself must already be of a fitting kind.
/// `whole`: the records in it stand for themselves, so what the API requires of them must be there; not so in a merge.
void check_literal(const YamlNode& node, const Shape& shape, bool whole, const std::string& key, Problems& problems);

/// Whether a value for which check_literal() found no problem goes there as it stands: nothing in it is computed, and
/// no scalar is to become text. fit_built() has nothing to add then.
bool fits_as_written(const YamlNode& node, const Shape& shape);

/// check_literal() for a finished value, which is made to fit first: scalars become text where the API wants text (an
/// annotation 0.5 is "0.5", an environment variable 1 is "1"), at any depth. The error says where it does not fit.
Outcome fit_built(schema::Value value, const Shape& shape);

}  // namespace sublet::patches
