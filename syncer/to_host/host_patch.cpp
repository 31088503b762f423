#include "syncer/to_host/host_patch.h"

#include <algorithm>
#include <array>
#include <sstream>
#include <string>
#include <vector>

#include "sublet/patches/patch.h"
#include "sublet/syncer/translate.h"

namespace sublet::syncer {
namespace {

using schema::Document;
using schema::Value;

std::string joined_keys(const Value& map) {
  std::vector<std::string> keys;
  for (const Value entry : map) keys.emplace_back(entry.key());
  std::sort(keys.begin(), keys.end());
  std::string text;
  for (const auto& key : keys) text += (text.empty() ? "" : " ") + key;
  return text;
}

std::vector<std::string> split_keys(std::string_view text) {
  std::istringstream words{std::string(text)};
  std::vector<std::string> keys;
  for (std::string word; words >> word;) keys.push_back(word);
  return keys;
}

// Sets what is desired and differs; removes what we wrote before and no longer want.
void patch_map(const Value& host_map, const Value& desired_map, std::string_view owned_before, Value metadata_patch,
               std::string_view member) {
  Document changes = Document::object();
  for (const Value entry : desired_map)
    if (!host_map[entry.key()].equals(entry)) changes.root().put(entry.key(), entry);
  for (const auto& key : split_keys(owned_before))
    if (!desired_map.has(key) && host_map.has(key)) changes.root().put(key, Value());
  if (!changes.root().empty()) metadata_patch.put(member, changes.root());
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

std::string image_entry(const Value& container) {
  return container["name"].string() + "=" + container["image"].string();
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
void patch_containers(const Value& host_spec, const Value& desired_spec, const std::vector<std::string>& images_before,
                      std::string_view list, Value spec_patch) {
  Document containers = Document::copy_of(host_spec[list]);
  bool changed = false;
  for (Value container : containers.root()) {
    for (const Value wanted : desired_spec[list]) {
      if (wanted["name"].text() != container["name"].text() || wanted["image"].equals(container["image"])) continue;
      if (std::find(images_before.begin(), images_before.end(), image_entry(wanted)) != images_before.end()) continue;
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

// A gate that the tenant has removed goes; gates that the host has set are the host's to remove.
void patch_gates(const Value& host_object, const Value& desired_spec, Value spec_patch) {
  const auto ours = split_keys(host_object["metadata"]["annotations"]["sublet.dev/tenant-gates"].text());
  Document gates = Document::copy_of(host_object["spec"]["schedulingGates"]);
  if (!gates.root().is_array()) return;
  const std::size_t before = gates.root().size();
  gates.root().retain([&](const Value& gate) {
    const std::string name = gate["name"].string();
    if (std::find(ours.begin(), ours.end(), name) == ours.end()) return true;
    return std::any_of(desired_spec["schedulingGates"].begin(), desired_spec["schedulingGates"].end(),
                       [&](const Value& wanted) { return wanted["name"].text() == name; });
  });
  if (gates.root().size() != before) spec_patch.put("schedulingGates", gates.root());
}

Document pod_spec_patch(const Value& host_pod, const Value& desired) {
  Document patch = Document::object();
  const Value host_spec = host_pod["spec"], desired_spec = desired["spec"];
  patch_deadline(host_spec, desired_spec, patch.root());
  const Value host_annotations = host_pod["metadata"]["annotations"];
  const auto images_before = split_keys(host_annotations[kAnnotationTenantImages].text());
  for (const std::string_view list : {"initContainers", "containers"})
    patch_containers(host_spec, desired_spec, images_before, list, patch.root());
  // Those that a host took away at creation are not asked for again at every look.
  if (!host_annotations[kAnnotationDesiredHash].equals(desired["metadata"]["annotations"][kAnnotationDesiredHash]))
    patch_tolerations(host_spec, desired_spec, patch.root());
  patch_gates(host_pod, desired_spec, patch.root());
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

void note_owned_keys(Value desired) {
  Value metadata = desired.object("metadata");
  const std::string labels = joined_keys(metadata["labels"]);
  Value annotations = metadata.object("annotations");
  annotations.put(kAnnotationOwnedLabels, labels);
  std::string gates;
  for (const Value gate : desired["spec"]["schedulingGates"])
    gates += (gates.empty() ? "" : " ") + gate["name"].string();
  if (!gates.empty()) annotations.put("sublet.dev/tenant-gates", gates);
  std::string images;
  for (const std::string_view list : {"initContainers", "containers"})
    for (const Value container : desired["spec"][list]) images += (images.empty() ? "" : " ") + image_entry(container);
  if (!images.empty()) annotations.put(kAnnotationTenantImages, images);
  annotations.put(kAnnotationOwnedAnnotations, joined_keys(annotations));
}

Document make_host_patch(PatchContent patch_content, const Value& host_object, const Value& desired) {
  Document patch = Document::object();
  const Value host_metadata = host_object["metadata"];
  Document metadata = Document::object();
  const Value host_annotations = host_metadata["annotations"];
  patch_map(host_metadata["labels"], desired["metadata"]["labels"], host_annotations[kAnnotationOwnedLabels].text(),
            metadata.root(), "labels");
  patch_map(host_annotations, desired["metadata"]["annotations"], host_annotations[kAnnotationOwnedAnnotations].text(),
            metadata.root(), "annotations");
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

void patch_service_spec(const Value& host_service, const Value& desired, Value patch) {
  put_spec(service_spec_patch(host_service, desired), patch);
}

void patch_data(const Value& host_object, const Value& desired, Value patch) {
  patch_fields(host_object, desired, {"data", "binaryData", "immutable", "type"}, patch);
}

}  // namespace sublet::syncer
