// AdmissionRequest: one write as policies and webhooks see it: an AdmissionRequest of admission.k8s.io, with the object
// in any version of its resource.
//
// A view of an Attempt, valid as long as that is. Internal to admission/.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/admission/plugins.h"

namespace sublet::apiserver {

struct Conversion;  // conversion/conversion.h

struct KindName {
  std::string_view group, version, kind;
};

/// The version (and group) of the request's resource that a rule has named.
struct MatchedResource {
  const schema::ResourceFacts* resource = nullptr;
  KindName kind;
};

class AdmissionRequest {
 public:
  explicit AdmissionRequest(const Attempt& attempt);

  const Attempt& attempt() const { return attempt_; }
  std::string_view operation() const { return operation_; }  // CREATE, UPDATE, DELETE, CONNECT
  /// As the client named it.
  const schema::ResourceFacts& resource() const { return served_; }
  MatchedResource asked() const { return {&served_, kind_of(served_)}; }
  std::string_view subresource() const { return attempt_.context.subresource; }
  std::string_view name() const { return name_; }                 // empty: to be generated
  std::string_view namespace_name() const { return namespace_; }  // of a namespace, its own
  bool is_scale() const { return attempt_.verb == WriteVerb::update && subresource() == "scale"; }
  bool is_namespace() const { return served_.group.empty() && served_.resource == "namespaces"; }
  /// The other versions and groups in which the same resource is served, with the same subresource.
  std::vector<const schema::ResourceFacts*> equivalents() const;
  /// Of what the endpoint takes in that version; of a subresource, its own kind.
  KindName kind_of(const schema::ResourceFacts& resource) const;

  /// The object as it would be, and as it was, with apiVersion and kind; a null document: there is none.
  schema::Document object_as(const MatchedResource& matched) const;
  schema::Document old_as(const MatchedResource& matched) const;
  /// Whether somebody else who converts the objects can bring them into that version; matching asks it.
  Outcome check_version(const MatchedResource& matched) const;
  /// Makes a changed object_as() the attempt's: in its form, with defaults. False: nothing has changed.
  Result<bool> take(const MatchedResource& matched, schema::Value changed) const;

  /// AdmissionRequest's members without uid and objects, in Go's order but for those; `objects` are then in their
  /// place.
  schema::Document document(const MatchedResource& matched) const;

 private:
  Outcome convert_outside(const Conversion& conversion, schema::Value object) const;
  schema::Document in_version(const MatchedResource& matched, const schema::Value& stored) const;

  const Attempt& attempt_;
  const schema::ResourceFacts& served_;
  const std::string_view operation_;
  std::string_view name_, namespace_;
};

/// `<resource> "<name>" is forbidden: <why>`, of the resource as it was asked for.
Status forbidden_request(const AdmissionRequest& request, std::string_view why);

}  // namespace sublet::apiserver
