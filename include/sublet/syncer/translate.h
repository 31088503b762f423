// Translate: tenant object to host object, pure.
//
// Built from an explicit field table (syncer/translate/fields_*.cpp): every leaf of every synced type has one of copy,
// rewrite, clamp, force, drop, warn, deny; a leaf of the schema without one fails the build. The syncer and admission
// in the tenant's apiserver, dry run included, call translate(), so there is one answer. Order: tenant object -> field
// table -> template patches -> border rows (force, strip, refuse) that patches cannot get around -> the final pod
// against the Pod Security Standard that the template asks for (baseline by default). No I/O, no clock, no globals.
// Threads: immutable inputs, any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sublet/schema/document.h"
#include "sublet/syncer/host_name.h"
#include "sublet/syncer/translate_context.h"

namespace sublet::syncer {

/// A reason why an object may not cross the border; becomes the admission error at the tenant's API server.
struct Denied {
  std::vector<Cause> causes;  // field, and why in a sentence
};

struct Translated {
  schema::Document host_object;
  std::vector<Reference> references;
  std::vector<TokenRequest> tokens;
  std::vector<std::string> warnings;
  std::string desired_hash;  // over the host object's owned content; also in its kAnnotationWritten
};

/// The kinds are those of docs/synced-kinds.md that go to the host; a custom resource by its definition's name.
/// `tenant_object` is the object in its stored form with apiVersion and kind.
tl::expected<Translated, Denied> translate(const TranslateContext& context, std::string_view kind,
                                           const schema::Value& tenant_object, Operation operation);

/// Why a Service may not be written so: it chooses a cluster IP or a node port, which the host gives. What the host
/// gave stands in `old` (missing: the Service is new).
std::vector<Cause> chosen_addresses(const schema::Value& service, const schema::Value& old);

}  // namespace sublet::syncer
