// PodControl: makes and removes the pods of an owner, and says so in events about it.
//
// Pods are made by slow start: one, then two, four ... at once for as long as all succeed, so that what refuses one
// (a quota) is not asked five hundred times. Threads: any; blocks until the API has answered.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "controllers/runtime/object_ref.h"
#include "sublet/controllers/controller.h"

namespace sublet::controllers {

/// The pod that a template describes, with the owner as its controller and a name to be generated after it.
schema::Document pod_from_template(const schema::Value& pod_template, const ObjectRef& owner);

/// Whether the API refused because the namespace is going: nothing more will be made there.
bool is_namespace_ending(const Status& status);

struct Created {
  int count = 0;                // how many were made
  std::optional<Status> error;  // the first
};

class PodControl {
 public:
  explicit PodControl(const Context& context) : context_(context) {}

  using Make = std::function<schema::Document(int index)>;
  /// Up to `count` pods, by slow start. Where the namespace is going nothing is made and nothing is wrong.
  Created create(const ObjectRef& owner, int count, const Make& make) const;
  /// One pod; the answer as it came, with the event said.
  Result<schema::Document> create(const ObjectRef& owner, const schema::Value& pod) const;
  /// All at once; pods that are gone already are as good. The first error.
  Outcome remove(const ObjectRef& owner, const std::vector<std::string>& names) const;

 private:
  void say_created(const ObjectRef& owner, const Result<schema::Document>& result) const;

  const Context& context_;
};

}  // namespace sublet::controllers
