#include "apiserver/verbs/scale.h"

#include "apiserver/apply/scale_fields.h"
#include "apiserver/codec/object_bytes.h"
#include "apiserver/codec/table_form.h"
#include "apiserver/printers/cells.h"
#include "apiserver/request/members.h"
#include "apiserver/validation/field_errors.h"
#include "apiserver/verbs/apply.h"
#include "apiserver/verbs/manage_fields.h"
#include "apiserver/verbs/patch_steps.h"
#include "apiserver/verbs/phases.h"
#include "sublet/kube/selector_text.h"
#include "sublet/schema/registry.h"

namespace sublet::apiserver {
namespace {

using schema::Document;
using schema::Value;

constexpr std::string_view kScaleGroup = "autoscaling", kScaleApiVersion = "v1", kScaleKind = "Scale";

schema::Type scale_type(const RequestContext& context) {
  return context.kinds->find_kind(kScaleGroup, kScaleApiVersion, kScaleKind);
}

/// A custom resource's; null: the workload has them where workloads do.
const ScalePaths* own_scale_paths(const RequestContext& context) {
  const auto& hook = strategy_of(*context.route).scale_paths;
  return hook ? hook(context.served().version) : nullptr;
}

const ScalePaths& scale_paths(const RequestContext& context) {
  static const ScalePaths usual;
  const ScalePaths* own = own_scale_paths(context);
  return own ? *own : usual;
}

/// ".spec.replicas".
std::string dotted(const std::vector<std::string>& path) {
  std::string text;
  for (const auto& name : path) text += "." + name;
  return text;
}

/// A ReplicationController's selector is the labels themselves; the others have a LabelSelector.
std::string selector_of(const Value& workload, const ScalePaths& paths) {
  if (!paths.selector.empty()) return at_path(workload, paths.selector).string();
  auto selector = workload["spec"]["selector"];
  if (selector.has("matchLabels") || selector.has("matchExpressions") || selector.empty())
    return kube::selector_text(selector);
  auto wrapped = Document::object();
  wrapped.root().put("matchLabels", selector);
  return kube::selector_text(wrapped.root());
}

Document scale_of_workload(const Value& workload, const ScalePaths& paths) {
  auto document = Document::object();
  auto scale = document.root();
  scale.put("kind", kScaleKind);
  scale.put("apiVersion", api_version(kScaleGroup, kScaleApiVersion));
  auto metadata = scale.object("metadata");
  for (auto field : {"name", "namespace", "uid", "resourceVersion", "creationTimestamp"})
    if (auto value = workload["metadata"][field]) metadata.put(field, value);
  auto spec = scale.object("spec");
  if (auto replicas = at_path(workload, paths.spec_replicas).integer()) spec.put("replicas", replicas);
  auto status = scale.object("status");
  status.put("replicas", at_path(workload, paths.status_replicas).integer());
  if (auto selector = selector_of(workload, paths); !selector.empty()) status.put("selector", selector);
  return document;
}

std::string table_json(const RequestContext& context, const Value& scale) {
  const auto* printer = &printer_for(kScaleGroup, "scales");
  auto version = scale["metadata"]["resourceVersion"].string();
  auto out = table_head(context.output.meta_v1beta1 ? "v1beta1" : "v1", "{\"resourceVersion\":\"" + version + "\"}");
  append_table_columns(out, *printer);
  out += "\"rows\":[";
  auto metadata = Document::object();
  metadata.root().put("kind", "PartialObjectMetadata");
  metadata.root().put("apiVersion", "meta.k8s.io/v1");
  metadata.root().put("metadata", scale["metadata"]);
  append_table_row(out, *printer, scale, metadata.to_json(), context.core->clock.now());
  return out + "]}";
}

/// The workload as this Scale wants it, or what is wrong with the Scale.
Outcome take_scale(const RequestContext& context, Value workload, const Value& scale) {
  std::vector<Cause> causes;
  nonnegative(causes, "spec.replicas", scale["spec"]["replicas"].integer());
  if (!causes.empty()) return fail(invalid_status(kScaleGroup, kScaleKind, context.info.name, std::move(causes)));
  if (const auto* own = own_scale_paths(context);
      own && !scale["spec"].has("replicas") && !at_path(workload, own->spec_replicas))
    return bad_request("the spec replicas field \"" + dotted(own->spec_replicas) + "\" cannot be empty");
  auto metadata = scale["metadata"], own = workload["metadata"];
  Value place = workload;
  const auto& path = scale_paths(context).spec_replicas;
  for (std::size_t i = 0; i + 1 < path.size(); ++i) place = place.object(path[i]);
  place.put(path.back(), scale["spec"]["replicas"].integer());
  // The sender's preconditions are judged as for any update.
  if (auto uid = metadata["uid"].text(); !uid.empty()) own.put("uid", uid);
  if (auto version = metadata["resourceVersion"].text(); !version.empty())
    own.put("resourceVersion", version);
  else
    own.erase("resourceVersion");
  return {};
}

ManagedEndpoint scale_endpoint(const RequestContext& context) {
  return {*context.kinds, kScaleGroup, kScaleApiVersion, kScaleKind, scale_type(context), "scale", nullptr};
}

// A change of the workload's Scale, as a change of the workload.
class ScaleRun : public WriteRun {
 public:
  using WriteRun::WriteRun;

 private:
  /// `scale` becomes what is asked for, with its managedFields.
  virtual Outcome change(Write& write, Document& scale) = 0;

  Result<Draft> draft(Write& write) override {
    RequestContext& request = write.request;
    auto current = find_current(request, write.pending);
    if (!current) return fail(current.error());
    auto workload = working_document(**current, *request.route);
    if (!workload) return fail(workload.error());
    const ScalePaths& paths = scale_paths(request);
    const ScaleFields fields((*workload)["metadata"]["managedFields"],
                             api_version(request.served().group, request.served().version), paths.spec_replicas);
    auto scale = scale_of_workload(workload->root(), paths);
    put_managed_fields(scale.root(), fields.of_scale().root());
    if (auto changed = change(write, scale); !changed) return fail(changed.error());
    if (auto matched = match_url(request, scale.root()); !matched) return fail(matched.error());
    if (auto taken = take_scale(request, workload->root(), scale.root()); !taken) return fail(taken.error());
    auto draft = draft_of_change(*request.route, std::move(*current), std::move(*workload));
    if (draft) draft->managed_fields = fields.of_workload(scale["metadata"]["managedFields"]);
    return draft;
  }

  Result<Plan> plan(Write& write, Draft& draft) override {
    auto plan = plan_change(write, draft);
    if (plan) plan->answer.view = scale_json;
    return plan;
  }

 protected:
  static void manage(Write& write, const Value& old, Value scale) {
    const FieldManager manager(scale_endpoint(write.request));
    const auto fields = manager.update(old, scale, field_manager(write.request), write.context.clock.now());
    put_managed_fields(scale, fields.root());
  }
};

class ScaleUpdate final : public ScaleRun {
 public:
  ScaleUpdate(const ContextPtr& context, Document body) : ScaleRun(context), body_(std::move(body)) {}

 private:
  Outcome change(Write& write, Document& scale) override {
    const Document old = std::exchange(scale, body_.clone());
    manage(write, old.root(), scale.root());
    return {};
  }
  const Document body_;
};

class ScalePatch final : public ScaleRun {
 public:
  ScalePatch(const ContextPtr& context, PatchRequest patch) : ScaleRun(context), patch_(std::move(patch)) {}

 private:
  Outcome change(Write& write, Document& scale) override {
    const Document old = scale.clone();
    auto applied = apply_patch(write.request, patch_, scale.root(), scale_type(write.request));
    if (applied) manage(write, old.root(), scale.root());
    return applied;
  }
  const PatchRequest patch_;
};

class ScaleApply final : public ScaleRun {
 public:
  ScaleApply(const ContextPtr& context, ApplyRequest apply) : ScaleRun(context), apply_(std::move(apply)) {}

 private:
  Outcome change(Write& write, Document& scale) override {
    auto applied = apply_config(write, apply_, scale_endpoint(write.request), std::move(scale));
    if (!applied) return fail(applied.error());
    scale = std::move(*applied);
    return {};
  }
  const ApplyRequest apply_;
};

}  // namespace

Outcome check_scale(const RequestContext& context, const store::Object& workload) {
  const ScalePaths* own = own_scale_paths(context);
  if (!own) return {};
  const auto document = working_document(workload, *context.route);
  if (document && at_path(document->root(), own->spec_replicas)) return {};
  Status status;
  status.reason = Reason::internal_error;
  const std::string why = "the spec replicas field \"" + dotted(own->spec_replicas) + "\" does not exist";
  status.message = "Internal error occurred: " + why;
  status.causes.push_back({"", why, ""});
  return fail(std::move(status));
}

std::string scale_json(const RequestContext& context, const store::Object& workload) {
  auto document = working_document(workload, *context.route);
  auto scale = scale_of_workload(document ? document->root() : Value(), scale_paths(context));
  if (context.output.form == Form::table) return table_json(context, scale.root());
  return scale.to_json();
}

void update_scale(const ContextPtr& context) {
  auto validation = check_write_options(*context, "UpdateOptions");
  if (!validation) return reply_status(*context, validation.error());
  auto decoded =
      decode_body({context->request.headers.get("Content-Type"), context->request.body},
                  {kScaleGroup, kScaleApiVersion, kScaleKind, scale_type(*context)}, *validation, context->warnings);
  if (!decoded) return reply_status(*context, decoded.error());
  std::make_shared<ScaleUpdate>(context, std::move(*decoded))->start();
}

void patch_scale(const ContextPtr& context) {
  if (is_apply(*context)) {
    auto apply = read_apply(*context);
    if (!apply) return reply_status(*context, apply.error());
    return std::make_shared<ScaleApply>(context, std::move(*apply))->start();
  }
  auto read = read_patch(*context);
  if (!read) return reply_status(*context, read.error());
  std::make_shared<ScalePatch>(context, std::move(*read))->start();
}

}  // namespace sublet::apiserver
