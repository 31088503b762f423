// FlowSchema: one compiled FlowSchema object: which requests match it, and how their flows are distinguished.
//
// Immutable, except its metrics. Threads: any; matching allocates nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/authz/attributes.h"
#include "apiserver/flowcontrol/priority_level.h"
#include "apiserver/request/seat.h"
#include "sublet/base/metrics.h"
#include "sublet/schema/document.h"

namespace sublet::apiserver {

class FlowSchema {
 public:
  static FlowSchema read(const schema::Value& object);

  bool matches(const Attributes& attributes) const;
  /// Requests with the same value are one flow.
  std::uint64_t flow_of(const Attributes& attributes) const;

  std::string name, uid, level_name;
  std::int64_t precedence = 0;

 private:
  enum class Distinguisher : std::uint8_t { none, by_user, by_namespace };
  enum class SubjectKind : std::uint8_t { user, group, account };
  struct Subject {
    SubjectKind kind;
    std::string name, namespace_name;
    bool is(const User& user) const;
  };
  /// Members of a list; `all`: it is ["*"].
  struct Names {
    std::vector<std::string> names;
    bool all = false;
    static Names read(const schema::Value& list);
    bool contains(std::string_view wanted) const;
  };
  struct ResourceRule {
    Names verbs, groups, resources, namespaces;
    bool cluster_scope = false;
    bool matches(const Attributes& attributes) const;
  };
  struct PathRule {
    Names verbs;
    std::vector<std::string> paths;
    bool matches(const Attributes& attributes) const;
  };
  struct Rule {
    std::vector<Subject> subjects;
    std::vector<ResourceRule> resources;
    std::vector<PathRule> paths;
    bool matches(const Attributes& attributes) const;
  };
  static Rule read_rule(const schema::Value& rule);

  Distinguisher distinguisher_ = Distinguisher::none;
  std::vector<Rule> rules_;
};

/// A schema with its level, as requests are sorted by it: alive as long as one of them is.
struct Flow : FlowMark {
  bool exempt = false;  // as it was when requests began to be sorted by it
  std::shared_ptr<const FlowSchema> schema;
  std::shared_ptr<PriorityLevel> level;
  metrics::Counter* dispatched = nullptr;
  metrics::Gauge *executing = nullptr, *in_queue = nullptr;
};

}  // namespace sublet::apiserver
