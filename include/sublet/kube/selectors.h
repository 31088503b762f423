// Selectors: label and field selectors as Kubernetes parses and matches them. Pure values, no I/O, any thread.
//
// Three sources: the query text ("app=web,tier in (a,b),!legacy"), a LabelSelector object (matchLabels,
// matchExpressions), and NodeSelectorTerm expressions (which add Gt and Lt). One matcher serves all, over whatever
// holds the labels: a JSON object, or the store's sorted pairs. Source: upstream's apimachinery/pkg/labels and
// pkg/fields.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sublet/base/status.h"
#include "sublet/schema/document.h"

namespace sublet::kube {

enum class SelectorOperator { in, not_in, exists, not_exists, greater, less };

/// One condition on one key. `in` and `not_in` hold one or more values, `greater` and `less` one integer.
struct SelectorRequirement {
  std::string key;
  SelectorOperator op = SelectorOperator::exists;
  std::vector<std::string> values;

  /// `value` is nullopt when the label is absent. An absent label matches not_in and not_exists.
  bool matches(std::optional<std::string_view> value) const;
};

/// All requirements must match; none at all matches everything.
class LabelSelector {
 public:
  /// Query text. "" selects everything. bad_request in upstream's words when malformed.
  static Result<LabelSelector> parse(std::string_view text);
  /// A metav1.LabelSelector. Missing or null selects nothing, {} everything.
  static Result<LabelSelector> from_object(const schema::Value& selector);
  /// A plain map of labels, all of which must be equal (nodeSelector, Service selectors).
  static LabelSelector from_map(const schema::Value& labels);
  /// A list of {key, operator, values} as in matchExpressions of a LabelSelector or a NodeSelectorTerm (Gt, Lt too).
  static Result<LabelSelector> from_expressions(const schema::Value& expressions);
  static LabelSelector nothing();

  bool everything() const { return !nothing_ && requirements_.empty(); }
  const std::vector<SelectorRequirement>& requirements() const { return requirements_; }

  /// `labels` is an object of strings, e.g. metadata.labels; missing counts as empty.
  bool matches(const schema::Value& labels) const;
  bool matches(std::span<const std::pair<std::string, std::string>> labels) const;
  bool matches(const std::function<std::optional<std::string_view>(std::string_view key)>& label) const;

 private:
  std::vector<SelectorRequirement> requirements_;
  bool nothing_ = false;
};

/// One term of a field selector: `path=value` or `path!=value`.
struct FieldTerm {
  std::string path, value;
  bool negated = false;
};

class FieldSelector {
 public:
  /// "" selects everything. Backslash escapes ',', '=' and '\' in values. Whether a path may be selected on is the
  /// resource's business: check terms().
  static Result<FieldSelector> parse(std::string_view text);

  bool everything() const { return terms_.empty(); }
  const std::vector<FieldTerm>& terms() const { return terms_; }
  /// The value that `path` must equal, when some term says so: lets a server look up by name instead of scanning.
  std::optional<std::string_view> required(std::string_view path) const;

  /// An absent field counts as "", as upstream's field sets do.
  bool matches(const std::function<std::string_view(std::string_view path)>& field) const;

 private:
  std::vector<FieldTerm> terms_;
};

/// The rules for label keys ("example.com/name") and values; the failure's text in upstream's words, empty when valid.
std::string check_label_key(std::string_view key);
std::string check_label_value(std::string_view value);

}  // namespace sublet::kube
