// Rows of ResourceClaims and their templates: the devices that a tenant asks for, and which the host has allocated.
#include "syncer/translate/field_table.h"
#include "syncer/translate/rewrites.h"

namespace sublet::syncer {
namespace {

constexpr std::string_view kOfTheDriver = "the host's drivers read it, with what it names there: a DeviceClass says it";

std::vector<TypeRows> resource_claim_status() {
  return {
      {"ResourceClaimStatus",
       {walk("allocation", "AllocationResult"), drop("reservedFor", "names of host objects mean nothing to the tenant"),
        walk("devices", "AllocatedDeviceStatus")},
       "resource.v1.ResourceClaimStatus"},
      {"AllocationResult",
       {walk("devices", "DeviceAllocationResult"), drop("nodeSelector", "the host's schedulers place all pods"),
        copy("allocationTimestamp")},
       "resource.v1.AllocationResult"},
      {"DeviceAllocationResult",
       {walk("results", "DeviceRequestAllocationResult"), drop("config", kOfTheDriver)},
       "resource.v1.DeviceAllocationResult"},
      {"DeviceRequestAllocationResult",
       {rewrite("pool", hide_nodes_in_value),
        copy("request driver device shareID consumedCapacity bindingConditions bindingFailureConditions"),
        drop("adminAccess tolerations", "no tenant's claim has it")},
       "resource.v1.DeviceRequestAllocationResult"},
      {"AllocatedDeviceStatus",
       {copy("driver device shareID"), rewrite("pool", hide_nodes_in_value), walk("conditions", "DeviceCondition"),
        drop("data", kOfTheDriver), walk("networkData", "NetworkDeviceData")},
       "resource.v1.AllocatedDeviceStatus"},
      {"DeviceCondition",
       {copy("type status lastTransitionTime reason message"),
        drop("observedGeneration", "counts the host object's changes")},
       "io.k8s.apimachinery.pkg.apis.meta.v1.Condition"},
      {"NetworkDeviceData", {copy("interfaceName ips hardwareAddress")}, "resource.v1.NetworkDeviceData"},
  };
}

}  // namespace

std::vector<TypeRows> device_fields() {
  return {
      {"ResourceClaim",
       {copy("apiVersion kind"), walk("metadata", "ObjectMeta"), walk("spec", "ResourceClaimSpec"),
        drop("status", "the host says it, and it comes back")},
       "resource.v1.ResourceClaim"},
      {"ResourceClaimTemplate",
       {copy("apiVersion kind"), walk("metadata", "ObjectMeta"), walk("spec", "ResourceClaimTemplateSpec")},
       "resource.v1.ResourceClaimTemplate"},
      {"ResourceClaimTemplateSpec",
       {drop("metadata", "of the claims that the host makes of it"), walk("spec", "ResourceClaimSpec")},
       "resource.v1.ResourceClaimTemplateSpec"},
      {"ResourceClaimSpec", {walk("devices", "DeviceClaim")}, "resource.v1.ResourceClaimSpec"},
      {"DeviceClaim",
       {walk("requests", "DeviceRequest"), walk("constraints", "DeviceConstraint"), deny("config", kOfTheDriver)},
       "resource.v1.DeviceClaim"},
      {"DeviceRequest",
       {copy("name"), walk("exactly", "ExactDeviceRequest"), walk("firstAvailable", "DeviceSubRequest")},
       "resource.v1.DeviceRequest"},
      {"ExactDeviceRequest",
       {copy("deviceClassName allocationMode count"), walk("selectors", "DeviceSelector"),
        deny("adminAccess", "it reaches devices that other tenants use"),
        deny("tolerations", "the platform taints devices to keep tenants off them"),
        walk("capacity", "CapacityRequirements")},
       "resource.v1.ExactDeviceRequest"},
      {"DeviceSubRequest",
       {copy("name deviceClassName allocationMode count"), walk("selectors", "DeviceSelector"),
        deny("tolerations", "the platform taints devices to keep tenants off them"),
        walk("capacity", "CapacityRequirements")},
       "resource.v1.DeviceSubRequest"},
      {"CapacityRequirements", {copy("requests")}, "resource.v1.CapacityRequirements"},
      {"DeviceConstraint", {copy("requests matchAttribute distinctAttribute")}, "resource.v1.DeviceConstraint"},
  };
}

std::vector<TypeRows> device_status_fields() { return resource_claim_status(); }

}  // namespace sublet::syncer
