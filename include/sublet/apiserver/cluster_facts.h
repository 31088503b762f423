// ClusterFacts: addresses and public certificates of a virtual cluster, as its bootstrap objects (bootstrap.h) show
// them. A value; holds no key and no user.
#pragma once

#include <string>
#include <string_view>

namespace sublet::apiserver {

/// Default Service range, and the address of the Service `kubernetes` in it.
inline constexpr std::string_view kDefaultServiceCidr = "10.96.0.0/16", kDefaultServiceAddress = "10.96.0.1";

struct ClusterFacts {
  std::string ca_certificate_pem;               // goes into kube-root-ca.crt
  std::string advertise_address = "127.0.0.1";  // Endpoints of the `kubernetes` Service
  int advertise_port = 6443;
  std::string front_proxy_ca_pem{};  // signs proxies that may send X-Remote-User; empty: none
  std::string service_cidr{kDefaultServiceCidr};
};

}  // namespace sublet::apiserver
