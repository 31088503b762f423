#include "apiserver/verbs/apply.h"

#include "apiserver/codec/object_bytes.h"
#include "apiserver/conversion/conversion.h"
#include "apiserver/validation/field_errors.h"
#include "apiserver/verbs/manage_fields.h"
#include "sublet/schema/engine.h"
#include "sublet/schema/yaml_lines.h"

namespace sublet::apiserver {
namespace {

using schema::Document;
using schema::Value;

// YAML, of which JSON is a part; most senders' is JSON, which has a faster parser.
Result<Document> parse_config(std::string_view body, schema::ParseNotes& notes) {
  const auto first = body.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && body[first] == '{')
    if (auto json = Document::parse_json(body, &notes)) return json;
  notes = {};
  auto yaml = schema::parse_yaml(body, &notes);
  if (!yaml) return bad_request("error decoding YAML: " + yaml.error().message);
  if (!yaml->root().is_object() && !yaml->root().is_null())
    return bad_request("error decoding YAML: the configuration to apply must be an object");
  return yaml;
}

Outcome judge_duplicates(RequestContext& context, const ApplyRequest& request) {
  if (request.duplicate_fields.empty() || request.validation == FieldValidation::ignore) return {};
  std::string problem = "error converting YAML to JSON: yaml: unmarshal errors:";
  for (const auto& line : schema::yaml_duplicate_lines(context.request.body)) problem += "\n  " + line;
  if (request.validation == FieldValidation::strict) return bad_request("error strict decoding YAML: " + problem);
  context.warnings.push_back(std::move(problem));
  return {};
}

Status uid_mismatch(const RequestContext& context, std::string_view uid) {
  return conflict_status(
      context.served().group, context.served().resource, context.info.name,
      "uid mismatch: the provided object specified uid " + std::string(uid) + ", and no existing object was found");
}

class ApplyRun final : public WriteRun {
 public:
  ApplyRun(const ContextPtr& context, ApplyRequest apply) : WriteRun(context), apply_(std::move(apply)) {}

 private:
  Result<Draft> draft(Write& write) override {
    RequestContext& request = write.request;
    auto current = find_current(request, write.pending);
    if (!current && !request.info.subresource.empty()) return fail(current.error());
    std::optional<Document> live, old;
    if (current) {
      auto served = served_document(**current, *request.route);
      if (!served) return fail(served.error());
      if (!conversion_of(*request.route)) old = stored_form(*served);
      live = std::move(*served);
    }
    auto object = apply_config(write, apply_, managed_endpoint(request), std::move(live));
    if (!object) return fail(object.error());
    if (const auto uid = (*object)["metadata"]["uid"].text(); !current && !uid.empty())
      return fail(uid_mismatch(request, uid));
    // Where nothing comes between, they stay where they are.
    const bool stay = request.info.subresource.empty() && !conversion_of(*request.route);
    std::optional<Document> managed_fields;
    if (!stay) managed_fields = Document::copy_of((*object)["metadata"]["managedFields"]);
    to_storage(*request.route, object->root());
    if (auto matched = match_url(request, object->root()); !matched) return fail(matched.error());
    auto made = !current ? Result<Draft>(draft_of_new(request, std::move(*object)))
                : old    ? draft_of_change(std::move(*current), std::move(*old), std::move(*object))
                         : draft_of_change(*request.route, std::move(*current), std::move(*object));
    if (!made) return made;
    made->managed_fields = std::move(managed_fields);
    made->is_managed = stay;
    return made;
  }

  // What is served in the version that is stored has two members more: it need not be parsed once more.
  static Document stored_form(const Document& served) {
    Document stored = served.clone();
    stored.root().erase("kind");
    stored.root().erase("apiVersion");
    return stored;
  }

  // When somebody else makes it meanwhile, that is what is applied to.
  static Draft draft_of_new(const RequestContext& request, Document object) {
    Draft draft;
    draft.object = std::move(object);
    draft.absent_key = request.key();
    return draft;
  }

  const ApplyRequest apply_;
};

}  // namespace

Result<ApplyRequest> read_apply(const RequestContext& context) {
  Causes causes;
  if (context.query.get("fieldManager").empty()) required(causes, "fieldManager", "is required for apply patch");
  auto validation = check_write_options(context, "PatchOptions", std::move(causes));
  if (!validation) return fail(validation.error());
  schema::ParseNotes notes;
  auto config = parse_config(context.request.body, notes);
  if (!config) return fail(config.error());
  return ApplyRequest{std::move(*config), std::move(notes.duplicate_fields), *validation, context.query.flag("force")};
}

Result<Document> apply_config(Write& write, const ApplyRequest& request, const ManagedEndpoint& endpoint,
                              std::optional<Document> live) {
  const FieldManager manager(endpoint);
  const std::string name = field_manager(write.request);
  const WallTime now = write.context.clock.now();
  const Value config = request.config.root();
  auto applied = live ? manager.apply(std::move(*live), config, name, request.force, now)
                      : manager.apply_by_sets(Value(), config, name, request.force, now);
  if (!applied) return applied;
  if (auto judged = judge_duplicates(write.request, request); !judged) return fail(judged.error());
  return applied;
}

void apply_object(const ContextPtr& context) {
  auto apply = read_apply(*context);
  if (!apply) return reply_status(*context, apply.error());
  std::make_shared<ApplyRun>(context, std::move(*apply))->start();
}

}  // namespace sublet::apiserver
