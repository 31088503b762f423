#include "patches/template/effects.h"

#include <algorithm>

#include "patches/template/reader.h"
#include "patches/template/value_check.h"
#include "sublet/base/nearest.h"
#include "sublet/patches/patch.h"

namespace sublet::patches {

using cel::Kind;
using schema::Document;
using schema::Value;

namespace {

tl::unexpected<Status> wrong(const Path& path, const std::string& message) {
  return bad_request(path.text() + ": " + message);
}

// What an expression made may hold what the API does not know; the host would refuse it without naming the patch.
Outcome fit(Value value, const Shape& shape, const Path& path) {
  if (auto fitted = fit_built(value, shape); !fitted) return wrong(path, fitted.error().message);
  return {};
}

// Scalars become text where the API wants text: 0.5 in an annotation is "0.5". `form`: what gave the value.
Outcome write_value(const ValueForm& form, const cel::Value& value, const Shape& shape, const Path& path, Value out) {
  const cel::Value& plain = value.is(Kind::optional) && value.as_optional() ? *value.as_optional() : value;
  if (const auto wanted = shape.mismatch(plain.kind()); !wanted.empty())
    return wrong(path,
                 "the value is a " + std::string(kind_name(plain.kind())) + ", it must be " + std::string(wanted));
  if (shape.textual()) {
    const auto text = scalar_text(plain);
    if (!text) return wrong(path, "the value is no text");
    if (const auto problem = shape.text_problem(*text); !problem.empty()) return wrong(path, problem);
    out.set(*text);
    return {};
  }
  if (auto done = cel::write(plain, out); !done) return wrong(path, done.error().message);
  return form.fits() ? Outcome() : fit(out, shape, path);
}

void focus_on(ObjectScope& scope, const Target& target) {
  PathFocus focus = target.focus;
  focus.value = cel::Value::of(target.current);
  scope.focus(focus);
}

// An empty optional means: leave it alone.
bool leaves_alone(const cel::Value& value) { return value.is(Kind::optional) && !value.as_optional(); }

Outcome write_targets(const Effect& effect, const Path& path, Value object, ObjectScope& scope, std::string_view kind,
                      bool only_missing) {
  auto targets = path.find(object, true, scope, kind);
  if (!targets) return fail(targets.error());
  for (Target& target : *targets) {
    if (only_missing && target.current && !target.current.is_null()) continue;
    focus_on(scope, target);
    const cel::Value value = effect.value.evaluate(scope);
    if (value.is_error()) return wrong(path, value.failure().message);
    if (leaves_alone(value)) continue;
    // Aside first: the value may hold the place that it replaces.
    Document built;
    if (auto done = write_value(effect.value, value, target.shape, path, built.root()); !done) return done;
    (target.current ? target.current : target.parent.put(target.key, false)).set(built.root());
  }
  return {};
}

Outcome apply_set(const Effect& effect, const Path& path, Value object, ObjectScope& scope, std::string_view kind) {
  return write_targets(effect, path, object, scope, kind, false);
}

Outcome apply_default(const Effect& effect, const Path& path, Value object, ObjectScope& scope, std::string_view kind) {
  return write_targets(effect, path, object, scope, kind, true);
}

Outcome apply_remove(const Effect& effect, const Path& path, Value object, ObjectScope& scope, std::string_view kind) {
  auto targets = path.find(object, false, scope, kind);
  if (!targets) return fail(targets.error());
  for (Target& target : *targets) {
    if (target.current.missing() || target.parent.missing()) continue;
    target.parent.retain([&](const Value& child) { return !child.same_node(target.current); });
    if (effect.prune && target.parent.empty() && target.grandparent)
      target.grandparent.retain([&](const Value& child) { return !child.same_node(target.parent); });
  }
  return {};
}

Outcome apply_rename(const Effect& effect, const Path& path, Value object, ObjectScope& scope, std::string_view kind) {
  auto targets = path.find(object, false, scope, kind);
  if (!targets) return fail(targets.error());
  for (Target& target : *targets) {
    if (target.current.missing()) continue;
    focus_on(scope, target);
    const cel::Value name = effect.to.evaluate_text(scope);
    if (name.is_error()) return wrong(path, name.failure().message);
    if (name.as_text().empty()) return wrong(path, "the new name is empty");
    target.parent.rename(target.key, name.as_text());
  }
  return {};
}

// The list at a place, made when nothing stands there.
Result<Value> list_at(Target& target, const Path& path) {
  Value list = target.current;
  if (list.missing()) list = target.parent.put(target.key, false);
  if (target.current.missing() || list.is_null()) list.make_array();
  if (!list.is_array()) return wrong(path, "is not a list");
  return list;
}

bool holds_equal(const Value& list, const Value& item) {
  for (Value known : list)
    if (known.equals(item)) return true;
  return false;
}

Outcome apply_append(const Effect& effect, const Path& path, Value object, ObjectScope& scope, std::string_view kind) {
  auto targets = path.find(object, true, scope, kind);
  if (!targets) return fail(targets.error());
  for (Target& target : *targets) {
    focus_on(scope, target);
    auto list = list_at(target, path);
    if (!list) return fail(list.error());
    for (const ValueForm& form : effect.values) {
      const cel::Value value = form.evaluate(scope);
      if (value.is_error()) return wrong(path, value.failure().message);
      if (leaves_alone(value)) continue;
      Document item;
      const Shape shape = target.shape.element().value_or(Shape());
      if (auto done = write_value(form, value, shape, path, item.root()); !done) return done;
      if (!holds_equal(*list, item.root())) list->push(item.root());
    }
  }
  return {};
}

Outcome merge_into_list(Value list, const Value& item, const std::vector<std::string>& keys, const Path& path) {
  if (!item.is_object()) return wrong(path, "only maps merge into a list");
  for (Value known : list) {
    const bool same = known.is_object() && std::all_of(keys.begin(), keys.end(), [&](const std::string& key) {
                        return known[key].equals(item[key]);
                      });
    if (!same) continue;
    apply_merge_patch(known, item);
    return {};
  }
  apply_merge_patch(list.push(false), item);
  return {};
}

Outcome apply_merge(const Effect& effect, const Path& path, Value object, ObjectScope& scope, std::string_view kind) {
  auto targets = path.find(object, true, scope, kind);
  if (!targets) return fail(targets.error());
  for (Target& target : *targets) {
    focus_on(scope, target);
    const cel::Value value = effect.value.evaluate(scope);
    if (value.is_error()) return wrong(path, value.failure().message);
    if (leaves_alone(value)) continue;
    Document built;
    if (effect.keys.empty()) {
      if (auto done = write_value(effect.value, value, target.shape, path, built.root()); !done) return done;
      if (!built.root().is_object()) return wrong(path, "only a map merges; lists merge by \"key\"");
      apply_merge_patch(target.current ? target.current : target.parent.put(target.key, false), built.root());
      continue;
    }
    if (auto done = cel::write(value, built.root()); !done) return wrong(path, done.error().message);
    const Shape item_shape = target.shape.element().value_or(Shape());
    if (!effect.value.fits())
      if (auto done = fit(built.root(), built.root().is_array() ? target.shape : item_shape, path); !done) return done;
    auto list = list_at(target, path);
    if (!list) return fail(list.error());
    if (!built.root().is_array()) {
      if (auto done = merge_into_list(*list, built.root(), effect.keys, path); !done) return done;
      continue;
    }
    for (Value item : built.root())
      if (auto done = merge_into_list(*list, item, effect.keys, path); !done) return done;
  }
  return {};
}

constexpr auto kPath = Verb::Needs::path;
constexpr auto kMessage = Verb::Needs::message;

constexpr Verb kVerbs[] = {
    {"set", kPath, Verb::kValue, apply_set},
    {"default", kPath, Verb::kValue, apply_default},
    {"remove", kPath, Verb::kPrune, apply_remove},
    {"rename", kPath, Verb::kTo, apply_rename},
    {"append", kPath, Verb::kValue | Verb::kValues, apply_append},
    {"merge", kPath, Verb::kValue | Verb::kKey, apply_merge},
    {"freeze", kPath, Verb::kMessage, nullptr},
    {"deny", kMessage, 0, nullptr},
    {"warn", kMessage, 0, nullptr},
};

// The one verb among the keys of an effect.
const Verb* find_verb(const YamlNode& node, const std::string& key, Problems& problems) {
  const Verb* found = nullptr;
  for (const Verb& verb : kVerbs) {
    if (node.find(verb.name) == nullptr) continue;
    if (found)
      problems.add(node.mark, key,
                   "has two effects, " + std::string(found->name) + " and " + std::string(verb.name) +
                       "; each is an entry of its own");
    found = &verb;
  }
  if (found || !node.is_map()) return found;
  std::vector<std::string_view> names;
  for (const Verb& verb : kVerbs) names.push_back(verb.name);
  std::string hint;
  for (const YamlNode& child : node.children)
    if (hint.empty()) hint = suggestion(child.key, names);
  problems.add(node.mark, key,
               "has no effect" + hint + "; known: set, default, remove, rename, append, merge, freeze, deny, warn");
  return nullptr;
}

void check_value_type(const ValueForm& form, const Shape& shape, const YamlNode& node, const std::string& key,
                      Problems& problems) {
  if (const auto wanted = shape.mismatch(form.type()); !wanted.empty())
    problems.add(node.mark, key,
                 "the value is a " + std::string(kind_name(form.type())) + ", it must be " + std::string(wanted));
}

class EffectReader {
 public:
  EffectReader(const YamlNode& node, const std::vector<std::string>& kinds, const cel::Environment& environment,
               const BorderFacts& border, const std::string& key, Problems& problems)
      : node_(node),
        kinds_(kinds),
        border_(border),
        outside_(environment),
        inside_(environment),
        key_(key),
        problems_(problems),
        reader_(node, key, problems) {
    for (const char* name : {"item", "key", "value"}) inside_.show(name);
  }

  Effect run() {
    effect_.verb = find_verb(node_, key_, problems_);
    if (const YamlNode* when = reader_.take("when")) read_when(*when);
    if (effect_.verb == nullptr) return std::move(effect_);
    const Verb& verb = *effect_.verb;
    const YamlNode* subject = reader_.take(verb.name);
    if (verb.needs == Verb::Needs::message)
      read_message(*subject, reader_.path(verb.name));
    else
      effect_.paths = Path::parse(*subject, kinds_, inside_, reader_.path(verb.name), problems_);
    if (verb.takes(Verb::kTo)) read_to();
    if (verb.takes(Verb::kKey)) effect_.keys = reader_.texts("key");
    if (verb.takes(Verb::kPrune)) effect_.prune = reader_.flag("prune");
    if (verb.takes(Verb::kValues)) read_values();
    if (verb.takes(Verb::kValue) && !verb.takes(Verb::kValues)) read_value();
    if (verb.takes(Verb::kMessage)) read_optional_message();
    check_paths();
    reader_.finish();
    return std::move(effect_);
  }

 private:
  void read_when(const YamlNode& node) {
    if (!node.is_string() && !node.is_boolean())
      return problems_.add(node.mark, reader_.path("when"),
                           "must be an expression, not " + std::string(node.kind_text()));
    effect_.when = compile_expression(node.text, node, 0, outside_, reader_.path("when"), problems_);
    if (effect_.when && effect_.when->type() != Kind::boolean && effect_.when->type() != Kind::dyn)
      problems_.add(node.mark, reader_.path("when"),
                    "the condition must be a bool, not a " + std::string(kind_name(effect_.when->type())));
  }

  void read_message(const YamlNode& node, const std::string& key) {
    if (!node.is_string() || node.text.empty())
      return problems_.add(node.mark, key, "must be a message for the tenant");
    effect_.value = ValueForm::parse(node, outside_, key, problems_);
  }

  void read_optional_message() {
    const YamlNode* message = reader_.take("message");
    if (message == nullptr) return;
    effect_.has_message = true;
    read_message(*message, reader_.path("message"));
  }

  void read_to() {
    const YamlNode* to = reader_.require("to");
    if (to == nullptr) return;
    effect_.to = ValueForm::parse(*to, inside_, reader_.path("to"), problems_);
    if (!to->is_string()) problems_.add(to->mark, reader_.path("to"), "must be the new key, a string");
  }

  void read_value() {
    const YamlNode* value = reader_.require("value");
    if (value == nullptr) return;
    effect_.value = ValueForm::parse(*value, inside_, reader_.path("value"), problems_);
    bool fits = true;
    for_each_place([&](const Shape& place) {
      const bool items = effect_.verb->name == "merge" && place.form() == Shape::Form::list;
      if (items && effect_.keys.empty()) return;  // check_paths() says so
      const Shape shape = items && effect_.value.type() != Kind::list ? place.element().value_or(Shape()) : place;
      check_value(effect_.value, shape, *value, reader_.path("value"));
      fits = fits && fits_as_written(*value, shape);
    });
    if (fits) effect_.value.found_to_fit();
  }

  // The shapes of all places that the effect writes to, until one of them shows a problem: the same mistake for three
  // kinds and two alternatives is one mistake.
  template <typename Check>
  void for_each_place(Check check) {
    const std::size_t before = problems_.size();
    for (const Path& path : effect_.paths)
      for (const std::string& kind : kinds_)
        if (problems_.size() == before) check(path.shape(kind));
  }

  void check_value(const ValueForm& form, const Shape& shape, const YamlNode& node, const std::string& key) {
    const std::size_t before = problems_.size();
    check_value_type(form, shape, node, key, problems_);
    if (problems_.size() == before) check_literal(node, shape, effect_.verb->name != "merge", key, problems_);
  }

  void read_values() {
    const YamlNode* value = reader_.take("value");
    const YamlNode* values = reader_.take("values");
    if ((value == nullptr) == (values == nullptr))
      return problems_.add(node_.mark, key_,
                           "append takes either \"value\" (one item) or \"values\" (a list of items)");
    if (values && !values->is_list())
      return problems_.add(values->mark, reader_.path("values"), "must be a list of items");
    std::vector<const YamlNode*> items;
    if (value) items.push_back(value);
    if (values)
      for (const YamlNode& item : values->children) items.push_back(&item);
    for (const YamlNode* item : items) {
      const std::string key = reader_.path(value ? "value" : "values");
      effect_.values.push_back(ValueForm::parse(*item, inside_, key, problems_));
      bool fits = true;
      for_each_place([&](const Shape& place) {
        const Shape shape = place.element().value_or(Shape());
        check_value(effect_.values.back(), shape, *item, key);
        fits = fits && fits_as_written(*item, shape);
      });
      if (fits) effect_.values.back().found_to_fit();
    }
  }

  void check_overruled(const Path& path) {
    const std::string_view verb = effect_.verb->name;
    if (border_.overrules == nullptr || verb == "remove" || verb == "freeze" || !path.plain()) return;
    const std::size_t before = problems_.size();
    for (const std::string& kind : kinds_)
      if (const std::string why = border_.overrules(kind, path.members()); !why.empty() && problems_.size() == before)
        problems_.add(node_.mark, reader_.path(verb), path.text() + " cannot be written by a patch: " + why);
  }

  void check_judged() {
    for (const std::string& kind : kinds_)
      if (std::ranges::find(border_.judged_late, kind) != border_.judged_late.end())
        problems_.add(node_.mark, reader_.path("freeze"),
                      "nothing of " + kind +
                          " objects can be frozen: what tenants write into them is judged when it crosses, not when it "
                          "is written; set the value on its way to the host instead");
  }

  void check_paths() {
    const std::string_view verb = effect_.verb->name;
    const bool wants_list = verb == "append" || !effect_.keys.empty();
    for (const Path& path : effect_.paths) {
      if (verb == "rename" && !path.ends_with_member())
        problems_.add(node_.mark, reader_.path(verb), "only a member of a map can be renamed, not an item of a list");
      if (verb == "freeze" && !path.plain())
        problems_.add(node_.mark, reader_.path(verb), "only a plain path can be frozen, without selectors");
      if (verb == "freeze") check_judged();
      check_overruled(path);
      for (const std::string& kind : kinds_) {
        const Shape::Form form = path.shape(kind).form();
        if (wants_list && form != Shape::Form::list && form != Shape::Form::free)
          problems_.add(node_.mark, reader_.path(verb), path.text() + " is not a list");
        if (verb == "merge" && effect_.keys.empty() && form == Shape::Form::list)
          problems_.add(node_.mark, key_, path.text() + " is a list: \"key\" must say by which member its items merge");
      }
    }
  }

  const YamlNode& node_;
  const std::vector<std::string>& kinds_;
  const BorderFacts& border_;
  const cel::Environment& outside_;  // of paths
  cel::Environment inside_;
  const std::string& key_;
  Problems& problems_;
  MapReader reader_;
  Effect effect_;
};

}  // namespace

Effect Effect::read(const YamlNode& node, const std::vector<std::string>& kinds, const cel::Environment& environment,
                    const BorderFacts& border, const std::string& key, Problems& problems) {
  return EffectReader(node, kinds, environment, border, key, problems).run();
}

Result<bool> Effect::apply(Value object, ObjectScope& scope, std::string_view kind, EffectResult& result) const {
  if (when) {
    const cel::Value holds = when->evaluate(scope);
    if (holds.is_error()) return bad_request(std::string(verb->name) + ".when: " + holds.failure().message);
    if (!holds.is(Kind::boolean)) return bad_request(std::string(verb->name) + ".when is not a bool");
    if (!holds.as_bool()) return false;
  }
  if (verb->needs == Verb::Needs::message) {
    const cel::Value message = value.evaluate_text(scope);
    if (message.is_error()) return bad_request(std::string(verb->name) + ": " + message.failure().message);
    (verb->name == "deny" ? result.denials : result.warnings).emplace_back(message.as_text());
    return true;
  }
  if (verb->apply == nullptr) return true;  // freeze: acts on updates only
  for (const Path& path : paths)
    if (auto done = verb->apply(*this, path, object, scope, kind); !done) return fail(done.error());
  return true;
}

}  // namespace sublet::patches
