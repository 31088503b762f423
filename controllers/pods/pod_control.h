// PodControl: creates and deletes the pods of an owner and records events about it.
//
// Pods are created by slow start: one, then two, four and so on at once while all succeed. So a quota that refuses one
// pod does not get five hundred requests. Threads: any; blocks until the API has answered.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "controllers/runtime/object_ref.h"
#include "sublet/controllers/controller.h"

namespace sublet::controllers {

/// Returns the template's pod with the owner as its controller and a generateName from the owner's name.
schema::Document pod_from_template(const schema::Value& pod_template, const ObjectRef& owner);

struct Created {
  int count = 0;
  std::optional<Status> error;  // the first
};

class PodControl {
 public:
  explicit PodControl(const Context& context) : context_(context) {}

  using Make = std::function<schema::Document(int index)>;
  /// Creates up to `count` pods by slow start. In a terminating namespace it creates none, without an error.
  Created create(const ObjectRef& owner, int count, const Make& make) const;
  /// Creates one pod, records the event and returns the answer.
  Result<schema::Document> create(const ObjectRef& owner, const schema::Value& pod) const;
  /// Deletes all at once. Pods that are missing count as deleted. Returns the first error.
  Outcome remove(const ObjectRef& owner, const std::vector<std::string>& names) const;

 private:
  void record_created(const ObjectRef& owner, const Result<schema::Document>& result) const;

  const Context& context_;
};

}  // namespace sublet::controllers
