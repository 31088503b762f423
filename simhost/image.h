// Image: what the simulation knows about container images: their full names, which cannot be pulled, and what the
// programs inside do. Facts are rows of the tables in image.cpp. Pure functions.
#pragma once

#include <optional>
#include <string>

#include "simhost/shell/shell.h"

namespace sublet::simhost {

/// "docker.io/library/nginx:latest" for "nginx".
std::string full_image_name(const std::string& image);
/// Empty when the image can be "pulled".
std::string pull_failure(const std::string& image);
/// What the image's own program does with `arguments`; nullopt for an image that the tables do not know.
std::optional<shell::Trace> entry_point(const std::string& image, const shell::Words& arguments);

}  // namespace sublet::simhost
