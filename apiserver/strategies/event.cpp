#include "apiserver/strategies/rows.h"
#include "apiserver/validation/names.h"
#include "apiserver/validation/object_meta.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

// Events are stored in the form of core/v1; a request in events.k8s.io/v1 arrives here converted.
constexpr int kNoteMax = 1024;

struct LengthRule {
  std::string_view field;
  std::size_t length_max;
  bool needed;
};
constexpr LengthRule kLengths[] = {
    {"reportingInstance", 128, true}, {"action", 128, true}, {"reason", 128, true}, {"message", kNoteMax, false}};

/// Fields of the old form that a new-style event must leave alone.
constexpr std::string_view kOldFormFields[] = {"firstTimestamp", "lastTimestamp", "count", "source"};
/// What an update in the new form may not change.
constexpr std::string_view kNewFormImmutable[] = {
    "involvedObject", "reason",    "message", "source",  "firstTimestamp",     "lastTimestamp",    "count",
    "type",           "eventTime", "action",  "related", "reportingComponent", "reportingInstance"};

bool is_new_form(const WriteContext& context) { return context.served && context.served->group == "events.k8s.io"; }

bool is_nonempty(const Value& value) {
  if (value.missing() || value.is_null()) return false;
  if (value.is_object() || value.is_array()) return !value.empty();
  return value.is_string() ? !value.text().empty() : value.integer() != 0;
}

void validate_event_namespace(Causes& causes, const Value& object) {
  auto own = object["metadata"]["namespace"].text(), involved = object["involvedObject"]["namespace"].text();
  bool new_style = is_nonempty(object["eventTime"]);
  bool fits = involved.empty() ? own.empty() || own == "default" || (new_style && own == "kube-system")
                               : new_style || own == involved;
  if (!fits) invalid(causes, "involvedObject.namespace", involved, "does not match event.namespace");
}

void validate_both(Causes& causes, const WriteContext& context, const Value& object) {
  validate_event_namespace(causes, object);
  if (!is_nonempty(object["eventTime"])) return;
  std::string field = is_new_form(context) ? "reportingController" : "reportingComponent";
  auto controller = object["reportingComponent"].text();
  if (controller.empty()) required(causes, field);
  invalid_each(causes, field, controller, qualified_name(controller));
  for (const auto& rule : kLengths) {
    auto text = object[rule.field].text();
    if (rule.needed && text.empty()) required(causes, std::string(rule.field));
    if (text.size() > rule.length_max)
      invalid(causes, std::string(rule.field), "",
              "can have at most " + std::to_string(rule.length_max) + " characters");
  }
}

Outcome event_verdict(const Value& object, Causes causes) {
  if (causes.empty()) return {};
  return fail(invalid_status("", "Event", object["metadata"]["name"].text(), std::move(causes)));
}

void validate_series(Causes& causes, const Value& series) {
  if (!series) return;
  if (series["count"].integer() < 2) invalid(causes, "series.count", "", "should be at least 2");
  if (!is_nonempty(series["lastObservedTime"])) required(causes, "series.lastObservedTime");
}

Outcome prepare_event_create(WriteContext& context, Value object) {
  Causes causes;
  validate_both(causes, context, object);
  if (!is_new_form(context)) return event_verdict(object, std::move(causes));
  validate_object_meta(object["metadata"], true, NameRule::dns_subdomain, causes);
  validate_series(causes, object["series"]);
  if (!is_nonempty(object["eventTime"])) required(causes, "eventTime");
  auto type = object["type"].text();
  if (type != "Normal" && type != "Warning") invalid(causes, "type", "", "has invalid value: " + std::string(type));
  for (auto field : kOldFormFields)
    if (is_nonempty(object[field])) invalid(causes, std::string(field), "", "needs to be unset");
  return event_verdict(object, std::move(causes));
}

Outcome prepare_event_update(WriteContext& context, Value object, const Value& old) {
  Causes causes;
  validate_both(causes, context, object);
  if (!is_new_form(context)) return event_verdict(object, std::move(causes));
  if (!semantically_equal(object["series"], old["series"])) validate_series(causes, object["series"]);
  for (auto field : kNewFormImmutable) {
    if (!is_nonempty(object[field]) && !is_nonempty(old[field]) && field != "related") continue;
    const std::string said = field == "reportingComponent" ? "reportingController" : std::string(field);
    // A text that went is an empty one.
    if (old[field].is_string() && object[field].missing())
      invalid(causes, said, "", kImmutable);
    else if (field == "related" && object[field].missing() != old[field].missing())
      invalid(causes, said, object[field] ? BadValue(object[field]) : BadValue::raw("null"), kImmutable);
    else
      immutable(causes, said, object[field], old[field]);
  }
  return event_verdict(object, std::move(causes));
}

}  // namespace

Strategy event_strategy() {
  Strategy row;
  row.resource = "events";
  row.name_rule = NameRule::path_segment;  // of the old form; the new one is stricter
  row.create_on_update = true;
  row.prepare_create = prepare_event_create;
  row.prepare_update = prepare_event_update;
  row.selectable_fields = {{"involvedObject.kind", "involvedObject.kind"},
                           {"involvedObject.namespace", "involvedObject.namespace"},
                           {"involvedObject.name", "involvedObject.name"},
                           {"involvedObject.uid", "involvedObject.uid"},
                           {"involvedObject.apiVersion", "involvedObject.apiVersion"},
                           {"involvedObject.resourceVersion", "involvedObject.resourceVersion"},
                           {"involvedObject.fieldPath", "involvedObject.fieldPath"},
                           {"regarding.kind", "involvedObject.kind"},
                           {"regarding.namespace", "involvedObject.namespace"},
                           {"regarding.name", "involvedObject.name"},
                           {"regarding.uid", "involvedObject.uid"},
                           {"regarding.apiVersion", "involvedObject.apiVersion"},
                           {"regarding.resourceVersion", "involvedObject.resourceVersion"},
                           {"regarding.fieldPath", "involvedObject.fieldPath"},
                           {"reason", "reason"},
                           {"reportingComponent", "reportingComponent"},
                           {"reportingController", "reportingComponent"},
                           {"source", "source.component", "", "reportingComponent"},
                           {"type", "type"}};
  return row;
}

}  // namespace sublet::apiserver
