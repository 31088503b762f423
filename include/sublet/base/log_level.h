// What log::set_level() has set, for a process that hands it on, and how lines are written.
#pragma once

#include <string>
#include <string_view>

#include "sublet/base/log.h"

namespace sublet::log {

/// "debug", "info", "warning" or "error".
std::string_view level_name();

/// "json": one JSON object a line; "console", the default: `time level event key=value ...`. Anything else changes
/// nothing.
void set_encoding(std::string_view name);
std::string_view encoding_name();
/// The line for an event, without time and level, as it is written in that encoding.
std::string line_of(std::string_view event, Fields fields, bool json);

}  // namespace sublet::log
