#include "apiserver/codec/negotiation.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>

#include "sublet/base/text.h"

namespace sublet::apiserver {
namespace {

struct MediaFacts {
  Media media;
  std::string_view type;
};
constexpr std::array<MediaFacts, 3> kMedia{
    {{Media::json, kJsonType}, {Media::yaml, kYamlType}, {Media::protobuf, kProtobufType}}};

struct FormFacts {
  std::string_view as;
  Form form;
};
constexpr std::array<FormFacts, 3> kFormNames{{{"Table", Form::table},
                                               {"PartialObjectMetadata", Form::partial},
                                               {"PartialObjectMetadataList", Form::partial_list}}};

constexpr std::string_view kAcceptedTypes = "application/json, application/yaml, application/vnd.kubernetes.protobuf";

std::string_view unquoted(std::string_view text) {
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') return text.substr(1, text.size() - 2);
  return text;
}

bool same_text(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return std::tolower(static_cast<unsigned char>(x)) == y; });
}

std::optional<Media> media_of(std::string_view type) {
  if (type == "*/*" || type == "application/*") return Media::json;
  for (const auto& facts : kMedia)
    if (same_text(type, facts.type)) return facts.media;
  return std::nullopt;
}

// The form that a clause asks for; nullopt when it asks for something we have not.
std::optional<Output> output_of(const AcceptClause& clause, Servable servable) {
  const auto media = media_of(clause.type);
  if (!media) return std::nullopt;
  Output output{.media = *media};
  const auto as = clause.parameter("as");
  if (as.empty() && output.media == Media::protobuf && !servable.protobuf) return std::nullopt;
  if (as.empty()) return output;
  const auto version = clause.parameter("v");
  if (!servable.meta_forms || clause.parameter("g") != "meta.k8s.io" || (version != "v1" && version != "v1beta1"))
    return std::nullopt;
  output.meta_v1beta1 = version == "v1beta1";
  for (const auto& facts : kFormNames) {
    if (facts.as != as) continue;
    output.form = facts.form;
    if (output.form == Form::table && output.media == Media::protobuf) return std::nullopt;
    return output;
  }
  return std::nullopt;
}

}  // namespace

std::string_view AcceptClause::parameter(std::string_view name) const {
  std::string_view rest = parameters;
  while (!rest.empty()) {
    const auto end = rest.find(';');
    const auto part = trimmed(rest.substr(0, end), kBlanks);
    const auto equals = part.find('=');
    if (equals != std::string_view::npos && trimmed(part.substr(0, equals), kBlanks) == name)
      return unquoted(trimmed(part.substr(equals + 1), kBlanks));
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  return {};
}

std::vector<AcceptClause> parse_accept(std::string_view header) {
  std::vector<AcceptClause> clauses;
  while (!header.empty()) {
    const auto comma = header.find(',');
    const auto text = trimmed(header.substr(0, comma), kBlanks);
    if (!text.empty()) {
      AcceptClause clause;
      const auto semicolon = text.find(';');
      clause.type = trimmed(text.substr(0, semicolon), kBlanks);
      if (semicolon != std::string_view::npos) clause.parameters = text.substr(semicolon + 1);
      const auto quality = clause.parameter("q");
      if (!quality.empty()) clause.quality = std::strtod(std::string(quality).c_str(), nullptr);
      clauses.push_back(clause);
    }
    if (comma == std::string_view::npos) break;
    header.remove_prefix(comma + 1);
  }
  if (clauses.empty()) clauses.push_back({"*/*", {}, 1});
  std::stable_sort(clauses.begin(), clauses.end(), [](const auto& a, const auto& b) { return a.quality > b.quality; });
  return clauses;
}

Result<Output> negotiate(std::string_view accept, Servable servable) {
  if (accept.empty() || accept == kJsonType) return Output{};
  for (const auto& clause : parse_accept(accept))
    if (clause.quality > 0)
      if (const auto output = output_of(clause, servable)) return *output;
  return fail(Reason::not_acceptable, "only the following media types are accepted: " + std::string(kAcceptedTypes));
}

bool wants_pretty(std::optional<std::string_view> parameter, std::string_view user_agent) {
  // Go's strconv.ParseBool; upstream's only boolean parameter that is read so.
  constexpr std::array<std::string_view, 6> kTrue = {"1", "t", "T", "TRUE", "true", "True"};
  if (parameter && !parameter->empty()) return std::ranges::find(kTrue, *parameter) != kTrue.end();
  return user_agent.starts_with("curl/") || user_agent.starts_with("Wget") || user_agent.starts_with("Mozilla/5.0");
}

std::optional<Media> body_media(std::string_view content_type) {
  const auto type = trimmed(content_type.substr(0, content_type.find(';')), kBlanks);
  if (type.empty()) return Media::json;
  for (const auto& facts : kMedia)
    if (same_text(type, facts.type)) return facts.media;
  return std::nullopt;
}

Status unsupported_media_status(std::string_view accepted) {
  Status status;
  status.reason = Reason::unsupported_media_type;
  status.message = "the body of the request was in an unknown format - accepted media types include: ";
  status.message += accepted.empty() ? kAcceptedTypes : accepted;
  return status;
}

std::string_view content_type_of(Media media) {
  for (const auto& facts : kMedia)
    if (facts.media == media) return facts.type;
  return kJsonType;
}

}  // namespace sublet::apiserver
