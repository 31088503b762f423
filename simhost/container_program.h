// What a simulated container does: printed lines, and when it ends with which code, read off its command.
//
// Understood are `true`, `false`, `:`, `exit N`, `sleep N` (also 0.5, 5s, 2m, 1h, infinity), `echo TEXT`, alone or
// inside `sh -c '...'` joined by `;`, `&&`, `||` and new lines. Anything else, and an image's own entry point, runs for
// ever. Pure functions.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "sublet/schema/document.h"

namespace sublet::simhost {

struct ContainerProgram {
  struct Line {
    std::chrono::milliseconds at;  // after the start
    std::string text;
  };
  struct End {
    std::chrono::milliseconds at;
    int exit_code = 0;
  };
  std::vector<Line> lines;
  std::optional<End> end;  // nullopt: runs for ever
};

/// `container` is a Container of a pod spec.
ContainerProgram read_program(const schema::Value& container);

}  // namespace sublet::simhost
