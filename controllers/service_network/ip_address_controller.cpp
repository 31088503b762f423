// An IPAddress for every cluster IP of a Service, and no other: upstream's API server writes them when it
// allocates the address and repairs them; here the Services alone decide which are allocated, and these objects follow.
// Source: pkg/registry/core/service/ipallocator of Kubernetes.

#include "controllers/runtime/calls.h"
#include "controllers/runtime/kinds.h"
#include "controllers/runtime/object_ref.h"
#include "controllers/service_network/prefix.h"
#include "sublet/controllers/controller.h"
#include "sublet/kube/json_scan.h"

namespace sublet::controllers {
namespace {

using schema::Document;
using schema::Value;

constexpr std::string_view kIpAddressManagedBy = "ipaddress.kubernetes.io/managed-by",
                           kIpAddressManager = "ipallocator.k8s.io",
                           kIpFamilyLabel = "ipaddress.kubernetes.io/ip-family";

std::vector<std::string> cluster_addresses_of(const store::Object& service) {
  std::vector<std::string> addresses;
  kube::JsonScanner scanner(raw_of(service, {"spec", "clusterIPs"}));
  std::string_view key, value;
  while (scanner.next(key, value)) {
    auto address = kube::json_unquote(value);
    if (!address.empty() && address != "None") addresses.push_back(std::move(address));
  }
  return addresses;
}

bool is_ours(const store::Object& address) {
  return raw_of(address, {"metadata", "labels", kIpAddressManagedBy}) == "\"" + std::string(kIpAddressManager) + "\"";
}

/// "<address> <namespace>/<service>".
std::string key_for(const std::string& address, const std::string& service) { return address + " " + service; }

class IpAddressController final : public Controller {
 public:
  explicit IpAddressController(Context& context)
      : context_(context), services_(context.lister(kServices)), addresses_(context.lister(kIpAddresses)) {}

  void start() override {
    context_.on_change(kServices, [this](const Change& change) {
      for (const auto* state : {&change.before, &change.after})
        if (*state)
          for (const auto& address : cluster_addresses_of(**state)) context_.enqueue(key_for(address, key_of(**state)));
    });
    context_.on_change(kIpAddresses, [this](const Change& change) {
      const auto& address = change.object();
      if (!is_ours(address)) return;
      context_.enqueue(key_for(std::string(name_of(address)), parent_of(document_of(address).root())));
    });
  }

  Outcome reconcile(const std::string& key) override {
    const auto space = key.find(' ');
    const auto name = key.substr(0, space), owner = key.substr(space + 1);
    const auto parts = parts_of(owner);
    const auto service = services_.get(parts.namespace_name, parts.name);
    const auto held = service ? cluster_addresses_of(*service) : std::vector<std::string>();
    const bool holds = std::find(held.begin(), held.end(), name) != held.end();
    const auto stored = addresses_.get("", name);
    if (!stored) return holds ? create(name, parts) : Outcome();
    if (!is_ours(*stored)) return {};
    const auto parent = parent_of(document_of(*stored).root());
    if (holds == (parent == owner)) return {};
    if (parent != owner && !holds) return {};
    kube::DeleteOptions options;
    options.uid = stored->index.uid;
    if (auto removed =
            settled(context_.client().remove(kIpAddresses, "", name, options), {Reason::not_found, Reason::conflict});
        !removed || !holds)
      return removed;
    return create(name, parts);
  }

 private:
  static std::string parent_of(const Value& address) {
    const auto parent = address["spec"]["parentRef"];
    return key_of(parent["namespace"].text(), parent["name"].text());
  }

  Outcome create(const std::string& name, const KeyParts& service) {
    auto object = Document::object();
    auto metadata = object.root().object("metadata");
    metadata.put("name", name);
    auto labels = metadata.object("labels");
    const auto address = parse_address(name);
    labels.put(kIpFamilyLabel, address && address->v6 ? "IPv6" : "IPv4");
    labels.put(kIpAddressManagedBy, kIpAddressManager);
    auto parent = object.root().object("spec").object("parentRef");
    parent.put("group", "");
    parent.put("resource", "services");
    parent.put("namespace", service.namespace_name);
    parent.put("name", service.name);
    return ensure_created(context_.client(), kIpAddresses, "", object.root());
  }

  Context& context_;
  const Lister services_, addresses_;
};

}  // namespace

std::unique_ptr<Controller> make_ip_address_controller(Context& context) {
  return std::make_unique<IpAddressController>(context);
}

}  // namespace sublet::controllers
