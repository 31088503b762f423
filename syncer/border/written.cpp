#include "syncer/border/written.h"

#include <charconv>
#include <vector>

#include "sublet/net/digest.h"
#include "sublet/syncer/translate.h"
#include "syncer/translate/reserved_keys.h"

namespace sublet::syncer {
namespace {

using schema::Value;

constexpr std::string_view kEarlierImages = "sublet.dev/tenant-images", kEarlierGates = "sublet.dev/tenant-gates",
                           kEarlierHash = "sublet.dev/desired-hash";
constexpr std::size_t kValueDigestChars = 8;
constexpr const char* kResizable[] = {"cpu", "memory"};
constexpr const char* kContainerLists[] = {"initContainers", "containers"};

template <class Take>
void each_word(std::string_view text, Take take) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (end > 0) take(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

// "<name>=<rest>"; names of containers and keys hold no '='.
std::pair<std::string_view, std::string_view> cut(std::string_view word) {
  const std::size_t at = std::min(word.find('='), word.size());
  return {word.substr(0, at), word.substr(std::min(at + 1, word.size()))};
}

Written read_present(std::string_view text) {
  Written written;
  each_word(text, [&](std::string_view word) {
    if (word.size() < 2 || word[1] != ':') return;
    const std::string_view rest = word.substr(2);
    const auto [name, digest] = cut(rest);
    switch (word[0]) {
      case 'h':
        written.hash = rest;
        return;
      case 'l':
        written.labels.emplace(name, digest);
        return;
      case 'a':
        written.annotations.emplace(name, digest);
        return;
      case 'i':
        written.images.emplace(name, digest);
        return;
      case 'r':
        written.resources.emplace(name, digest);
        return;
      case 'n':
        std::from_chars(rest.data(), rest.data() + rest.size(), written.generation);
        return;
      case 'g':
        written.gates.emplace(rest);
        return;
      default:
        return;
    }
  });
  return written;
}

Written read_earlier(const Value& annotations) {
  Written written;
  written.hash = annotations[kEarlierHash].string();
  const auto keys = [&](std::string_view annotation, Written::Digests& digests) {
    each_word(annotations[annotation].text(), [&](std::string_view key) {
      if (!of_sublet(key)) digests.emplace(key, "");
    });
  };
  keys(kEarlierLabels, written.labels);
  keys(kEarlierAnnotations, written.annotations);
  each_word(annotations[kEarlierImages].text(), [&](std::string_view word) {
    const auto [container, image] = cut(word);
    written.images.emplace(container, value_digest(image));
  });
  each_word(annotations[kEarlierGates].text(), [&](std::string_view gate) { written.gates.emplace(gate); });
  return written;
}

void append(std::string& text, char what, std::string_view name, std::string_view digest = {}) {
  if (!text.empty()) text += ' ';
  text.append(1, what).append(1, ':').append(name);
  if (!digest.empty()) text.append(1, '=').append(digest);
}

}  // namespace

std::string resources_digest(const Value& owner) {
  std::string text;
  for (const char* list : {"requests", "limits"})
    for (const char* resource : kResizable)
      if (const Value amount = owner["resources"][list][resource])
        text += std::string(list) + resource + amount.to_json();
  for (const Value policy : owner["resizePolicy"])
    if (policy["restartPolicy"].text() != "NotRequired") text += policy.to_json();
  return text.empty() ? text : value_digest(text);
}

std::string value_digest(std::string_view value) { return net::sha256_hex(value, kValueDigestChars); }

bool unchanged(const Written::Digests& written, std::string_view key, std::string_view now) {
  const auto found = written.find(key);
  return found != written.end() && (found->second.empty() || found->second == value_digest(now));
}

bool of_earlier_version(const Value& host_object) {
  return host_object["metadata"]["annotations"].has(kEarlierAnnotations);
}

bool keeps_earlier_labels(const Value& host_object) {
  return host_object["metadata"]["annotations"].has(kEarlierLabels);
}

Written Written::on(const Value& host_object) {
  const Value annotations = host_object["metadata"]["annotations"];
  Written written = read_present(annotations[kAnnotationWritten].text());
  if (!annotations.has(kEarlierLabels)) return written;
  Written earlier = read_earlier(annotations);
  if (of_earlier_version(host_object)) return earlier;
  written.labels.merge(earlier.labels);
  return written;
}

Written Written::of(const Value& desired) {
  const Value metadata = desired["metadata"];
  Written written = read_present(metadata["annotations"][kAnnotationWritten].text());
  for (const Value label : metadata["labels"])
    if (!of_sublet(label.key())) written.labels[std::string(label.key())] = value_digest(label.text());
  for (const Value annotation : metadata["annotations"])
    if (!of_sublet(annotation.key()))
      written.annotations[std::string(annotation.key())] = value_digest(annotation.text());
  for (const char* list : kContainerLists)
    for (const Value container : desired["spec"][list]) {
      written.images[container["name"].string()] = value_digest(container["image"].text());
      if (std::string digest = resources_digest(container); !digest.empty())
        written.resources[container["name"].string()] = std::move(digest);
    }
  if (std::string digest = resources_digest(desired["spec"]); !digest.empty())
    written.resources[""] = std::move(digest);
  for (const Value gate : desired["spec"]["schedulingGates"]) written.gates.insert(gate["name"].string());
  return written;
}

std::string Written::text() const {
  std::string text;
  if (!hash.empty()) append(text, 'h', hash);
  if (generation > 0) append(text, 'n', std::to_string(generation));
  for (const auto& [key, digest] : labels) append(text, 'l', key, digest);
  for (const auto& [key, digest] : annotations) append(text, 'a', key, digest);
  for (const auto& [container, digest] : images) append(text, 'i', container, digest);
  for (const auto& [container, digest] : resources) append(text, 'r', container, digest);
  for (const std::string& gate : gates) append(text, 'g', gate);
  return text;
}

}  // namespace sublet::syncer
