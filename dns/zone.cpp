// Map of this file: addresses as names, feeding, asking.
#include "dns/zone.h"

#include <algorithm>
#include <charconv>

namespace sublet::dns {
namespace {

using schema::Value;

constexpr int kHopsMax = 8;  // of ExternalNames that lead to each other
constexpr std::string_view kVersion = "1.1.0";
constexpr std::string_view kServiceNameLabel = "kubernetes.io/service-name";
constexpr std::string_view kReverseFour = ".in-addr.arpa", kReverseSix = ".ip6.arpa";

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& one : result)
    if (one >= 'A' && one <= 'Z') one = static_cast<char>(one - 'A' + 'a');
  return result;
}

std::string key_of(std::string_view namespace_name, std::string_view name) {
  return std::string(namespace_name) + "/" + std::string(name);
}
std::string key_of(const Value& object) {
  return key_of(object["metadata"]["namespace"].text(), object["metadata"]["name"].text());
}

std::vector<std::string_view> labels_of(std::string_view name) {
  std::vector<std::string_view> labels;
  while (!name.empty()) {
    const auto dot = std::min(name.find('.'), name.size());
    labels.push_back(name.substr(0, dot));
    name.remove_prefix(std::min(dot + 1, name.size()));
  }
  return labels;
}

bool wants(Type asked, Type has) { return asked == has || asked == Type::any; }

void add_address(Answer& answer, Type type, const Address& address, std::string name = {}) {
  if (!wants(type, address.type())) return;
  Record record;
  record.name = std::move(name);
  record.type = address.type();
  record.address = address;
  answer.answers.push_back(std::move(record));
}

void add_target(std::vector<Record>& section, Type type, std::string target, std::uint16_t port = 0,
                std::string name = {}) {
  Record record;
  record.name = std::move(name);
  record.type = type;
  record.target = std::move(target);
  record.port = port;
  section.push_back(std::move(record));
}

void add_additional(Answer& answer, const std::string& name, const Address& address) {
  Record record;
  record.name = name;
  record.type = address.type();
  record.address = address;
  answer.additional.push_back(std::move(record));
}

}  // namespace

// Addresses as names --------------------------------------------------------------------------------------------------

std::optional<Address> reverse_address(std::string_view name) {
  const bool four = name.ends_with(kReverseFour);
  if (!four && !name.ends_with(kReverseSix)) return std::nullopt;
  name.remove_suffix(four ? kReverseFour.size() : kReverseSix.size());
  const auto labels = labels_of(name);
  if (labels.size() != (four ? 4u : 32u)) return std::nullopt;
  std::string text;
  for (auto label = labels.rbegin(); label != labels.rend(); ++label) {
    if (!four && label->size() != 1) return std::nullopt;
    const auto place = label - labels.rbegin();
    if (place > 0 && (four || place % 4 == 0)) text += four ? '.' : ':';
    text += *label;
  }
  auto address = Address::parse(text);
  return address && (address->size == 4) == four ? address : std::nullopt;
}

std::optional<Address> dashed_address(std::string_view label) {
  std::string text(label);
  std::replace(text.begin(), text.end(), '-', '.');
  if (auto address = Address::parse(text)) return address;
  std::replace(text.begin(), text.end(), '.', ':');
  return Address::parse(text);
}

// Feeding -------------------------------------------------------------------------------------------------------------

Zone::Zone(std::string_view domain, std::optional<Address> own)
    : domain_(lower(domain)), suffix_("." + domain_), own_(own) {}

void Zone::put_namespace(const std::string& name) { namespaces_.insert(name); }
void Zone::remove_namespace(const std::string& name) { namespaces_.erase(name); }

std::vector<Zone::Port> Zone::ports_of(const Value& ports, std::string_view number_key) {
  std::vector<Port> all;
  for (const Value port : ports)
    all.push_back({port["name"].text().empty() ? "" : "_" + port["name"].string(),
                   "_" + lower(port["protocol"].text("TCP")),
                   static_cast<std::uint16_t>(std::clamp<std::int64_t>(port[number_key].integer(), 0, 65535))});
  return all;
}

void Zone::put_service(const Value& object) {
  const std::string key = key_of(object);
  remove_service(object["metadata"]["namespace"].string(), object["metadata"]["name"].string());
  const Value spec = object["spec"];
  Service service;
  service.ports = ports_of(spec["ports"], "port");
  if (spec["type"].text() == "ExternalName") {
    service.external_name = lower(spec["externalName"].text());
    if (service.external_name.ends_with('.')) service.external_name.pop_back();
  } else {
    service.headless = spec["clusterIP"].text() == "None";
    for (const Value address : spec["clusterIPs"])
      if (const auto parsed = Address::parse(address.string())) service.addresses.push_back(*parsed);
    if (service.addresses.empty())
      if (const auto parsed = Address::parse(spec["clusterIP"].string())) service.addresses.push_back(*parsed);
  }
  for (const Address& address : service.addresses) cluster_addresses_[address].insert(key);
  services_[key] = std::move(service);
}

void Zone::forget_addresses(const std::string& key, const Service& service) {
  for (const Address& address : service.addresses) {
    const auto known = cluster_addresses_.find(address);
    if (known == cluster_addresses_.end()) continue;
    known->second.erase(key);
    if (known->second.empty()) cluster_addresses_.erase(known);
  }
}

void Zone::remove_service(const std::string& namespace_name, const std::string& name) {
  const auto known = services_.find(key_of(namespace_name, name));
  if (known == services_.end()) return;
  forget_addresses(known->first, known->second);
  services_.erase(known);
}

void Zone::put_slice(const Value& object) {
  const std::string key = key_of(object);
  forget_slice(key);
  const std::string_view service = object["metadata"]["labels"][kServiceNameLabel].text();
  if (service.empty()) return;
  Slice slice;
  slice.service = key_of(object["metadata"]["namespace"].text(), service);
  slice.ports = ports_of(object["ports"], "port");
  for (const Value endpoint : object["endpoints"]) {
    if (!endpoint["conditions"]["ready"].boolean(true)) continue;
    const auto address = Address::parse(endpoint["addresses"].at(0).string());  // the others mean the same endpoint
    if (!address) continue;
    std::string hostname = lower(endpoint["hostname"].text());
    if (hostname.empty()) {
      hostname = address->text();
      std::replace_if(
          hostname.begin(), hostname.end(), [](char one) { return one == '.' || one == ':'; }, '-');
    }
    endpoint_addresses_[*address].insert(key);
    slice.endpoints.push_back({*address, std::move(hostname)});
  }
  of_services_[slice.service].insert(key);
  slices_[key] = std::move(slice);
}

void Zone::forget_slice(const std::string& key) {
  const auto known = slices_.find(key);
  if (known == slices_.end()) return;
  for (const Endpoint& endpoint : known->second.endpoints) {
    const auto slices = endpoint_addresses_.find(endpoint.address);
    if (slices == endpoint_addresses_.end()) continue;
    slices->second.erase(key);
    if (slices->second.empty()) endpoint_addresses_.erase(slices);
  }
  const auto of_service = of_services_.find(known->second.service);
  of_service->second.erase(key);
  if (of_service->second.empty()) of_services_.erase(of_service);
  slices_.erase(known);
}

void Zone::remove_slice(const std::string& namespace_name, const std::string& name) {
  forget_slice(key_of(namespace_name, name));
}

// Asking --------------------------------------------------------------------------------------------------------------
// Each answer_...() gives false when there is no such name.

template <class Visit>
void Zone::each_slice(const std::string& key, Visit visit) const {
  const auto slices = of_services_.find(key);
  if (slices == of_services_.end()) return;
  for (const std::string& slice : slices->second) visit(slices_.at(slice));
}

std::string Zone::name_of(const std::string& service_key) const {
  const auto slash = service_key.find('/');
  return service_key.substr(slash + 1) + "." + service_key.substr(0, slash) + ".svc" + suffix_;
}

bool Zone::answer_apex(Type type, Answer& answer) const {
  if (wants(type, Type::soa)) add_target(answer.answers, Type::soa, domain_);
  if (wants(type, Type::ns)) add_target(answer.answers, Type::ns, "ns.dns" + suffix_);
  return true;
}

bool Zone::answer_service(const std::string& key, const Service& service, Type type, Answer& answer) const {
  for (const Address& address : service.addresses) add_address(answer, type, address);
  if (!service.headless || (type != Type::a && type != Type::aaaa && type != Type::any)) return true;
  std::set<Address> seen;
  each_slice(key, [&](const Slice& slice) {
    for (const Endpoint& endpoint : slice.endpoints)
      if (seen.insert(endpoint.address).second) add_address(answer, type, endpoint.address);
  });
  return true;
}

bool Zone::answer_endpoint(const std::string& key, std::string_view hostname, Type type, Answer& answer) const {
  std::set<Address> found;
  each_slice(key, [&](const Slice& slice) {
    for (const Endpoint& endpoint : slice.endpoints)
      if (endpoint.hostname == hostname && found.insert(endpoint.address).second)
        add_address(answer, type, endpoint.address);
  });
  return !found.empty();
}

bool Zone::answer_port(const std::string& key, const Service& service, std::string_view port, std::string_view protocol,
                       Type type, Answer& answer) const {
  const bool asked = wants(type, Type::srv);
  bool there = false;
  const auto matching = [&](const std::vector<Port>& ports) {
    const auto found = std::ranges::find_if(
        ports, [&](const Port& one) { return !one.name.empty() && one.name == port && one.protocol == protocol; });
    return found == ports.end() ? nullptr : &*found;
  };
  const std::string name = name_of(key);
  if (!service.headless) {
    const Port* found = matching(service.ports);
    if (!found || service.addresses.empty()) return false;
    if (!asked) return true;
    add_target(answer.answers, Type::srv, name, found->number);
    for (const Address& address : service.addresses) add_additional(answer, name, address);
    return true;
  }
  std::set<std::pair<std::string, std::uint16_t>> targets;  // of two families, one
  each_slice(key, [&](const Slice& slice) {
    const Port* found = matching(slice.ports);
    if (!found) return;
    for (const Endpoint& endpoint : slice.endpoints) {
      there = true;
      if (!asked) return;
      const std::string target = endpoint.hostname + "." + name;
      if (targets.emplace(target, found->number).second) add_target(answer.answers, Type::srv, target, found->number);
      add_additional(answer, target, endpoint.address);
    }
  });
  return there || matching(service.ports) != nullptr;
}

bool Zone::has_protocol(const std::string& key, const Service& service, std::string_view protocol) const {
  const auto any = [&](const std::vector<Port>& ports) {
    return std::ranges::any_of(ports, [&](const Port& one) { return !one.name.empty() && one.protocol == protocol; });
  };
  bool there = any(service.ports);
  each_slice(key, [&](const Slice& slice) { there = there || any(slice.ports); });
  return there;
}

const Zone::Service* Zone::find_service(const Labels& labels, std::string& key) const {
  if (labels.size() < 3 || labels.back() != "svc") return nullptr;
  key = key_of(labels[labels.size() - 2], labels[labels.size() - 3]);
  const auto found = services_.find(key);
  return found == services_.end() ? nullptr : &found->second;
}

bool Zone::answer_services(const Labels& labels, Type type, Answer& answer) const {
  if (labels.size() == 1) return true;
  if (labels.size() == 2) return namespaces_.contains(std::string(labels[0]));
  std::string key;
  const Service* service = find_service(labels, key);
  if (!service || !service->external_name.empty()) return service && labels.size() == 3;
  switch (labels.size()) {
    case 3:
      return answer_service(key, *service, type, answer);
    case 4:
      if (labels[0].starts_with('_')) return has_protocol(key, *service, labels[0]);
      return answer_endpoint(key, labels[0], type, answer);
    case 5:
      return answer_port(key, *service, labels[0], labels[1], type, answer);
    default:
      return false;
  }
}

bool Zone::answer_pods(const Labels& labels, Type type, Answer& answer) const {
  if (labels.size() == 1) return true;
  if (!namespaces_.contains(std::string(labels[labels.size() - 2])) || labels.size() > 3) return false;
  if (labels.size() == 2) return true;
  const auto address = dashed_address(labels[0]);
  if (!address) return false;
  add_address(answer, type, *address);
  return true;
}

bool Zone::answer_labels(const Labels& labels, Type type, Answer& answer) const {
  if (labels.empty()) return answer_apex(type, answer);
  if (labels.back() == "svc") return answer_services(labels, type, answer);
  if (labels.back() == "pod") return answer_pods(labels, type, answer);
  if (labels.back() == "dns") {
    if (labels.size() == 2 && labels[0] == "ns" && own_) add_address(answer, type, *own_);
    return labels.size() == 1 || (labels.size() == 2 && labels[0] == "ns");
  }
  if (labels.size() != 1 || labels[0] != "dns-version") return false;
  if (wants(type, Type::txt)) add_target(answer.answers, Type::txt, std::string(kVersion));
  return true;
}

bool Zone::answer_reverse(const std::string& name, Type type, Answer& answer) const {
  const auto address = reverse_address(name);
  if (!address) return false;
  const auto add = [&](const std::string& target) {
    if (wants(type, Type::ptr)) add_target(answer.answers, Type::ptr, target);
  };
  bool there = false;
  if (const auto found = cluster_addresses_.find(*address); found != cluster_addresses_.end())
    for (const std::string& service : found->second) {
      there = true;
      add(name_of(service));
    }
  if (const auto found = endpoint_addresses_.find(*address); found != endpoint_addresses_.end())
    for (const std::string& key : found->second) {
      const Slice& slice = slices_.at(key);
      const auto service = services_.find(slice.service);
      if (service == services_.end() || !service->second.headless) continue;
      for (const Endpoint& endpoint : slice.endpoints) {
        if (endpoint.address != *address) continue;
        there = true;
        add(endpoint.hostname + "." + name_of(slice.service));
      }
    }
  return there;
}

Zone::Said Zone::follow(const Service& service, Type type, Answer& answer, std::string& outside, int hops) const {
  const std::string& target = service.external_name;
  if (type == Type::cname || type == Type::any || hops >= kHopsMax) return Said::here;
  return answer_name(target, type, target, answer, outside, hops + 1);
}

Zone::Said Zone::answer_name(const std::string& name, Type type, const std::string& owner, Answer& answer,
                             std::string& outside, int hops) const {
  const bool ours = name == domain_ || name.ends_with(suffix_);
  const std::size_t before = answer.answers.size();
  if (!ours) {
    if (!owner.empty()) {
      outside = name;
      return Said::outside;
    }
    return answer_reverse(name, type, answer) ? Said::here : Said::elsewhere;
  }
  const std::string_view rest =
      name == domain_ ? std::string_view() : std::string_view(name).substr(0, name.size() - suffix_.size());
  const Labels labels = labels_of(rest);
  std::string key;
  if (labels.size() == 3)
    if (const Service* service = find_service(labels, key); service && !service->external_name.empty()) {
      add_target(answer.answers, Type::cname, service->external_name, 0, owner);
      return follow(*service, type, answer, outside, hops);
    }
  if (!answer_labels(labels, type, answer)) answer.code = Code::no_such_name;
  for (std::size_t i = before; i < answer.answers.size(); ++i) answer.answers[i].name = owner;
  return Said::here;
}

Zone::Said Zone::answer(const Question& question, Answer& answer, std::string& outside) const {
  const Said said = answer_name(question.name, question.type, "", answer, outside, 0);
  const bool none = answer.answers.empty() || (answer.answers.back().type == Type::cname &&
                                               question.type != Type::cname && question.type != Type::any);
  if (said != Said::here || !none) return said;
  const bool ours = question.name == domain_ || question.name.ends_with(suffix_);
  if (ours) add_target(answer.authority, Type::soa, domain_, 0, domain_);
  return said;
}

}  // namespace sublet::dns
