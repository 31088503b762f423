#include "syncer/to_host/host_patch.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "sublet/patches/patch.h"
#include "sublet/schema/member_index.h"
#include "sublet/syncer/translate.h"
#include "syncer/border/written.h"
#include "syncer/translate/metadata.h"
#include "syncer/translate/reserved_keys.h"

namespace sublet::syncer {
namespace {

using schema::Document;
using schema::Value;

// Sets what is desired and differs, and removes what we wrote before and no longer want. Keys of sublet.dev are ours
// alone; under any other key a value that the host has written stays, whatever we want. A fact stays where it is: a
// volume of an earlier version's pod may name it, and no volume of a pod can change.
void patch_entries(const Value& host, const Value& desired, const Written::Digests& before, Value metadata_patch,
                   std::string_view member) {
  Document changes = Document::object();
  const schema::MemberIndex host_members(host), desired_members(desired);
  const auto ours = [&](const Value& there) {
    return of_sublet(there.key()) || unchanged(before, there.key(), there.text());
  };
  for (const Value wanted : desired) {
    const Value there = host_members.find(wanted.key());
    if (there.missing() || (ours(there) && !there.equals(wanted))) changes.root().add_member(wanted.key()).set(wanted);
  }
  for (const Value there : host)
    if (desired_members.find(there.key()).missing() && ours(there) && !there.key().starts_with(kFactPrefix))
      changes.root().add_member(there.key());
  if (!changes.root().empty()) metadata_patch.put(member, changes.root());
}

// Of what would be written, the host has some already: that stays as it is, and what was said of it before, too.
void leave_to_host(const Value& host, const Written::Digests& before, Written::Digests& now) {
  const schema::MemberIndex host_members(host);
  for (auto entry = now.begin(); entry != now.end();) {
    const Value there = host_members.find(entry->first);
    const auto claimed = before.find(entry->first);
    const bool theirs = !there.missing() && !unchanged(before, entry->first, there.text());
    if (theirs && claimed != before.end()) entry->second = claimed->second;
    entry = theirs && claimed == before.end() ? now.erase(entry) : std::next(entry);
  }
}

// Fields of which the desired value replaces the host's whole.
void patch_fields(const Value& host, const Value& desired, std::initializer_list<std::string_view> fields,
                  Value patch) {
  for (const std::string_view field : fields) {
    const Value now = host[field], want = desired[field];
    if (now.missing() && want.missing()) continue;
    if (want.missing()) {
      patch.put(field, Value());
    } else if (now.missing()) {
      patch.put(field, want);
    } else if (!now.equals(want)) {
      // A merge patch adds to maps: remove what is no longer there.
      if (now.is_object() && want.is_object())
        patch.put(field, patches::make_merge_patch(now, want).root());
      else
        patch.put(field, want);
    }
  }
}

// A deadline can only be set or shortened; one that the host gave, or a shorter one, is the host's wish.
void patch_deadline(const Value& host_spec, const Value& desired_spec, Value spec_patch) {
  const Value now = host_spec["activeDeadlineSeconds"], want = desired_spec["activeDeadlineSeconds"];
  if (want.missing() || (!now.missing() && now.integer() <= want.integer())) return;
  spec_patch.put("activeDeadlineSeconds", want);
}

// Images, deadline, tolerations and gates: what a running pod may still change. Containers are matched by name in a
// copy of the host's list, so that injected ones stay.
// An image that is as the tenant wanted it before is not touched, whatever stands on the host: hosts rewrite images to
// their mirrors.
void patch_containers(const Value& host_spec, const Value& desired_spec, const Written& before, std::string_view list,
                      Value spec_patch) {
  Document containers = Document::copy_of(host_spec[list]);
  bool changed = false;
  for (Value container : containers.root()) {
    for (const Value wanted : desired_spec[list]) {
      if (wanted["name"].text() != container["name"].text() || wanted["image"].equals(container["image"])) continue;
      if (unchanged(before.images, wanted["name"].text(), wanted["image"].text())) continue;
      container.put("image", wanted["image"]);
      changed = true;
    }
  }
  if (changed) spec_patch.put(list, containers.root());
}

void patch_tolerations(const Value& host_spec, const Value& desired_spec, Value spec_patch) {
  Document tolerations = Document::copy_of(host_spec["tolerations"]);
  if (!tolerations.root().is_array()) tolerations.root().make_array();
  bool changed = false;
  for (const Value wanted : desired_spec["tolerations"]) {
    const bool there = std::any_of(tolerations.root().begin(), tolerations.root().end(),
                                   [&](const Value& toleration) { return toleration.equals(wanted); });
    if (there) continue;
    tolerations.root().push(wanted);
    changed = true;
  }
  if (changed) spec_patch.put("tolerations", tolerations.root());
}

// Removes gates that the tenant has removed. Gates that the host has set are the host's to remove. A pod of an earlier
// version has the tenant's gates under the tenant's names.
void patch_gates(const Value& host_spec, const Value& desired_spec, const Written& before, Value spec_patch) {
  Document gates = Document::copy_of(host_spec["schedulingGates"]);
  if (!gates.root().is_array()) return;
  const std::size_t there = gates.root().size();
  gates.root().retain([&](const Value& gate) {
    const std::string_view name = gate["name"].text();
    if (!before.gates.contains(name)) return true;
    return std::any_of(desired_spec["schedulingGates"].begin(), desired_spec["schedulingGates"].end(),
                       [&](const Value& wanted) {
                         return wanted["name"].text() == name || wanted["name"].text() == host_gate_name(name);
                       });
  });
  if (gates.root().size() != there) spec_patch.put("schedulingGates", gates.root());
}

// Sets what is wanted of the two resources; whether it did.
bool take_resources(Value owner, const Value& wanted) {
  bool changed = false;
  for (const std::string_view list : {"requests", "limits"})
    for (const std::string_view resource : {"cpu", "memory"}) {
      const Value amount = wanted["resources"][list][resource];
      if (!amount || amount.equals(owner["resources"][list][resource])) continue;
      owner.object("resources").object(list).put(resource, amount);
      changed = true;
    }
  const Value policies = wanted["resizePolicy"];
  if (!policies || policies.equals(owner["resizePolicy"])) return changed;
  owner.put("resizePolicy", policies);
  return true;
}

bool resized(const Written& before, std::string_view name, const Value& wanted) {
  const std::string now = resources_digest(wanted);
  const auto known = before.resources.find(name);
  if (now.empty()) return false;
  // What an earlier version wrote says nothing of resources: until that is written down, they are the host's.
  return known != before.resources.end() ? known->second != now : before.generation > 0;
}

void resize_containers(const Value& host_containers, const Value& wanted, const Written& before, std::string_view list,
                       Value spec_patch) {
  const auto is_resized = [&](const Value& one) { return resized(before, one["name"].text(), one); };
  if (std::none_of(wanted.begin(), wanted.end(), is_resized)) return;  // nearly always: no copy is made
  const Document containers = Document::copy_of(host_containers);
  bool changed = false;
  for (Value container : containers.root())
    for (const Value one : wanted)
      if (one["name"].equals(container["name"]) && is_resized(one)) changed = take_resources(container, one) || changed;
  if (changed) spec_patch.put(list, containers.root());
}

Document resources_patch(const Value& host_pod, const Value& desired) {
  Document patch = Document::object();
  const Written before = Written::on(host_pod);
  for (const std::string_view list : {"initContainers", "containers"})
    resize_containers(host_pod["spec"][list], desired["spec"][list], before, list, patch.root());
  if (!resized(before, "", desired["spec"])) return patch;
  const Document spec = Document::object();
  if (const Value now = host_pod["spec"]["resources"]) spec.root().put("resources", now);
  if (take_resources(spec.root(), desired["spec"])) patch.root().put("resources", spec["resources"]);
  return patch;
}

Document ephemeral_containers_patch(const Value& host_pod, const Value& desired) {
  Document patch = Document::object();
  const std::string_view list = "ephemeralContainers";
  if (desired["spec"][list].empty()) return patch;
  Document containers = Document::copy_of(host_pod["spec"][list]);
  if (!containers.root().is_array()) containers.root().make_array();
  const std::size_t there = containers.root().size();
  for (const Value wanted : desired["spec"][list])
    if (std::none_of(containers.root().begin(), containers.root().end(),
                     [&](const Value& container) { return container["name"].equals(wanted["name"]); }))
      containers.root().push(wanted);
  if (containers.root().size() != there) patch.root().put(list, containers.root());
  return patch;
}

Document pod_spec_patch(const Value& host_pod, const Value& desired) {
  Document patch = Document::object();
  const Value host_spec = host_pod["spec"], desired_spec = desired["spec"];
  patch_deadline(host_spec, desired_spec, patch.root());
  const Written before = Written::on(host_pod);
  for (const std::string_view list : {"initContainers", "containers"})
    patch_containers(host_spec, desired_spec, before, list, patch.root());
  // Those that a host took away at creation are not asked for again at every look.
  if (before.hash != Written::of(desired).hash) patch_tolerations(host_spec, desired_spec, patch.root());
  patch_gates(host_spec, desired_spec, before, patch.root());
  return patch;
}

Document service_spec_patch(const Value& host_service, const Value& desired) {
  Document patch = Document::object();
  for (const Value field : desired["spec"]) {
    const Value now = host_service["spec"][field.key()];
    if (field.key() == "ports") {
      Document ports = Document::copy_of(field);
      // Node ports are the host's: keep those of the ports that stay.
      for (Value port : ports.root())
        for (const Value old : now)
          if (old["port"].equals(port["port"]) && old["protocol"].text("TCP") == port["protocol"].text("TCP") &&
              old.has("nodePort"))
            port.put("nodePort", old["nodePort"]);
      if (!now.equals(ports.root())) patch.root().put("ports", ports.root());
    } else if (!now.equals(field)) {
      patch_fields(host_service["spec"], desired["spec"], {field.key()}, patch.root());
    }
  }
  patch_fields(host_service["spec"], desired["spec"], {"selector"}, patch.root());
  return patch;
}

}  // namespace

void note_written(Value desired) {
  const std::string text = Written::of(desired).text();
  if (!text.empty()) desired.object("metadata").object("annotations").put(kAnnotationWritten, text);
}

Document make_host_patch(PatchContent patch_content, const Value& host_object, const Value& desired,
                         bool keep_earlier_labels) {
  Document patch = Document::object(), metadata = Document::object();
  const Written before = Written::on(host_object);
  Written now = Written::of(desired);
  const Value host_labels = host_object["metadata"]["labels"],
              host_annotations = host_object["metadata"]["annotations"];
  leave_to_host(host_labels, before.labels, now.labels);
  leave_to_host(host_annotations, before.annotations, now.annotations);
  patch_entries(host_labels, desired["metadata"]["labels"], keep_earlier_labels ? Written::Digests() : before.labels,
                metadata.root(), "labels");
  Document annotations = Document::copy_of(desired["metadata"]["annotations"]);
  if (!annotations.root().is_object()) annotations.root().make_object();
  annotations.root().erase(kAnnotationWritten);
  if (const std::string text = now.text(); !text.empty()) annotations.root().put(kAnnotationWritten, text);
  if (keep_earlier_labels) annotations.root().put(kEarlierLabels, host_annotations[kEarlierLabels]);
  patch_entries(host_annotations, annotations.root(), before.annotations, metadata.root(), "annotations");
  if (!metadata.root().empty()) patch.root().put("metadata", metadata.root());
  patch_content(host_object, desired, patch.root());
  return patch;
}

namespace {

void put_spec(const Document& spec, Value patch) {
  if (!spec.root().empty()) patch.put("spec", spec.root());
}

}  // namespace

void patch_pod_spec(const Value& host_pod, const Value& desired, Value patch) {
  put_spec(pod_spec_patch(host_pod, desired), patch);
}

void patch_ephemeral_containers(const Value& host_pod, const Value& desired, Value patch) {
  put_spec(ephemeral_containers_patch(host_pod, desired), patch);
}

void patch_resources(const Value& host_pod, const Value& desired, Value patch) {
  put_spec(resources_patch(host_pod, desired), patch);
}

void patch_service_spec(const Value& host_service, const Value& desired, Value patch) {
  put_spec(service_spec_patch(host_service, desired), patch);
}

void patch_data(const Value& host_object, const Value& desired, Value patch) {
  patch_fields(host_object, desired, {"data", "binaryData", "immutable", "type"}, patch);
}

}  // namespace sublet::syncer
