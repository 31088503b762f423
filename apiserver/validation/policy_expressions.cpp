#include "apiserver/validation/policy_expressions.h"

namespace sublet::apiserver {

namespace cel = patches::cel;
using cel::Kind;
using cel::TypeRef;

namespace {

cel::TypeField field(const char* name, TypeRef type) { return {name, name, std::move(type)}; }

// kubernetes.AdmissionRequest, without what has names of its own (object, oldObject) and uid.
TypeRef make_request_type() {
  const TypeRef text = cel::Type::of(Kind::string), texts = cel::Type::list(text);
  const TypeRef kind = cel::Type::object("kubernetes.GroupVersionKind",
                                         {field("group", text), field("version", text), field("kind", text)});
  const TypeRef resource = cel::Type::object("kubernetes.GroupVersionResource",
                                             {field("group", text), field("version", text), field("resource", text)});
  const TypeRef user =
      cel::Type::object("kubernetes.UserInfo", {field("username", text), field("uid", text), field("groups", texts),
                                                field("extra", cel::Type::map(text, texts))});
  return cel::Type::object(
      "kubernetes.AdmissionRequest",
      {field("kind", kind), field("resource", resource), field("subResource", text), field("requestKind", kind),
       field("requestResource", resource), field("requestSubResource", text), field("name", text),
       field("namespace", text), field("operation", text), field("userInfo", user),
       field("dryRun", cel::Type::of(Kind::boolean)), field("options", cel::Type::of(Kind::dyn))});
}

TypeRef make_namespace_type() {
  const TypeRef text = cel::Type::of(Kind::string), time = cel::Type::of(Kind::timestamp),
                number = cel::Type::of(Kind::integer);
  const TypeRef texts = cel::Type::list(text), labels = cel::Type::map(text, text);
  const TypeRef spec = cel::Type::object("kubernetes.NamespaceSpec", {field("finalizers", texts)});
  const TypeRef condition = cel::Type::object(
      "kubernetes.NamespaceCondition", {field("status", text), field("type", text), field("lastTransitionTime", time),
                                        field("message", text), field("reason", text)});
  const TypeRef status = cel::Type::object("kubernetes.NamespaceStatus",
                                           {field("conditions", cel::Type::list(condition)), field("phase", text)});
  const TypeRef metadata = cel::Type::object(
      "kubernetes.NamespaceMetadata",
      {field("name", text), field("generateName", text), field("namespace", text), field("labels", labels),
       field("annotations", labels), field("UID", text), field("creationTimestamp", time),
       field("deletionGracePeriodSeconds", number), field("deletionTimestamp", time), field("generation", number),
       field("resourceVersion", text), field("finalizers", texts)});
  return cel::Type::object("kubernetes.Namespace",
                           {field("metadata", metadata), field("spec", spec), field("status", status)});
}

// What a variable is known by; of types that policies have no name for, nothing.
TypeRef variable_type(const cel::Type& type) {
  switch (type.kind) {
    case Kind::boolean:
    case Kind::bytes:
    case Kind::floating:
    case Kind::duration:
    case Kind::integer:
    case Kind::null:
    case Kind::string:
    case Kind::timestamp:
    case Kind::uinteger:
      return cel::Type::of(type.kind);
    case Kind::list:
      return cel::Type::list(variable_type(*type.parameters[0]));
    case Kind::map:
      return cel::Type::map(variable_type(*type.parameters[0]), variable_type(*type.parameters[1]));
    default:
      return cel::Type::of(Kind::dyn);
  }
}

bool fits_result(const cel::Type& type, Gives gives) {
  switch (gives) {
    case Gives::anything:
      return true;
    case Gives::boolean:
      return type.kind == Kind::boolean;
    case Gives::text:
      return type.kind == Kind::string;
    case Gives::text_or_null:
      return type.kind == Kind::string || type.kind == Kind::null;
    case Gives::object_patch:
      return type.kind == Kind::object && type.name == "Object";
    case Gives::json_patches:
      return type.kind == Kind::list && type.parameters[0]->kind == Kind::object &&
             type.parameters[0]->name == "JSONPatch";
  }
  return false;
}

constexpr std::string_view kWanted[] = {"any",    "bool",           "string", "one of [string null_type]",
                                        "Object", "list(JSONPatch)"};

}  // namespace

PolicyEnvironment::PolicyEnvironment(const Offers& offers) : names_(cel::Library::kubernetes) {
  static const TypeRef request = make_request_type(), namespace_type = make_namespace_type();
  const auto typed = [](const TypeRef& type) { return type ? type : cel::Type::of(Kind::dyn); };
  names_.declare("object", typed(offers.object_type));
  names_.declare("oldObject", typed(offers.object_type));
  names_.declare("namespaceObject", namespace_type);
  names_.declare("request", request);
  names_.declare("params", typed(offers.params_type));
  names_.declare("authorizer", Kind::authorizer);
  names_.declare("authorizer.requestResource", Kind::resource_check);
  if (!offers.params) names_.hide("params");
  if (!offers.request_resource) names_.hide("authorizer.requestResource");
  if (!offers.authorizer) *this = without_authorizer();
  if (offers.patches) names_.offer_patches();
}

void PolicyEnvironment::add_variable(const std::string& name, const cel::Program* program) {
  const std::string qualified = "variables." + name;
  names_.hide(qualified);  // of two of a name the later one counts
  names_.declare(qualified, program ? variable_type(program->full_type()) : cel::Type::of(Kind::dyn));
}

PolicyEnvironment PolicyEnvironment::without_authorizer() const {
  PolicyEnvironment other = *this;
  other.names_.hide("authorizer");
  other.names_.hide("authorizer.requestResource");
  return other;
}

PolicyEnvironment PolicyEnvironment::with_patches() const {
  PolicyEnvironment other = *this;
  other.names_.offer_patches();
  return other;
}

PolicyExpression compile_expression(std::string_view source, const PolicyEnvironment& environment, Gives gives) {
  PolicyExpression made;
  made.source = source;
  auto program = cel::Program::compile(source, environment.names());
  if (!program)
    made.problem = "compilation failed: " + cel::display_text(program.error(), source);
  else if (!fits_result(program->full_type(), gives))
    made.problem = "must evaluate to " + std::string(kWanted[static_cast<std::size_t>(gives)]) + " but got " +
                   cel::type_text(program->full_type());
  else
    made.program = std::move(*program);
  return made;
}

std::vector<NamedExpression> compile_variables(const schema::Value& variables, PolicyEnvironment& environment) {
  std::vector<NamedExpression> compiled;
  for (const schema::Value variable : variables) {
    auto expression = compile_expression(variable["expression"].text(), environment, Gives::anything);
    environment.add_variable(variable["name"].string(), expression.program ? &*expression.program : nullptr);
    compiled.push_back({variable["name"].string(), std::move(expression)});
  }
  return compiled;
}

}  // namespace sublet::apiserver
