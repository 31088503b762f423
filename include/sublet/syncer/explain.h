// explain: why a host object differs from its tenant's, field by field: which row of the border, or which patch of the
// template, said so. The same translate() that carries the object is asked, so there is one answer. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sublet/syncer/translate.h"

namespace sublet::syncer {

struct ExplainedField {
  enum class Cause {
    row,     // the border's table
    border,  // the border's own: names, labels, what the host needs
    patch,   // the template
    host,    // the host itself: defaults, webhooks, its scheduler
  };
  std::string path;          // "spec.containers[0].image"
  std::string tenant, host;  // as JSON; "" where it is not there
  Cause cause = Cause::row;
  std::string action;  // of the row: "rewrite", "drop" ...
  std::string why;     // in a sentence, where the row says it
  std::string patch;   // of the template: the last that wrote it
};

struct Explanation {
  std::string host_namespace, host_name;
  std::vector<ExplainedField> fields;  // in the order of the tenant's object, then what the host has beside it
  std::vector<std::string> warnings;
  std::vector<Cause> denied;  // it does not cross: nothing else is said
};

/// `on_host`: the host's object as it is; missing: there is none, or nobody asked.
Explanation explain(const TranslateContext& context, std::string_view kind, const schema::Value& tenant_object,
                    const schema::Value& on_host);

}  // namespace sublet::syncer
