// Objects: builders of Kubernetes objects for tests, in place of JSON texts:
//
//   pod("web").label("app", "web").node("n1").env("A", "1").request("cpu", "1").json()
//
// A builder sets what the test is about; everything else is what pod() gives: one container "c" of the image "i".
// spec() and metadata() take any other member as JSON. Threads: one.
#pragma once

#include <string>
#include <string_view>

#include "sublet/schema/document.h"
#include "tests/support/parse_json.h"

namespace sublet::testing_support {

/// What every kind's builder has. `Builder` is the derived class.
template <class Builder>
class ObjectBuilder {
 public:
  Builder& in(std::string_view namespace_name) { return put(root()["metadata"], "namespace", namespace_name); }
  Builder& label(std::string_view key, std::string_view value) {
    return put(root()["metadata"].object("labels"), key, value);
  }
  Builder& annotation(std::string_view key, std::string_view value) {
    return put(root()["metadata"].object("annotations"), key, value);
  }
  Builder& finalizer(std::string_view name) {
    root()["metadata"].array("finalizers").push(name);
    return self();
  }
  /// Any member of metadata or spec, as JSON.
  Builder& metadata(std::string_view member, std::string_view json) { return put_json("metadata", member, json); }
  Builder& spec(std::string_view member, std::string_view json) { return put_json("spec", member, json); }

  std::string json() const { return document_.to_json(); }
  operator std::string() const { return json(); }  // NOLINT(google-explicit-constructor): a body where one is wanted

 protected:
  ObjectBuilder(std::string_view api_version, std::string_view kind, std::string_view name) {
    root().put("apiVersion", api_version);
    root().put("kind", kind);
    root().object("metadata").put("name", name);
  }
  schema::Value root() const { return document_.root(); }
  Builder& self() { return static_cast<Builder&>(*this); }
  Builder& put(schema::Value object, std::string_view key, std::string_view value) {
    object.put(key, value);
    return self();
  }

 private:
  Builder& put_json(std::string_view part, std::string_view member, std::string_view json) {
    root().object(part).put(member, parse_json(json).root());
    return self();
  }
  schema::Document document_ = schema::Document::object();
};

class PodBuilder : public ObjectBuilder<PodBuilder> {
 public:
  explicit PodBuilder(std::string_view name) : ObjectBuilder("v1", "Pod", name) {
    schema::Value first = root().object("spec").array("containers").push_object();
    first.put("name", "c");
    first.put("image", "i");
  }
  PodBuilder& node(std::string_view name) { return put(root()["spec"], "nodeName", name); }
  PodBuilder& without_token() {
    root()["spec"].put("automountServiceAccountToken", false);
    return *this;
  }
  // Of the first container.
  PodBuilder& image(std::string_view image) { return put(container(), "image", image); }
  PodBuilder& env(std::string_view name, std::string_view value) {
    schema::Value variable = container().array("env").push_object();
    variable.put("name", name);
    return put(variable, "value", value);
  }
  PodBuilder& request(std::string_view resource, std::string_view amount) {
    return put(container().object("resources").object("requests"), resource, amount);
  }
  PodBuilder& limit(std::string_view resource, std::string_view amount) {
    return put(container().object("resources").object("limits"), resource, amount);
  }

 private:
  schema::Value container() const { return root()["spec"]["containers"].at(0); }
};

inline PodBuilder pod(std::string_view name) { return PodBuilder(name); }

}  // namespace sublet::testing_support
