#include "controllers/deployment/revisions.h"

#include <algorithm>
#include <charconv>
#include <iterator>

namespace sublet::controllers {
namespace {

using schema::Document;
using schema::Value;

constexpr std::string_view kNotCopied[] = {"kubectl.kubernetes.io/last-applied-configuration",
                                           kRevision,
                                           kRevisionHistory,
                                           kDesiredReplicas,
                                           kMaxReplicas,
                                           kRollbackTo};
constexpr std::size_t kHistoryMax = 2000;  // characters

bool is_copied(std::string_view annotation) {
  return std::find(std::begin(kNotCopied), std::end(kNotCopied), annotation) == std::end(kNotCopied);
}

bool put_annotation(Value object, std::string_view name, std::string_view value) {
  auto annotations = object.object("metadata").object("annotations");
  if (const auto found = annotations[name]; found && found.text() == value) return false;
  annotations.put(name, value);
  return true;
}

/// The oldest give way when it becomes too long.
std::string longer_history(std::string history, const std::string& revision) {
  if (history.empty()) return revision;
  while (!history.empty() && history.size() + revision.size() + 1 > kHistoryMax) {
    const auto comma = history.find(',');
    history.erase(0, comma == std::string::npos ? history.size() : comma + 1);
  }
  return history.empty() ? revision : history + "," + revision;
}

Document without_hash(const Value& pod_template) {
  auto copy = Document::copy_of(pod_template);
  if (auto labels = copy["metadata"]["labels"]) labels.erase(kTemplateHash);
  return copy;
}

}  // namespace

bool same_template(const Value& a, const Value& b) { return without_hash(a).root().equals(without_hash(b).root()); }

std::int64_t revision_of(const Value& object) {
  const auto text = object["metadata"]["annotations"][kRevision].text();
  std::int64_t revision = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), revision);
  return text.empty() ? 0 : error != std::errc() || end != text.data() + text.size() ? -1 : revision;
}

bool annotate_set(Value set, const Value& deployment, std::int64_t revision) {
  bool changed = false;
  for (auto annotation : deployment["metadata"]["annotations"])
    if (is_copied(annotation.key())) changed |= put_annotation(set, annotation.key(), annotation.text());
  const auto before = set["metadata"]["annotations"][kRevision].string();
  const auto old = revision_of(set);
  if (old < 0 || old >= revision) return changed && old >= 0;
  put_annotation(set, kRevision, std::to_string(revision));
  if (!before.empty())
    put_annotation(set, kRevisionHistory,
                   longer_history(set["metadata"]["annotations"][kRevisionHistory].string(), before));
  return true;
}

bool annotate_sizes(Value set, int desired, int max) {
  const bool changed = put_annotation(set, kDesiredReplicas, std::to_string(desired));
  return put_annotation(set, kMaxReplicas, std::to_string(max)) || changed;
}

void take_annotations(Value deployment, const Value& set) {
  auto annotations = deployment.object("metadata").object("annotations");
  annotations.retain([](const Value& annotation) { return !is_copied(annotation.key()); });
  for (auto annotation : set["metadata"]["annotations"])
    if (is_copied(annotation.key())) annotations.put(annotation.key(), annotation.text());
}

}  // namespace sublet::controllers
