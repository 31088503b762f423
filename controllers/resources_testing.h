// The resources and the moment that several tests of controllers use.
#pragma once

#include <chrono>

#include "sublet/base/clock.h"
#include "sublet/kube/client.h"

namespace sublet::controllers {

inline const kube::Resource kPods{"", "v1", "pods"}, kServices{"", "v1", "services"}, kEvents{"", "v1", "events"},
    kNodes{"", "v1", "nodes"}, kNamespaces{"", "v1", "namespaces"}, kConfigMaps{"", "v1", "configmaps"},
    kAccounts{"", "v1", "serviceaccounts"};

inline const WallTime kTestNow{std::chrono::seconds(1'700'000'000)};

}  // namespace sublet::controllers
