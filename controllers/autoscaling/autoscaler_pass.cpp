#include "controllers/autoscaling/autoscaler_pass.h"

#include "controllers/disruption/budget.h"
#include "controllers/runtime/calls.h"
#include "controllers/runtime/event_recorder.h"
#include "sublet/controllers/controllers.h"
#include "sublet/kube/selector_text.h"
#include "sublet/schema/engine.h"

namespace sublet::controllers {
namespace {

using schema::Document;
using schema::Value;

/// "apps/v1" -> {"apps", "v1"}.
Result<std::pair<std::string, std::string>> split_version(const std::string& text) {
  const auto slash = text.find('/');
  if (slash == std::string::npos) return std::pair(std::string(), text);
  if (text.find('/', slash + 1) != std::string::npos) return bad_request("unexpected GroupVersion string: " + text);
  return std::pair(text.substr(0, slash), text.substr(slash + 1));
}

std::string quantity_text(std::int64_t milli, std::string_view resource = {}) {
  return schema::quantity_from_nanos(static_cast<__int128>(milli) * 1'000'000, resource == "memory" ? "1Ki" : "");
}

/// As Go prints it.
std::string external_name(const Value& identifier) {
  const auto selector = identifier["selector"];
  return "external metric " + identifier["name"].string() + "(" + (selector ? go_text(selector) : "nil") + ")";
}

/// Returns the status form of a metric: its identifier as the spec has it.
Value identify(Value status, std::string_view member, const Value& source) {
  auto made = status.object(member);
  if (source.has("describedObject")) made.put("describedObject", source["describedObject"]);
  made.put("metric", source["metric"]);
  return made.object("current");
}

/// Empty members count as missing.
Document bare_status(const Value& status) {
  auto bare = status ? Document::copy_of(status) : Document::object();
  if (bare.root().is_object())
    bare.root().retain([](const Value& member) {
      return !member.is_null() && !((member.is_array() || member.is_object()) && member.empty());
    });
  return bare;
}

}  // namespace

AutoscalerPass::AutoscalerPass(const Context& context, const Lister& pods, ScaleHistory& history, WhoScales who_scales,
                               Document autoscaler)
    : context_(context),
      pod_lister_(pods),
      history_(history),
      who_scales_(std::move(who_scales)),
      autoscaler_(std::move(autoscaler)),
      conditions_(Document::copy_of(autoscaler_["status"])),
      ref_{kAutoscaler.api_version,
           kAutoscaler.kind,
           autoscaler_["metadata"]["namespace"].string(),
           autoscaler_["metadata"]["name"].string(),
           autoscaler_["metadata"]["uid"].string(),
           autoscaler_["metadata"]["resourceVersion"].string()},
      api_(context.client()),
      min_(autoscaler_["spec"]["minReplicas"].integer(1)),
      max_(autoscaler_["spec"]["maxReplicas"].integer()) {
  if (!conditions_.root().is_object()) conditions_.root().make_object();
}

Outcome AutoscalerPass::run() {
  auto target = find_target();
  if (!target) {
    context_.events().warning(ref_, "FailedGetScale", target.error().message);
    put_condition("AbleToScale", false, "FailedGetScale",
                  "the HPA controller was unable to get the target's current scale: " + target.error().message);
    current_ = autoscaler_["status"]["currentReplicas"].integer();
    return write(autoscaler_["status"]["desiredReplicas"].integer(), false);
  }
  put_condition("AbleToScale", true, "SucceededGetScale",
                "the HPA controller was able to get the target's current scale");
  current_ = target->scale["spec"]["replicas"].integer();
  history_.begin(current_, context_.clock().now());
  return scale_target(*target);
}

Result<AutoscalerPass::Target> AutoscalerPass::find_target() const {
  const auto reference = autoscaler_["spec"]["scaleTargetRef"];
  const auto version = split_version(reference["apiVersion"].string());
  if (!version) return fail(version.error());
  const auto kinds = context_.options().kinds();
  const auto* facts = kinds->find_resource_of_kind(version->first, version->second, reference["kind"].text());
  if (!facts)
    return fail(Reason::not_found,
                "no matches for kind \"" + reference["kind"].string() + "\" in group \"" + version->first + "\"");
  const kube::Resource resource{version->first, version->second, std::string(facts->resource)};
  auto scale = context_.client().get(resource, ref_.namespace_name, reference["name"].text(), "scale");
  if (!scale) return fail(scale.error());
  return Target{resource, std::move(*scale)};
}

Outcome AutoscalerPass::scale_target(Target& target) {
  std::int64_t desired = current_;
  std::string why;
  if (current_ == 0) {
    put_condition("ScalingActive", false, "ScalingDisabled",
                  "scaling is disabled since the replica count of the target is zero");
  } else if (current_ > max_) {
    desired = max_;
    why = "Current number of replicas above Spec.MaxReplicas";
  } else if (current_ < min_) {
    desired = min_;
    why = "Current number of replicas below Spec.MinReplicas";
  } else if (auto followed = follow_metrics(target, desired, why); !followed) {
    context_.events().warning(ref_, "FailedComputeMetricsReplicas", followed.error().message);
    return write(autoscaler_["status"]["desiredReplicas"].integer(), false);
  }
  return desired == current_ ? write(current_, false) : rescale(target, desired, why);
}

Outcome AutoscalerPass::follow_metrics(const Target& target, std::int64_t& desired, std::string& why) {
  std::string metric;
  const auto proposed = propose(target, metric);
  if (!proposed) return fail(proposed.error());
  if (*proposed > current_) why = metric + " above target";
  if (*proposed < current_) why = "All metrics below target";
  const auto behavior = autoscaler_["spec"]["behavior"];
  const auto normalized = history_.normalize(behavior, {current_, *proposed, min_, max_}, context_.clock().now());
  put_condition("AbleToScale", true, normalized.able_reason, normalized.able_message);
  put_condition("ScalingLimited", normalized.limited, normalized.limit_reason, normalized.limit_message);
  desired = normalized.replicas;
  return {};
}

/// Returns the most replicas that any metric wants. A metric without a value only prevents scaling down.
Result<std::int64_t> AutoscalerPass::propose(const Target& target, std::string& metric) {
  selector_ = target.scale["status"]["selector"].string();
  if (auto checked = check_selector(selector_); !checked) return fail(checked.error());
  const auto there = target.scale["status"]["replicas"].integer();
  const auto specs = autoscaler_["spec"]["metrics"];
  metrics_.root().make_array();
  std::int64_t most = 0;
  std::size_t invalid = 0;
  std::optional<Refusal> first;
  for (auto spec : specs) {
    auto status = metrics_.root().push_object();
    auto proposed = evaluate(spec, status, there);
    if (!proposed) {
      status.make_object();
      status.put("type", "");
      ++invalid;
      if (!first) first = std::move(proposed.error());
    } else if (most == 0 || proposed->replicas > most) {
      most = proposed->replicas;
      metric = proposed->name;
    }
  }
  if (first && (invalid >= specs.size() || most < current_)) {
    put_condition("ScalingActive", false, first->reason,
                  "the HPA was unable to compute the replica count: " + first->cause);
    return fail(first->why.reason, "invalid metrics (" + std::to_string(invalid) + " invalid out of " +
                                       std::to_string(specs.size()) + "), first error is: " + first->why.message);
  }
  put_condition("ScalingActive", true, "ValidMetricFound",
                "the HPA was able to successfully calculate a replica count from " + metric);
  return most;
}

Outcome AutoscalerPass::check_selector(const std::string& selector) {
  const auto refuse = [&](const char* event, const char* reason, const std::string& message,
                          const std::string& condition) -> Outcome {
    context_.events().warning(ref_, event, message);
    put_condition("ScalingActive", false, reason, condition);
    return bad_request(message);
  };
  if (selector.empty())
    return refuse("SelectorRequired", "InvalidSelector", "selector is required",
                  "the HPA target's scale is missing a selector");
  const auto parsed = kube::LabelSelector::parse(selector);
  if (!parsed) {
    const auto message =
        "couldn't convert selector into a corresponding internal selector object: " + parsed.error().message;
    return refuse("InvalidSelector", "InvalidSelector", message, message);
  }
  pods_ = pods_of(pod_lister_.selected(ref_.namespace_name, *parsed));
  const auto scalers = who_scales_(selector, pods_);
  if (scalers.size() < 2) return {};
  std::string names;
  for (const auto& scaler : scalers) names.append(names.empty() ? "" : " ").append(scaler);
  const auto message = "pods by selector " + selector + " are controlled by multiple HPAs: [" + names + "]";
  return refuse("AmbiguousSelector", "AmbiguousSelector", message, message);
}

AutoscalerPass::MetricResult AutoscalerPass::evaluate(const Value& metric, Value status, std::int64_t there) {
  const auto type = metric["type"].text();
  status.put("type", type);
  if (type == "Resource") return evaluate_resource(metric["resource"], status, false);
  if (type == "ContainerResource") return evaluate_resource(metric["containerResource"], status, true);
  if (type == "Pods") return evaluate_pods(metric["pods"], status);
  if (type == "Object") return evaluate_object(metric["object"], status, there);
  if (type == "External") return evaluate_external(metric["external"], status, there);
  const auto message = "unknown metric source type \"" + std::string(type) + "\"";
  return tl::unexpected(Refusal{"InvalidMetricSourceType", message, fail(Reason::invalid, message).value()});
}

namespace {

/// Event and condition have the bare cause; the error of all metrics together also names what failed.
template <class Refusal>
tl::unexpected<Refusal> refuse(const Context& context, const ObjectRef& about, const std::string& reason,
                               const std::string& what, const Status& why) {
  context.events().warning(about, reason, why.message);
  return tl::unexpected(Refusal{reason, why.message, fail(why.reason, what + why.message).value()});
}

}  // namespace

AutoscalerPass::MetricResult AutoscalerPass::evaluate_resource(const Value& metric, Value status, bool of_container) {
  const auto resource = metric["name"].string(), container = of_container ? metric["container"].string() : "";
  const auto target = metric["target"];
  const bool by_share = !target.has("averageValue");
  const auto refused = [&](const Status& why) {
    return refuse<Refusal>(
        context_, ref_, of_container ? "FailedGetContainerResourceMetric" : "FailedGetResourceMetric",
        of_container ? "failed to get " + container + " container metric value: "
                     : "failed to get " + resource + " resource metric value: ",
        fail(why.reason, "failed to get " + resource + (by_share ? " utilization: " : " usage: ") + why.message)
            .value());
  };
  const auto samples = api_.resource(ref_.namespace_name, selector_, resource, container);
  if (!samples)
    return refused(
        fail(samples.error().reason, "unable to get metrics for resource " + resource + ": " + samples.error().message)
            .value());
  auto current = status.object(of_container ? "containerResource" : "resource");
  current.put("name", resource);
  if (of_container) current.put("container", container);
  auto values = current.object("current");
  Result<Proposal> proposal = bad_request("");
  if (by_share) {
    const auto requests = requests_of(pods_, container, resource);
    if (!requests) return refused(requests.error());
    proposal = by_utilization(scaled(), *samples, *requests, resource, target["averageUtilization"].integer());
  } else {
    proposal = by_average(scaled(), *samples, resource, milli_of(target["averageValue"]));
  }
  if (!proposal) return refused(proposal.error());
  if (proposal->utilization) values.put("averageUtilization", *proposal->utilization);
  values.put("averageValue", quantity_text(proposal->usage, resource));
  if (!by_share) return Metric{proposal->replicas, resource + " resource"};
  return Metric{proposal->replicas,
                resource + (of_container ? " container" : "") + " resource utilization (percentage of request)"};
}

AutoscalerPass::MetricResult AutoscalerPass::evaluate_pods(const Value& metric, Value status) {
  const auto name = metric["metric"]["name"].string();
  const auto refused = [&](const Status& why) {
    return refuse<Refusal>(context_, ref_, "FailedGetPodsMetric",
                           "failed to get pods metric value: ", fail(why.reason, why.message).value());
  };
  const auto samples =
      api_.of_pods(ref_.namespace_name, selector_, name, kube::selector_text(metric["metric"]["selector"]));
  if (!samples)
    return refused(
        fail(samples.error().reason, "unable to get metric " + name + ": " + samples.error().message).value());
  const auto proposal = by_average(scaled(), *samples, "", milli_of(metric["target"]["averageValue"]));
  if (!proposal) return refused(proposal.error());
  identify(status, "pods", metric).put("averageValue", quantity_text(proposal->usage));
  return Metric{proposal->replicas, "pods metric " + name};
}

AutoscalerPass::MetricResult AutoscalerPass::evaluate_object(const Value& metric, Value status, std::int64_t there) {
  const auto name = metric["metric"]["name"].string();
  const auto object = metric["describedObject"], target = metric["target"];
  const bool average = target["type"].text() == "AverageValue";
  const auto refused = [&](const Status& why) {
    return refuse<Refusal>(context_, ref_, "FailedGetObjectMetric",
                           "failed to get object metric value: " +
                               (average ? "failed to get " + name + " object metric: " : std::string()),
                           why);
  };
  const auto version = split_version(object["apiVersion"].string());
  if (!version) return refused(version.error());
  const auto kinds = context_.options().kinds();
  const auto* facts = kinds->find_resource_of_kind(version->first, version->second, object["kind"].text());
  if (!facts)
    return refused(fail(Reason::not_found,
                        "no matches for kind \"" + object["kind"].string() + "\" in group \"" + version->first + "\"")
                       .value());
  std::string path;
  if (object["kind"].text() != "Namespace" || !version->first.empty())
    path = std::string(facts->resource) + (version->first.empty() ? "" : "." + version->first) + "/" +
           net::percent_encode(object["name"].text());
  const auto usage = api_.of_object(ref_.namespace_name, path, name, kube::selector_text(metric["metric"]["selector"]));
  if (!usage)
    return refused(fail(usage.error().reason, "unable to get metric " + name + ": " + usage.error().message + " on " +
                                                  object["kind"].string() + " " + ref_.namespace_name + "/" +
                                                  object["name"].string())
                       .value());
  auto proposed = by_one_number(metric, average, identify(status, "object", metric), *usage, there);
  if (!proposed) return refused(proposed.error());
  if (!average) proposed->name = object["kind"].string() + " metric " + name;
  return std::move(*proposed);
}

AutoscalerPass::MetricResult AutoscalerPass::evaluate_external(const Value& metric, Value status, std::int64_t there) {
  const auto name = metric["metric"]["name"].string();
  const auto target = metric["target"];
  const auto refused = [&](const Status& why) {
    return refuse<Refusal>(context_, ref_, "FailedGetExternalMetric",
                           "failed to get " + name + " external metric value: " +
                               (target.has("averageValue") ? "failed to get " + name + " external metric: "
                                                           : "failed to get external metric " + name + ": "),
                           why);
  };
  const auto usage = api_.external(ref_.namespace_name, name, kube::selector_text(metric["metric"]["selector"]));
  if (!usage)
    return refused(fail(usage.error().reason, "unable to get external metric " + ref_.namespace_name + "/" + name +
                                                  ": " + usage.error().message)
                       .value());
  auto proposed =
      by_one_number(metric, target.has("averageValue"), identify(status, "external", metric), *usage, there);
  if (!proposed) return refused(proposed.error());
  return std::move(*proposed);
}

Result<AutoscalerPass::Metric> AutoscalerPass::by_one_number(const Value& metric, bool average, Value current,
                                                             std::int64_t usage, std::int64_t there) const {
  const auto target = metric["target"];
  const auto proposal =
      average ? Result<Proposal>(by_value_per_pod(there, tolerances(), usage, milli_of(target["averageValue"])))
              : by_value(scaled(), usage, milli_of(target["value"]));
  if (!proposal) return fail(proposal.error());
  current.put(average ? "averageValue" : "value", quantity_text(proposal->usage));
  return Metric{proposal->replicas, external_name(metric["metric"])};
}

Tolerances AutoscalerPass::tolerances() const {
  const auto behavior = autoscaler_["spec"]["behavior"];
  const auto take = [&](std::string_view direction, double missing) {
    const auto given = behavior[direction]["tolerance"];
    return given ? static_cast<double>(milli_of(given)) / 1000 : missing;
  };
  Tolerances tolerances;
  tolerances.down = take("scaleDown", tolerances.down);
  tolerances.up = take("scaleUp", tolerances.up);
  return tolerances;
}

Outcome AutoscalerPass::rescale(Target& target, std::int64_t desired, const std::string& why) {
  const auto name = target.scale["metadata"]["name"].string();
  target.scale.root().object("spec").put("replicas", desired);
  const auto updated =
      context_.client().update(target.resource, ref_.namespace_name, name, target.scale.root(), "scale");
  if (!updated) {
    // Another client has scaled or changed it meanwhile: the next reconcile reads that.
    if (updated.error().is(Reason::conflict)) return fail(updated.error());
    context_.events().warning(
        ref_, "FailedRescale",
        "New size: " + std::to_string(desired) + "; reason: " + why + "; error: " + updated.error().message);
    put_condition("AbleToScale", false, "FailedUpdateScale",
                  "the HPA controller was unable to update the target scale: " + updated.error().message);
    return write(autoscaler_["status"]["desiredReplicas"].integer(), false);
  }
  put_condition("AbleToScale", true, "SucceededRescale",
                "the HPA controller was able to update the target scale to " + std::to_string(desired));
  context_.events().normal(ref_, "SuccessfulRescale", "New size: " + std::to_string(desired) + "; reason: " + why);
  history_.note(autoscaler_["spec"]["behavior"], current_, desired, context_.clock().now());
  return write(desired, true);
}

void AutoscalerPass::put_condition(std::string_view type, bool good, std::string_view reason,
                                   std::string_view message) {
  auto conditions = conditions_.root().array("conditions");
  auto found = find_condition(conditions, type);
  if (!found) {
    found = conditions.push_object();
    found.put("type", type);
  }
  const std::string_view status = good ? "True" : "False";
  if (found["status"].text() != status) {
    found.put("status", status);
    found.put("lastTransitionTime", format_time(context_.clock().now()));
  }
  found.put("reason", reason);
  found.put("message", message);
}

Outcome AutoscalerPass::write(std::int64_t desired, bool rescaled) {
  auto status = Document::object();
  const auto before = autoscaler_["status"];
  status.root().put("currentReplicas", current_);
  status.root().put("desiredReplicas", desired);
  if (rescaled)
    status.root().put("lastScaleTime", format_time(context_.clock().now()));
  else if (before.has("lastScaleTime"))
    status.root().put("lastScaleTime", before["lastScaleTime"]);
  if (metrics_.root().is_array() && !metrics_.root().empty()) status.root().put("currentMetrics", metrics_.root());
  status.root().put("conditions", conditions_["conditions"]);
  if (bare_status(before).root().equals(bare_status(status.root()).root())) return {};
  autoscaler_.root().put("status", status.root());
  return settled(
      context_.client().update(kAutoscaler.resource, ref_.namespace_name, ref_.name, autoscaler_.root(), "status"));
}

}  // namespace sublet::controllers
