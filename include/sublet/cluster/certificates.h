// Certificates: what a virtual cluster's API server shows, and what it lets programs and administrators in by, as its
// folder has them: read for people, and taken away so that others are made. The server itself makes, renews and counts
// them (subletd/pki.h); this is what the two agree on. Pure functions over files. Threads: any.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sublet/base/clock.h"
#include "sublet/base/status.h"

namespace sublet::cluster {

/// POST on the API server's socket: it reads its certificates again, and answers when they count.
inline constexpr std::string_view kRereadCertificates = "/sublet.dev/v1/certificates";

struct Certificate {
  std::string name;  // of its file, without ".crt"
  std::string use;   // for people
  WallTime ends;
  bool handed_out = false;  // somebody may have a copy
};

/// Those that there are.
Result<std::vector<Certificate>> read_certificates(const std::string& api_folder);
/// The list of the administrators' that count.
std::string administrators_path(const std::string& api_folder);
/// What it shows and what administrators have: made anew when the server next reads them, and whatever was handed out
/// before counts no longer. The authority stays.
Outcome forget_certificates(const std::string& api_folder);

}  // namespace sublet::cluster
