// Text as Go's %q shows it, for messages that must read as upstream's. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace sublet {

std::string go_quoted(std::string_view text);

}  // namespace sublet
