// Border facts: which patches of a template could act on what crosses the border, for Template::load(). Pure data that
// says what translate() does; border_facts_test.cpp holds the two together. Any thread.
#pragma once

#include "sublet/patches/template.h"

namespace sublet::syncer {

const patches::BorderFacts& border_facts();

}  // namespace sublet::syncer
