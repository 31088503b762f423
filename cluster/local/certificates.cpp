#include "sublet/cluster/certificates.h"

#include <filesystem>

#include "sublet/base/files.h"
#include "sublet/net/tls_context.h"

namespace sublet::cluster {
namespace {

struct Known {
  std::string_view name, use;
  bool handed_out;
};
constexpr Known kKnown[] = {{"ca", "the authority that signs the others", true},
                            {"apiserver", "what the API server shows", false},
                            {"admin", "administrators: what `sublet connect` hands out", true},
                            {"front-proxy-ca", "the authority behind the next one alone", false},
                            {"front-proxy", "what API servers of the tenant's own are shown", false},
                            {"dns", "its DNS server", false},
                            {"controllers", "upstream's kube-controller-manager", false}};

}  // namespace

Result<std::vector<Certificate>> read_certificates(const std::string& api_folder) {
  std::vector<Certificate> all;
  for (const Known& known : kKnown) {
    const std::string path = api_folder + "/" + std::string(known.name) + ".crt";
    const auto pem = read_file(path);
    if (!pem && pem.error().is(Reason::not_found)) continue;
    if (!pem) return fail(pem.error());
    const auto ends = net::certificate_not_after(*pem);
    if (!ends) return internal_error(path + " is no certificate; take it away, and the API server makes another");
    all.push_back({std::string(known.name), std::string(known.use), *ends, known.handed_out});
  }
  return all;
}

std::string administrators_path(const std::string& api_folder) { return api_folder + "/administrators"; }

Outcome forget_certificates(const std::string& api_folder) {
  // The list last: a server that loads in between adds the old administrator to it again, and loses it here.
  for (const auto& path : {api_folder + "/apiserver.crt", api_folder + "/admin.crt", api_folder + "/dns.crt",
                           administrators_path(api_folder)}) {
    std::error_code error;
    std::filesystem::remove(path, error);
    if (error) return internal_error("cannot remove " + path + ": " + error.message());
  }
  return {};
}

}  // namespace sublet::cluster
