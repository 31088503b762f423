#include "sublet/patches/patch.h"

#include "apiserver/codec/object_bytes.h"
#include "apiserver/validation/field_errors.h"
#include "apiserver/verbs/apply.h"
#include "apiserver/verbs/patch_steps.h"
#include "apiserver/verbs/phases.h"

namespace sublet::apiserver {
namespace {

using schema::Document;
using schema::Value;

Outcome apply_json(Value target, const Value& patch, schema::Type) { return patches::apply_json_patch(target, patch); }

Outcome apply_merge(Value target, const Value& patch, schema::Type) {
  patches::apply_merge_patch(target, patch);
  return {};
}

struct PatchFacts {
  std::string_view content_type;
  Outcome (*apply)(Value target, const Value& patch, schema::Type type);
  bool builtin_only = false;  // custom resources have no patch strategies
};
constexpr PatchFacts kPatches[] = {
    {"application/json-patch+json", apply_json},
    {"application/merge-patch+json", apply_merge},
    {"application/strategic-merge-patch+json", patches::apply_strategic_merge, true},
};

std::string patch_types(bool custom) {
  std::string types;
  for (const auto& facts : kPatches)
    if (!custom || !facts.builtin_only) types.append(facts.content_type).append(", ");
  return types.append(kApplyPatch);
}

std::string_view patch_type(const RequestContext& context) {
  const std::string_view header = context.request.headers.get("Content-Type");
  return header.substr(0, header.find_first_of("; "));
}

const PatchFacts* patch_facts(std::string_view type, bool custom) {
  for (const auto& facts : kPatches)
    if (facts.content_type == type && !(custom && facts.builtin_only)) return &facts;
  return nullptr;
}

/// What is wrong with the kind that a patch leaves, "" when nothing is: one that it takes away is as it was.
std::string strange_kind(const Value& patched, std::string_view kind, std::string_view version) {
  const auto now = patched["kind"].text(), in = patched["apiVersion"].text();
  if ((now.empty() || now == kind) && (in.empty() || in == version)) return {};
  return "no kind \"" + std::string(now) + "\" is registered for version \"" + std::string(in) + "\"";
}

constexpr std::size_t kShownMax = 16 * 1024;

/// The start of what was sent; upstream says the whole, of megabytes too.
std::string said(std::string_view text) {
  if (text.size() <= kShownMax) return std::string(text);
  auto end = kShownMax;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return std::string(text.substr(0, end)) + "...";
}

/// What a patch makes of the object is no object of its kind.
Outcome unfit(const std::string& patched, std::string_view problem) {
  Causes causes;
  invalid(causes, "patch", said(patched), problem);
  return fail(invalid_status("", "", "", std::move(causes)));
}

// In a patch strict validation is a matter of the patched object, so it is Invalid at the field "patch".
Outcome judge_patched(RequestContext& context, const schema::DecodeNotes& notes, FieldValidation validation) {
  auto judged = judge_notes(notes, validation, context.warnings);
  if (judged) return judged;
  Cause cause{"FieldValueInvalid", "Invalid value: \"" + said(context.request.body) + "\": " + judged.error().message,
              "patch"};
  return fail(invalid_status(context.served().group, context.served().kind, context.info.name, {std::move(cause)}));
}

class PatchRun final : public WriteRun {
 public:
  PatchRun(const ContextPtr& context, PatchRequest patch) : WriteRun(context), patch_(std::move(patch)) {}

 private:
  Result<Draft> draft(Write& write) override {
    RequestContext& request = write.request;
    auto current = find_current(request, write.pending);
    if (!current) return fail(current.error());
    auto object = served_document(**current, *request.route);
    if (!object) return fail(object.error());
    const Value root = object->root();
    if (auto applied = apply_patch(request, patch_, root, request.route->type()); !applied)
      return fail(applied.error());
    to_storage(*request.route, root);
    if (auto matched = match_url(request, root); !matched) return fail(matched.error());
    return draft_of_change(*request.route, std::move(*current), std::move(*object));
  }
  const PatchRequest patch_;
};

}  // namespace

bool is_apply(const RequestContext& context) { return patch_type(context) == kApplyPatch; }

Result<PatchRequest> read_patch(const RequestContext& context) {
  const bool custom = context.served().custom;
  const auto* facts = patch_facts(patch_type(context), custom);
  if (!facts) return fail(unsupported_media_status(patch_types(custom)));
  Causes causes;
  if (context.query.find("force")) forbidden(causes, "force", "may not be specified for non-apply patch");
  auto validation = check_write_options(context, "PatchOptions", std::move(causes));
  if (!validation) return fail(validation.error());
  PatchRequest request;
  request.apply = facts->apply;
  request.validation = *validation;
  auto patch = Document::parse_json(context.request.body, &request.notes);
  if (!patch) return fail(patch.error());
  request.patch = std::move(*patch);
  return request;
}

Outcome apply_patch(RequestContext& context, const PatchRequest& request, Value target, schema::Type type) {
  const auto kind = target["kind"].string(), version = target["apiVersion"].string();
  if (auto applied = request.apply(target, request.patch.root(), type); !applied) return applied;
  if (!target.is_object()) return bad_request("the patch must leave an object");
  // A strategic merge is made of typed objects, which forget what the patch says of their kind.
  if (request.apply != patches::apply_strategic_merge && !context.served().custom)
    if (const auto problem = strange_kind(target, kind, version); !problem.empty())
      return unfit(target.to_json(), problem);
  const bool clears = clears_managed_fields(target);
  schema::DecodeNotes notes;
  if (auto fits = schema::conform(target, type, &notes); !fits) return unfit(target.to_json(), fits.error().message);
  if (clears) clear_managed_fields(target);
  notes.duplicate_fields = request.notes.duplicate_fields;
  return judge_patched(context, notes, request.validation);
}

void patch_object(const ContextPtr& context) {
  if (is_apply(*context)) return apply_object(context);
  auto read = read_patch(*context);
  if (!read) return reply_status(*context, read.error());
  std::make_shared<PatchRun>(context, std::move(*read))->start();
}

}  // namespace sublet::apiserver
