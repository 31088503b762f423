// The rows of all printers, one span per file. A new printer is a row in the file of its family; a new family is a line
// here and in printer.cpp.
#pragma once

#include <span>

#include "apiserver/printers/printer.h"

namespace sublet::apiserver {

std::span<const Printer> access_printers();    // roles' bindings, certificates, webhooks, admission policies
std::span<const Printer> cluster_printers();   // nodes, namespaces, events, leases, classes, flow control
std::span<const Printer> config_printers();    // configmaps, secrets, service accounts, quotas
std::span<const Printer> device_printers();    // resource.k8s.io
std::span<const Printer> group_printers();     // scheduling.k8s.io: gangs
std::span<const Printer> network_printers();   // services, endpoints, ingresses, policies
std::span<const Printer> pod_printers();       // pods and their templates
std::span<const Printer> storage_printers();   // volumes, claims, storage classes, CSI
std::span<const Printer> workload_printers();  // deployments, jobs and what scales them

}  // namespace sublet::apiserver
