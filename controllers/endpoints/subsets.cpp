#include "controllers/endpoints/subsets.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "controllers/endpoints/pod_endpoint.h"

namespace sublet::controllers {
namespace {

using schema::Document;
using schema::Value;

struct SubsetPort {
  std::string name;
  int number = 0;
  std::string protocol, app_protocol;
  auto operator<=>(const SubsetPort&) const = default;
};

struct SubsetAddress {
  std::string ip, uid;
  Value document;
  bool operator<(const SubsetAddress& other) const { return std::tie(ip, uid) < std::tie(other.ip, other.uid); }
};

std::optional<Document> make_address(const Value& pod, const Value& service) {
  const auto addresses = addresses_of(pod, families_of(service).front());
  if (addresses.empty()) return std::nullopt;
  auto made = Document::object();
  auto root = made.root();
  root.put("ip", addresses.front());
  if (has_own_name(pod, service)) root.put("hostname", pod["spec"]["hostname"].text());
  root.put("nodeName", pod["spec"]["nodeName"].text());
  auto target = root.object("targetRef");
  target.put("kind", "Pod");
  for (auto member : {"namespace", "name", "uid"}) target.put(member, pod["metadata"][member].text());
  return made;
}

std::vector<SubsetPort> ports_of(const Value& pod, const Value& service) {
  std::vector<SubsetPort> ports;
  for (Value port : service["spec"]["ports"])
    if (auto number = find_port(pod, port))
      ports.push_back({port["name"].string(), *number, port["protocol"].string("TCP"), port["appProtocol"].string()});
  return ports;
}

using SubsetAddresses = std::map<SubsetAddress, bool>;  // whether it is ready

void put_ports(Value subset, const std::vector<SubsetPort>& ports) {
  for (const auto& port : ports) {
    auto entry = subset.array("ports").push_object();
    if (!port.name.empty()) entry.put("name", port.name);
    entry.put("port", port.number);
    entry.put("protocol", port.protocol);
    if (!port.app_protocol.empty()) entry.put("appProtocol", port.app_protocol);
  }
}

struct BySameAddresses {
  bool operator()(const SubsetAddresses* a, const SubsetAddresses* b) const {
    return std::lexicographical_compare(a->begin(), a->end(), b->begin(), b->end(), [](const auto& x, const auto& y) {
      return std::tie(x.first.ip, x.first.uid, x.second) < std::tie(y.first.ip, y.first.uid, y.second);
    });
  }
};

std::size_t count_addresses(const Value& subsets, std::string_view list) {
  std::size_t total = 0;
  for (Value subset : subsets) total += subset[list].size();
  return total;
}

void keep_first(Value addresses, std::size_t most) {
  std::size_t index = 0;
  addresses.retain([&](const Value&) { return index++ < most; });
}

}  // namespace

Document make_subsets(const Value& service, const std::vector<Document>& pods) {
  const bool publish_all = service["spec"]["publishNotReadyAddresses"].boolean();
  std::vector<Document> kept;
  kept.reserve(pods.size());
  std::map<std::optional<SubsetPort>, SubsetAddresses> by_port;  // none: a headless Service without ports
  for (const auto& pod : pods) {
    if (!belongs_in_endpoints(pod.root(), publish_all)) continue;
    auto made = make_address(pod.root(), service);
    if (!made) continue;
    kept.push_back(std::move(*made));
    const SubsetAddress address{kept.back()["ip"].string(), pod["metadata"]["uid"].string(), kept.back().root()};
    const bool ready = publish_all || is_ready(pod.root());
    if (service["spec"]["ports"].empty()) {
      if (is_headless(service)) by_port[std::nullopt].emplace(address, ready);
      continue;
    }
    for (auto& port : ports_of(pod.root(), service)) by_port[std::move(port)].emplace(address, ready);
  }
  std::map<const SubsetAddresses*, std::vector<SubsetPort>, BySameAddresses> groups;
  for (const auto& [port, addresses] : by_port) {
    auto& ports = groups[&addresses];
    if (port) ports.push_back(*port);
  }
  Document subsets;
  subsets.root().make_array();
  for (const auto& [addresses, ports] : groups) {
    auto subset = subsets.root().push_object();
    for (const bool ready : {true, false})
      for (const auto& [address, is] : *addresses)
        if (is == ready) subset.array(ready ? "addresses" : "notReadyAddresses").push(address.document);
    put_ports(subset, ports);
  }
  return subsets;
}

bool truncate_subsets(Value subsets, std::size_t capacity) {
  const auto ready = count_addresses(subsets, "addresses"), unready = count_addresses(subsets, "notReadyAddresses");
  if (ready + unready <= capacity) return false;
  const bool cut_ready = ready > capacity;
  const auto list = cut_ready ? "addresses" : "notReadyAddresses";
  const auto most = cut_ready ? capacity : capacity - ready, total = cut_ready ? ready : unready;
  auto left = most;
  for (Value subset : subsets) {
    const auto share = std::min(left, (subset[list].size() * most + total - 1) / total);
    left -= std::min(share, subset[list].size());
    keep_first(subset.array(list), share);
    if (cut_ready || share == 0) subset.erase("notReadyAddresses");
  }
  return true;
}

}  // namespace sublet::controllers
