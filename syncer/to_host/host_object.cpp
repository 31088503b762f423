#include "syncer/to_host/host_object.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "sublet/base/log.h"
#include "sublet/base/metrics.h"
#include "syncer/to_host/earlier_labels.h"
#include "syncer/to_host/host_patch.h"

namespace sublet::syncer {

using schema::Document;
using schema::Value;

namespace {

metrics::Counter& foreign_objects() {
  static auto& counter =
      metrics::counter("sublet_syncer_foreign_objects_total",
                       "Host objects met under a translated name that are not this virtual cluster's.");
  return counter;
}

Status foreign_status(Border& border, const SyncedKind& kind, const std::string& name, const Value& tenant_object) {
  ++border.host.foreign_objects;
  foreign_objects().add();
  const std::string message =
      std::string(kind.kubernetes_kind()) + " " + name + " exists on the host" +
      (kind.in_cluster() ? "" : " in namespace " + border.host_namespace()) +
      " and does not belong to this virtual cluster; it is left alone. Ask the platform team to "
      "remove or rename it";
  record_tenant_event(border, tenant_object, "Warning", "HostNameTaken", message);
  Status status;
  status.reason = Reason::already_exists;
  status.message = message;
  return status;
}

// Only this very object: by now another may have its name. The host refuses the patch then, and the next look sees it.
Result<Document> send_patch(Border& border, const SyncedKind& kind, const Value& host_object, const Document& patch,
                            std::string_view subresource = {}) {
  const Value metadata = host_object["metadata"];
  patch.root().object("metadata").put("uid", metadata["uid"].text());
  ++border.host.writes;
  return border.host.client.patch(kind.resource, border.host_place(kind), metadata["name"].text(),
                                  kube::PatchType::merge, patch.to_json(), subresource);
}

// What one look changes of an object that is there: in several requests, all or none of which its own pace allows.
class Changes {
 public:
  Changes(Border& border, std::string uid) : border_(border), uid_(std::move(uid)) {}
  /// How long the next request has to wait: the object was changed a moment ago, or many were.
  Requeue wait() {
    if (!begun_)
      if (const auto pause = border_.host.pace.wait(uid_)) return pause;
    if (const auto pause = border_.host.changes.take()) return pause;
    if (!std::exchange(begun_, true)) border_.host.pace.changed(uid_);
    return std::nullopt;
  }

 private:
  Border& border_;
  const std::string uid_;
  bool begun_ = false;
};

// What changes through subresources; how long to wait when too much has been written.
Result<Requeue> patch_views(Border& border, const SyncedKind& kind, const Value& host_object, const Value& desired,
                            Changes& changes) {
  for (const HostView& view : kind.host_views) {
    const Document patch = Document::object();
    view.patch_content(host_object, desired, patch.root());
    if (patch.root().empty()) continue;
    if (const auto wait = changes.wait()) return Requeue(*wait);
    if (const auto patched = send_patch(border, kind, host_object, patch, view.subresource); !patched)
      return fail(patched.error());
  }
  return Requeue();
}

// Of a kind whose fields stand behind feature gates of their own: what the host has taken and not kept.
void report_ignored_fields(Border& border, const SyncedKind& kind, const Value& tenant_object, const Value& patch) {
  std::string fields;
  for (const Value field : patch["spec"]) fields += (fields.empty() ? "spec." : ", spec.") + std::string(field.key());
  if (!kind.only_some_hosts || fields.empty()) return;
  record_tenant_event(border, tenant_object, "Warning", "IgnoredByHost",
                      "the host does not keep " + fields + " of the " + std::string(kind.kubernetes_kind()) +
                          ": a feature gate of Kubernetes is off there; ask whoever runs it");
}

// The host object is there and ours: brings it to the desired form.
Result<Requeue> patch_host(Border& border, const SyncedKind& kind, const Value& host_object, const Value& desired,
                           const Value& tenant_object) {
  const std::string name = desired["metadata"]["name"].string();
  if (tenant_identity(host_object).uid != tenant_identity(desired).uid) {
    // It stands for an earlier tenant object of the same name. Its end brings the key back.
    kube::CachedObject old;
    old.namespace_name = border.host_place(kind);
    old.name = name;
    old.uid = host_object["metadata"]["uid"].string();
    if (auto removed = remove_from_host(border, kind.resource, old); !removed) return fail(removed.error());
    return std::chrono::milliseconds(100);
  }
  const EarlierLabels earlier = earlier_labels(border, kind.kind, host_object);
  if (earlier == EarlierLabels::wait) return kEarlierLabelsWait;
  // First: what the next patch writes down of the resources is as they are by then.
  Changes changes(border, host_object["metadata"]["uid"].string());
  if (auto viewed = patch_views(border, kind, host_object, desired, changes); !viewed || *viewed) return viewed;
  const bool keep = earlier == EarlierLabels::keep;
  const Requeue again = keep ? Requeue(kEarlierLabelsWait) : Requeue();
  Document patch = make_host_patch(kind.patch_content, host_object, desired, keep);
  if (patch.root().empty()) return again;
  const std::string uid = host_object["metadata"]["uid"].string();
  const std::string version = host_object["metadata"]["resourceVersion"].string();
  std::string attempt = version + " " + patch.to_json();
  if (border.host.vain_patches.contains(uid, attempt)) return again;
  if (const auto wait = changes.wait()) return *wait;
  const auto patched = send_patch(border, kind, host_object, patch);
  if (patched) {
    if ((*patched)["metadata"]["resourceVersion"].text() == version) {
      border.host.vain_patches.add(uid, std::move(attempt));
      report_ignored_fields(border, kind, tenant_object, patch.root());
    }
    return again;
  }
  if (patched.error().is(Reason::invalid) && kind.made_anew) {
    // An immutable part changed (Secret type, immutable data): only a new object can carry it.
    kube::CachedObject old;
    old.namespace_name = border.host_place(kind);
    old.name = name;
    old.uid = host_object["metadata"]["uid"].string();
    if (auto removed = remove_from_host(border, kind.resource, old); !removed) return fail(removed.error());
    return std::chrono::milliseconds(50);
  }
  return fail(patched.error());
}

}  // namespace

Result<Requeue> apply_to_host(Border& border, const SyncedKind& kind, const kube::CachedPtr& host_cached,
                              Document desired, const Value& tenant_object, const Keep& keep) {
  const Value wanted = desired.root();
  note_written(wanted);
  if (host_cached) {
    const Document there = host_cached->document();
    // An earlier one that is ending, perhaps for long (a claim, while pods use it): its end brings the key back.
    if (there["metadata"].has("deletionTimestamp") && tenant_identity(there.root()).uid != tenant_identity(wanted).uid)
      return Requeue();
    return patch_host(border, kind, there.root(), wanted, tenant_object);
  }
  ++border.host.writes;
  const auto created = border.host.client.send(
      kube::answered_by_metadata(border.host.client.create_request(kind.resource, border.host_place(kind), wanted)));
  if (created) return Requeue();
  if (!created.error().is(Reason::already_exists)) return fail(created.error());
  // Either our cache is behind, or somebody else has the name.
  const std::string name = wanted["metadata"]["name"].string();
  const auto existing = border.host.client.get(kind.resource, border.host_place(kind), name);
  if (!existing) return fail(existing.error());
  if (!is_ours(border, existing->root())) {
    if (!has_lost_label(border, existing->root(), tenant_identity(wanted)))
      return fail(foreign_status(border, kind, name, tenant_object));
    log::warning("syncer.identity_restored", {{"kind", kind.kubernetes_kind()}, {"host_object", name}});
  }
  if (keep && keep(existing->root())) return Requeue();
  return patch_host(border, kind, existing->root(), wanted, tenant_object);
}

Outcome remove_from_host(Border& border, const kube::Resource& resource, const kube::CachedObject& host_object,
                         std::optional<int> grace_seconds) {
  kube::DeleteOptions options;
  options.uid = host_object.uid;
  options.grace_period_seconds = grace_seconds;
  options.propagation_policy = "Background";
  ++border.host.writes;
  const auto removed = border.host.client.send(kube::answered_by_metadata(
      border.host.client.remove_request(resource, host_object.namespace_name, host_object.name, options)));
  // A conflict is tried again: either the cache is behind and another object has the name by now, which the next look
  // sees, or the host was only busy with this one, which still has to go.
  if (removed || removed.error().is(Reason::not_found)) return {};
  return fail(removed.error());
}

namespace {

constexpr const char* kServicesByNamespace = "namespace";

std::string upper_name(std::string name) {
  for (char& c : name) c = c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

// "udp://10.0.0.1:53", as a kubelet writes it.
std::string url_of(const std::string& address, const Value& port) {
  std::string scheme(port["protocol"].text("TCP"));
  for (char& c : scheme) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const bool v6 = address.find(':') != std::string::npos;
  return scheme + "://" + (v6 ? "[" + address + "]" : address) + ":" + std::to_string(port["port"].integer());
}

// NAME_SERVICE_HOST and the like for the services of the pod's namespace, with their addresses on the host.
std::vector<std::pair<std::string, std::string>> service_environment(Border& border,
                                                                     std::string_view tenant_namespace) {
  std::vector<std::pair<std::string, std::string>> variables;
  const KindSides* const found = border.sides_of_key("Service");
  if (!found || !found->tenant) return variables;  // none crosses: none has an address there
  const KindSides& services = *found;
  for (const auto& cached : services.tenant->by_index(kServicesByNamespace, tenant_namespace)) {
    if (!services.kind.crosses_to_host(tenant_namespace, cached->name)) continue;
    const auto host_service =
        services.host->get(border.host_namespace(), border.host_name_of(tenant_namespace, cached->name));
    if (!host_service) continue;
    const Document document = host_service->document();
    const Value spec = document["spec"];
    const std::string address = spec["clusterIP"].string();
    if (address.empty() || address == "None" || spec["ports"].empty()) continue;
    const std::string prefix = upper_name(cached->name);
    const std::string port = std::to_string(spec["ports"].at(0)["port"].integer());
    variables.emplace_back(prefix + "_SERVICE_HOST", address);
    variables.emplace_back(prefix + "_SERVICE_PORT", port);
    variables.emplace_back(prefix + "_PORT", url_of(address, spec["ports"].at(0)));
    for (const Value entry : spec["ports"]) {
      const std::string protocol(entry["protocol"].text("TCP"));
      const std::string number = std::to_string(entry["port"].integer());
      const std::string base = prefix + "_PORT_" + number + "_" + protocol;
      const std::string port_name = upper_name(entry["name"].string());
      if (!port_name.empty()) variables.emplace_back(prefix + "_SERVICE_PORT_" + port_name, number);
      const std::string url = url_of(address, entry);
      variables.emplace_back(base, url);
      variables.emplace_back(base + "_PROTO", url.substr(0, url.find(':')));
      variables.emplace_back(base + "_PORT", number);
      variables.emplace_back(base + "_ADDR", address);
    }
  }
  std::sort(variables.begin(), variables.end());
  return variables;
}

}  // namespace

void watch_tenant_services(Border& border, KindSides& sides) {
  sides.tenant->add_index(kServicesByNamespace, [](const kube::CachedObject& service) {
    return std::vector<std::string>{service.namespace_name};
  });
  watch_tenant_by_name(border, sides);
}

namespace {

// At the end of a dotted path that goes through lists.
void find_names(const Value& value, std::string_view path, const std::string& at, std::string_view kind,
                std::vector<HostName>& into) {
  if (value.is_array()) {
    std::size_t index = 0;
    for (const Value entry : value) find_names(entry, path, at + "[" + std::to_string(index++) + "]", kind, into);
  } else if (path.empty()) {
    if (!value.text().empty()) into.push_back({std::string(kind), value.string(), at});
  } else {
    const auto member = path.substr(0, path.find('.'));
    path.remove_prefix(std::min(path.size(), member.size() + 1));
    find_names(value[member], path, at + (at.empty() ? "" : ".") + std::string(member), kind, into);
  }
}

std::vector<HostName> names_of_host_in(const SyncedKind& kind, const Value& object) {
  if (kind.custom) return host_names_in(*kind.custom, object);
  std::vector<HostName> names;
  for (const NamedPlace& place : kind.names_of_host) {
    std::vector<HostName> found;
    find_names(object, place.path, "", place.kind, found);
    for (HostName& one : found)
      if (!place.always || !place.always(one.name)) names.push_back(std::move(one));
  }
  return names;
}

bool is_named(const SyncedKind& kind, const Value& object, const HostName& named) {
  return std::ranges::any_of(names_of_host_in(kind, object),
                             [&](const HostName& one) { return one.kind == named.kind && one.name == named.name; });
}

// Where the tenant's own objects of a kind cross, a name is one of theirs; where the host's are not asked for,
// anybody's.
bool is_shown(const Border& border, bool custom, const HostName& named) {
  bool shown = true;
  for (const KindSides& one : border.kinds()) {
    if ((one.kind.custom != nullptr) != custom || one.kind.kubernetes_kind() != named.kind) continue;
    const bool wanted = is_wanted(one.kind, border.context());
    if (one.kind.direction == Direction::to_host && !custom && wanted) return true;
    if (one.kind.direction == Direction::from_host && one.host)
      shown =
          shown && wanted && (!one.kind.comes || one.kind.comes(border, named.name)) && one.host->get("", named.name);
  }
  return shown;
}

}  // namespace

std::string unshown_name(const Border& border, const SyncedKind& kind, const Value& tenant_object,
                         const kube::CachedPtr& host_cached) {
  const bool custom = kind.custom != nullptr;
  for (const HostName& named : names_of_host_in(kind, tenant_object)) {
    if (is_shown(border, custom, named)) continue;
    if (host_cached && !custom && is_named(kind, host_cached->document().root(), named)) continue;
    return named.path + ": " + named.kind + " \"" + named.name + "\" is none of those that the host shows";
  }
  return {};
}

std::optional<Translated> translate_for_host(Border& border, const SyncedKind& kind, const Value& tenant_object,
                                             Operation operation) {
  TranslateContext context = border.context();
  if (kind.kind == "Pod" && operation == Operation::create)
    context.service_environment = service_environment(border, tenant_object["metadata"]["namespace"].text());
  context.namespaces_selected = [&border](const Value& selector) { return namespaces_selected(border, selector); };
  auto translated = translate(context, kind.translated_as(), tenant_object, operation);
  if (translated) return std::move(*translated);
  ++border.counters.denied;
  std::string message;
  for (const Cause& cause : translated.error().causes)
    message += (message.empty() ? "" : "; ") + (cause.field.empty() ? "" : cause.field + ": ") + cause.message;
  record_tenant_event(border, tenant_object, "Warning", "SyncDenied", message);
  return std::nullopt;
}

}  // namespace sublet::syncer
