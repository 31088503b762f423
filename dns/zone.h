// Zone: the names of one virtual cluster's Services and pods, by the Kubernetes DNS specification 1.1.0.
//
//   service.namespace.svc.zone             A, AAAA   cluster IPs; of a headless one those of its ready endpoints
//   _port._protocol.service...             SRV
//   hostname.service...                    A, AAAA   an endpoint: a StatefulSet's pod, or its address with dashes
//   10-1-2-3.namespace.pod.zone            A, AAAA   in every namespace that is there ("pods insecure", kubeadm's)
//   ...in-addr.arpa, ...ip6.arpa           PTR       of cluster IPs and of endpoints of headless Services
//   dns-version.zone                       TXT
// A Service of type ExternalName is a CNAME, whatever is asked. A name that is there without records of the type (also
// one that others stand below) has no error and no answer; one that is not there has NXDOMAIN; both come with the SOA.
//
// Fed object by object, and asked, on one thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "dns/wire.h"
#include "sublet/schema/document.h"

namespace sublet::dns {

class Zone {
 public:
  /// `domain`: "cluster.local". `own`: where this server is asked, of ns.dns.DOMAIN; none: it has no address.
  explicit Zone(std::string_view domain, std::optional<Address> own = std::nullopt);

  void put_namespace(const std::string& name);
  void remove_namespace(const std::string& name);
  void put_service(const schema::Value& service);
  void remove_service(const std::string& namespace_name, const std::string& name);
  void put_slice(const schema::Value& endpoint_slice);
  void remove_slice(const std::string& namespace_name, const std::string& name);

  enum class Said {
    here,       // `answer` is whole
    elsewhere,  // not a name of this zone
    outside,    // `answer` has a CNAME to `outside`, whose addresses others know
  };
  /// `answer` is empty before. `outside` is set when it is said.
  Said answer(const Question& question, Answer& answer, std::string& outside) const;
  const std::string& domain() const { return domain_; }

 private:
  struct Port {
    std::string name, protocol;  // "" name: it has no SRV; "_tcp"
    std::uint16_t number = 0;
  };
  struct Service {
    std::vector<Address> addresses;
    std::vector<Port> ports;
    std::string external_name;
    bool headless = false;
  };
  struct Endpoint {
    Address address;
    std::string hostname;
  };
  struct Slice {
    std::string service;  // "namespace/name"
    std::vector<Endpoint> endpoints;
    std::vector<Port> ports;
  };
  using Labels = std::vector<std::string_view>;  // from the left, without the zone's

  static std::vector<Port> ports_of(const schema::Value& ports, std::string_view number_key);
  void forget_addresses(const std::string& service_key, const Service& service);
  void forget_slice(const std::string& key);
  std::string name_of(const std::string& service_key) const;
  const Service* find_service(const Labels& labels, std::string& key) const;
  bool answer_labels(const Labels& labels, Type type, Answer& answer) const;
  bool answer_apex(Type type, Answer& answer) const;
  bool answer_services(const Labels& labels, Type type, Answer& answer) const;
  bool answer_service(const std::string& key, const Service& service, Type type, Answer& answer) const;
  bool answer_endpoint(const std::string& key, std::string_view hostname, Type type, Answer& answer) const;
  bool answer_port(const std::string& key, const Service& service, std::string_view port, std::string_view protocol,
                   Type type, Answer& answer) const;
  bool has_protocol(const std::string& key, const Service& service, std::string_view protocol) const;
  bool answer_pods(const Labels& labels, Type type, Answer& answer) const;
  bool answer_reverse(const std::string& name, Type type, Answer& answer) const;
  Said follow(const Service& service, Type type, Answer& answer, std::string& outside, int hops) const;
  Said answer_name(const std::string& name, Type type, const std::string& owner, Answer& answer, std::string& outside,
                   int hops) const;
  template <class Visit>
  void each_slice(const std::string& key, Visit visit) const;

  const std::string domain_, suffix_;  // ".cluster.local"
  const std::optional<Address> own_;
  std::unordered_set<std::string> namespaces_;
  std::unordered_map<std::string, Service> services_;                   // by "namespace/name"
  std::unordered_map<std::string, Slice> slices_;                       // by "namespace/name"
  std::unordered_map<std::string, std::set<std::string>> of_services_;  // a Service's slices
  std::map<Address, std::set<std::string>> cluster_addresses_;          // to Services
  std::map<Address, std::set<std::string>> endpoint_addresses_;         // to slices
};

/// The address that a name below in-addr.arpa or ip6.arpa stands for; nullopt when it is none, or not a whole one.
std::optional<Address> reverse_address(std::string_view name);
/// "10-1-2-3", "fd00--1".
std::optional<Address> dashed_address(std::string_view label);

}  // namespace sublet::dns
