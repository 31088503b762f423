// Certificates: the certificates in the folder of a virtual cluster's API server: its serving certificate and those by
// which administrators and programs authenticate. Reads them for people, and removes them so that the server makes new
// ones. The server itself makes, renews and checks them (subletd/pki.h); this contract is what the two agree on.
// Threads: any; pure functions over files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sublet/base/clock.h"
#include "sublet/base/status.h"

namespace sublet::cluster {

/// POST on the API server's socket: it reloads its certificates and answers when they are in use.
inline constexpr std::string_view kRereadCertificates = "/sublet.dev/v1/certificates";

struct Certificate {
  std::string name;  // of its file, without ".crt"
  std::string use;   // a description
  WallTime ends;
  bool handed_out = false;  // copies may exist outside the folder
};

/// Returns those that exist.
Result<std::vector<Certificate>> read_certificates(const std::string& api_folder);
/// Path of the list of administrators' certificates that are accepted.
std::string administrators_path(const std::string& api_folder);
/// Removes the serving, administrator's and DNS server's certificates: the server makes new ones when it next loads
/// them, and refuses those issued before. The authority stays.
Outcome forget_certificates(const std::string& api_folder);

}  // namespace sublet::cluster
