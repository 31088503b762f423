// ServiceCIDRs: ready, and kept while addresses of theirs are given away.
// Source: pkg/controller/servicecidrs of Kubernetes.

#include "controllers/pods/status.h"
#include "controllers/runtime/calls.h"
#include "controllers/runtime/kinds.h"
#include "controllers/service_network/prefix.h"
#include "sublet/controllers/controller.h"
#include "sublet/kube/json_scan.h"

namespace sublet::controllers {
namespace {

using schema::Document;
using schema::Value;
using std::chrono::milliseconds;

const kube::Resource kRanges{"networking.k8s.io", "v1", "servicecidrs"};
constexpr std::string_view kServiceCidrFinalizer = "networking.k8s.io/service-cidr-finalizer";
constexpr std::chrono::seconds kGrace{10};  // for addresses that are being given away just now

std::vector<Prefix> prefixes_of(const Value& range) {
  std::vector<Prefix> prefixes;
  for (auto text : range["spec"]["cidrs"])
    if (auto prefix = parse_prefix(text.text())) prefixes.push_back(*prefix);
  return prefixes;
}

class ServiceCidrController final : public Controller {
 public:
  explicit ServiceCidrController(Context& context)
      : context_(context), ranges_(context.lister(kRanges)), addresses_(context.lister(kIpAddresses)) {}

  // One that is going waits for other ranges that take its addresses over, and for addresses to be given back.
  void start() override {
    context_.on_change(kRanges, [this](const Change& change) {
      context_.enqueue(std::string(name_of(change.object())));
      if (!change.before || !change.after) wake_ending();
    });
    context_.on_change(kIpAddresses, [this](const Change& change) {
      if (!change.after) wake_ending();
    });
  }

  Outcome reconcile(const std::string& key) override {
    const auto stored = ranges_.get("", key);
    if (!stored) return {};
    const auto range = document_of(*stored);
    if (is_ending(*stored)) return end(*stored, range.root());
    if (auto kept = keep(*stored, range.root()); !kept) return kept;
    return write_condition(key, range.root(), {"Ready", "True", "", "Kubernetes Service CIDR is ready"});
  }

 private:
  void wake_ending() {
    for (const auto& range : ranges_.list())
      if (is_ending(*range)) context_.enqueue(std::string(name_of(*range)));
  }

  static bool has_finalizer(const Value& range) {
    for (auto finalizer : range["metadata"]["finalizers"])
      if (finalizer.text() == kServiceCidrFinalizer) return true;
    return false;
  }

  Outcome keep(const store::Object& stored, const Value& range) {
    return has_finalizer(range) ? Outcome() : patch_finalizer(stored, "finalizers");
  }

  Outcome patch_finalizer(const store::Object& stored, std::string_view member) {
    auto patch = Document::object();
    patch.root().object("metadata").array(member).push(kServiceCidrFinalizer);
    return settled(
        context_.client().patch(kRanges, "", name_of(stored), kube::PatchType::strategic_merge, patch.to_json()));
  }

  Outcome end(const store::Object& stored, const Value& range) {
    const std::string name(name_of(stored));
    if (!has_finalizer(range)) return {};
    if (!is_free(name, range))
      return write_condition(
          name, range,
          {"Ready", "False", "Terminating",
           "There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new "
           "ServiceCIDR"});
    const auto since = parse_time(range["metadata"]["deletionTimestamp"].text());
    const auto now = context_.clock().now();
    if (since && now < *since + kGrace) {
      context_.enqueue_after(name, std::chrono::ceil<milliseconds>(*since + kGrace - now));
      return {};
    }
    return patch_finalizer(stored, "$deleteFromPrimitiveList/finalizers");
  }

  /// Returns true when other ranges have all its addresses, or no Service has one that is in no other range.
  bool is_free(const std::string& name, const Value& range) const {
    std::vector<Prefix> others;
    for (const auto& other : ranges_.list())
      if (name_of(*other) != name)
        for (const auto& prefix : prefixes_of(document_of(*other).root())) others.push_back(prefix);
    const auto in_another = [&](const auto& what) {
      return std::any_of(others.begin(), others.end(), [&](const Prefix& other) { return other.contains(what); });
    };
    const auto own = prefixes_of(range);
    if (std::all_of(own.begin(), own.end(), in_another)) return true;
    for (const auto& object : addresses_.list()) {
      const auto address = parse_address(name_of(*object));
      const bool here = address && std::any_of(own.begin(), own.end(),
                                               [&](const Prefix& prefix) { return prefix.contains(*address); });
      if (here && !in_another(*address)) return false;
    }
    return true;
  }

  Outcome write_condition(const std::string& name, const Value& range, const Condition& condition) {
    const auto known = find_condition(range["status"]["conditions"], condition.type);
    if (known && known["status"].text() == condition.status && known["reason"].text() == condition.reason &&
        known["message"].text() == condition.message)
      return {};
    auto config = Document::object();
    auto root = config.root();
    root.put("apiVersion", kRanges.group + "/" + kRanges.version);
    root.put("kind", "ServiceCIDR");
    root.object("metadata").put("name", name);
    auto entry = root.object("status").array("conditions").push_object();
    entry.put("type", condition.type);
    entry.put("status", condition.status);
    entry.put("reason", condition.reason);
    entry.put("message", condition.message);
    entry.put("lastTransitionTime", format_time(context_.clock().now()));
    return settled(context_.client().apply(kRanges, "", name, root,
                                           {.field_manager = "service-cidr-controller", .force = true}, "status"));
  }

  Context& context_;
  const Lister ranges_, addresses_;
};

}  // namespace

std::unique_ptr<Controller> make_service_cidr_controller(Context& context) {
  return std::make_unique<ServiceCidrController>(context);
}

}  // namespace sublet::controllers
