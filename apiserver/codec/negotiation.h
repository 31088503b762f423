// Negotiation: from Accept (and ?pretty) to how an answer is written, and from Content-Type to how a body is read.
//
// Pure. As k8s.io/apiserver/pkg/endpoints/handlers/negotiation. `as=` forms are Table, PartialObjectMetadata and
// PartialObjectMetadataList of meta.k8s.io v1 or v1beta1; there is no protobuf Table.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "apiserver/request/output.h"
#include "sublet/base/status.h"

namespace sublet::apiserver {

inline constexpr std::string_view kJsonType = "application/json";
inline constexpr std::string_view kYamlType = "application/yaml";
inline constexpr std::string_view kProtobufType = "application/vnd.kubernetes.protobuf";

/// What of a resource can be served.
struct Servable {
  bool meta_forms = false;  // as Table and metadata
  bool protobuf = true;     // the object itself; its metadata always can
};
/// not_acceptable when nothing in `accept` can be served.
Result<Output> negotiate(std::string_view accept, Servable servable);
/// Whether people are likely to read the answer: ?pretty, or a browser's or curl's User-Agent.
bool wants_pretty(std::optional<std::string_view> parameter, std::string_view user_agent);

/// The media of a request body by its Content-Type; missing means JSON. nullopt: 415.
std::optional<Media> body_media(std::string_view content_type);
Status unsupported_media_status(std::string_view accepted);
std::string_view content_type_of(Media media);

/// One clause of an Accept header.
struct AcceptClause {
  std::string_view type;        // "application/json"
  std::string_view parameters;  // "as=Table;v=v1;g=meta.k8s.io", quality removed by parameter() only
  double quality = 1;
  std::string_view parameter(std::string_view name) const;
};
/// The header's clauses, best first; ties keep their order. Missing header: one clause "*/*".
std::vector<AcceptClause> parse_accept(std::string_view header);

}  // namespace sublet::apiserver
