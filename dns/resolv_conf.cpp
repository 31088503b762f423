#include <algorithm>
#include <sstream>

#include "dns/wire.h"
#include "sublet/dns/name_server.h"

namespace sublet::dns {
namespace {

constexpr std::size_t kServersMax = 3;  // as resolv.conf(5) has it
constexpr std::string_view kServices = "svc.";

}  // namespace

Resolvers parse_resolv_conf(std::string_view text) {
  Resolvers found;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string key, word;
    words >> key;
    if (key == "nameserver" && words >> word && found.servers.size() < kServersMax) {
      const auto address = Address::parse(word);
      if (address) found.servers.push_back(address->size == 4 ? word + ":53" : "[" + word + "]:53");
    }
    if (key != "search") continue;
    while (words >> word) {
      if (word.ends_with('.')) word.pop_back();
      if (word.starts_with(kServices) && word.size() > kServices.size())
        found.cluster_domains.push_back(word.substr(kServices.size()));
    }
  }
  return found;
}

}  // namespace sublet::dns
