// ClusterFacts: what the objects that every cluster has (bootstrap.h) say of it: all that most parts need to know of
// it. No key, no user. A value.
#pragma once

#include <string>

namespace sublet::apiserver {

struct ClusterFacts {
  std::string ca_certificate_pem;               // goes into kube-root-ca.crt
  std::string advertise_address = "127.0.0.1";  // Endpoints of the `kubernetes` Service
  int advertise_port = 6443;
  std::string front_proxy_ca_pem{};  // who may bring others' requests (X-Remote-User); empty: nobody
  std::string service_cidr = "10.96.0.0/16";
};

}  // namespace sublet::apiserver
