#include "sublet/syncer/explain.h"

#include <algorithm>
#include <cstdio>

#include "cli/command.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/json_output.h"
#include "cli/output_table.h"
#include "cli/reference.h"
#include "cli/steps.h"
#include "cli/tenant_object.h"
#include "sublet/base/files.h"
#include "sublet/schema/engine.h"
#include "sublet/syncer/carried_kinds.h"
#include "sublet/syncer/node_names.h"

namespace sublet::cli {
namespace {

using schema::Document;
using syncer::ExplainedField;

constexpr std::size_t kValueMax = 48;  // of a cell; -o json has it whole

/// What is explained, and against what.
struct Question {
  std::string kind;
  Document tenant, host;  // a null host: there is none, or it was not requested
  syncer::TranslateContext context;
  bool asked_host = false;
};

// Fills in the uid of an object that is not stored, and the namespace that its file may leave out.
void complete(schema::Value object) {
  schema::Value metadata = object.object("metadata");
  if (metadata["namespace"].text().empty()) metadata.put("namespace", "default");
  if (metadata["uid"].text().empty()) metadata.put("uid", "00000000-0000-0000-0000-000000000000");
}

Result<Document> read_object(const std::string& path) {
  const auto text = read_file(path);
  if (!text) return fail(text.error());
  auto object = schema::parse_yaml(*text);
  if (!object) return bad_request(path + ": " + object.error().message);
  if (object->root()["kind"].text().empty()) return bad_request(path + " holds no Kubernetes object: it has no kind");
  complete(object->root());
  return object;
}

/// The context of a virtual cluster that need not exist.
Result<syncer::TranslateContext> context_of_template(const ExplainOptions& options) {
  std::map<std::string, std::string> parameters;
  for (const std::string& set : options.set) {
    const auto sign = set.find('=');
    if (sign == std::string::npos) return bad_request("--set " + set + ": expected NAME=VALUE");
    parameters[set.substr(0, sign)] = set.substr(sign + 1);
  }
  const std::string name = options.name.empty() ? "example" : options.name;
  const std::string host_namespace = options.host_namespace.empty() ? "sublet-" + name : options.host_namespace;
  auto made = Result<patches::Template>(patches::Template::none());
  if (!options.template_file.empty()) {
    const auto text = read_file(options.template_file);
    if (!text) return fail(text.error());
    made = patches::Template::load(*text, options.template_file);
  }
  if (!made) return fail(made.error());
  auto resolved = made->resolve(parameters, name, host_namespace);
  if (!resolved) return fail(resolved.error());
  syncer::TranslateContext context;
  context.virtual_cluster = name;
  context.virtual_cluster_uid = "00000000-0000-0000-0000-000000000000";
  context.host_namespace = host_namespace;
  context.host_service_account = "sublet-workload-" + name;
  context.api_server_host = "127.0.0.1";
  context.api_server_port = "443";
  context.resolved_template = *resolved;
  return context;
}

Result<std::unique_ptr<Side>> connect_to_host(const cluster::Driver& driver, const cluster::VirtualCluster& cluster) {
  const auto access = driver.syncer_access(cluster);
  if (!access) return fail(access.error());
  return Side::connect(*access);
}

// Fills in the pseudo names of nodes, as the syncer knows them.
Outcome learn_node_names(const cluster::Driver& driver, const cluster::VirtualCluster& cluster,
                         syncer::TranslateContext& context) {
  if (!syncer::config_of(context).pseudo_node_names) return {};
  auto key = driver.node_names_key(cluster);
  if (!key) return fail(key.error());
  context.node_names = std::make_shared<syncer::NodeNames>(std::move(*key));
  const auto side = connect_to_host(driver, cluster);
  if (!side) return fail(side.error());
  const auto nodes = (*side)->client().list({"", "v1", "nodes"}, "");
  if (!nodes) return fail(nodes.error());
  for (const schema::Value node : (*nodes)["items"])
    context.node_names->know(
        {node["metadata"]["name"].string(), node["metadata"]["labels"]["kubernetes.io/hostname"].string(), {}});
  return {};
}

Result<Document> host_object(const cluster::Driver& driver, const cluster::VirtualCluster& cluster,
                             const ObjectName& name, const syncer::TranslateContext& context) {
  const auto side = connect_to_host(driver, cluster);
  if (!side) return fail(side.error());
  ObjectName on_host = name;
  on_host.namespace_name = context.host_namespace;
  on_host.name = syncer::host_name(name.name, name.namespace_name, cluster.name);
  auto object = get_object(**side, on_host);
  if (!object && object.error().is(Reason::not_found)) return Document();
  if (object && object->root()["metadata"]["labels"][syncer::kLabelTenantUid].text() != cluster.uid) return Document();
  return object;
}

// Why an object never gets to the host; "" when its kind crosses.
std::string stays_in_tenant(const syncer::TranslateContext& context, const ObjectName& name) {
  if (name.facts->kind == "Service" && name.namespace_name == "default" && name.name == "kubernetes")
    return "service default/kubernetes stays in the virtual cluster: it is the API server's own, and pods get its "
           "address from their environment and DNS";
  const auto kinds = syncer::carried_kinds(context);
  if (std::ranges::any_of(kinds, [&](const auto& kind) { return kind.resource == name.resource(); })) return "";
  std::string crossing;
  for (const auto& kind : kinds) crossing += (crossing.empty() ? "" : ", ") + kind.kind;
  return name.text() + " stays in the virtual cluster: a " + std::string(name.facts->kind) +
         " has no counterpart on the host; its controller makes the objects that cross (" + crossing + ")";
}

Result<Question> ask(cluster::Driver& driver, const ExplainOptions& options) {
  Question out;
  if (!options.template_file.empty() || options.name.empty()) {
    auto context = context_of_template(options);
    if (!context) return fail(context.error());
    out.context = std::move(*context);
  } else {
    const auto cluster = find_named(driver, options.name, options.host_namespace);
    if (!cluster) return fail(cluster.error());
    auto context = cluster::translate_context(*cluster);
    if (!context) return fail(context.error());
    if (auto learnt = learn_node_names(driver, *cluster, *context); !learnt) return fail(learnt.error());
    out.context = std::move(*context);
    if (options.file.empty()) {
      const auto name = parse_object_name(options.object);
      if (!name) return fail(name.error());
      const auto access = driver.access(*cluster);
      if (!access) return fail(access.error());
      const auto side = Side::connect(*access);
      if (!side) return fail(side.error());
      auto tenant = get_object(**side, *name);
      if (!tenant) return fail(tenant.error());
      if (const std::string stays = stays_in_tenant(out.context, *name); !stays.empty())
        return fail(Reason::forbidden, stays);
      auto host = host_object(driver, *cluster, *name, out.context);
      if (!host) return fail(host.error());
      out.tenant = std::move(*tenant);
      out.host = std::move(*host);
      out.asked_host = true;
    }
  }
  if (!out.asked_host) {
    auto object = read_object(options.file);
    if (!object) return fail(object.error());
    out.tenant = std::move(*object);
  }
  out.kind = out.tenant.root()["kind"].string();
  return out;
}

std::string who(const ExplainedField& field) {
  using Cause = ExplainedField::Cause;
  switch (field.cause) {
    case Cause::row:
      return field.action + (field.why.empty() ? "" : ": " + field.why);
    case Cause::border:
      return "the border";
    case Cause::patch:
      return "the template's patch " + field.patch;
    case Cause::host:
      return "the host, or the syncer when it ran";
  }
  return "";
}

constexpr std::string_view kCauses[] = {"row", "border", "patch", "host"};

std::string cell(const std::string& json) {
  if (json.empty()) return "-";
  return printable(json.size() <= kValueMax ? json : json.substr(0, kValueMax - 3) + "...");
}

void print_text(const Question& question, const syncer::Explanation& answer) {
  const auto metadata = question.tenant.root()["metadata"];
  std::printf("%s %s/%s %s %s/%s\n", printable(question.kind).c_str(),
              printable(metadata["namespace"].string()).c_str(), printable(metadata["name"].string()).c_str(),
              question.asked_host && question.host.root().is_object() ? "is on the host" : "would be on the host",
              answer.host_namespace.c_str(), answer.host_name.c_str());
  OutputTable table({"FIELD", "TENANT", "HOST", "BY"});
  for (const ExplainedField& field : answer.fields)
    table.add_row({printable(field.path), cell(field.tenant), cell(field.host), printable(who(field))});
  std::fputs(table.text().c_str(), stdout);
  for (const std::string& warning : answer.warnings) std::printf("warning: %s\n", printable(warning).c_str());
}

void print_answer_json(const Question& question, const syncer::Explanation& answer) {
  auto document = json_object("Explanation");
  document["objectKind"] = question.kind;
  document["hostNamespace"] = answer.host_namespace;
  document["hostName"] = answer.host_name;
  document["onHost"] = question.asked_host && question.host.root().is_object();
  auto fields = nlohmann::json::array();
  for (const ExplainedField& field : answer.fields) {
    nlohmann::json entry;
    entry["field"] = field.path;
    if (!field.tenant.empty()) entry["tenant"] = nlohmann::json::parse(field.tenant, nullptr, false);
    if (!field.host.empty()) entry["host"] = nlohmann::json::parse(field.host, nullptr, false);
    entry["by"] = kCauses[static_cast<std::size_t>(field.cause)];
    if (!field.action.empty()) entry["action"] = field.action;
    if (!field.why.empty()) entry["why"] = field.why;
    if (!field.patch.empty()) entry["patch"] = field.patch;
    fields.push_back(std::move(entry));
  }
  document["fields"] = std::move(fields);
  document["warnings"] = answer.warnings;
  print_json(document);
}

}  // namespace

int explain(cluster::Driver& driver, const ExplainOptions& options) {
  if (options.file.empty() == options.object.empty())
    return usage_error("explain", "explain needs an object: NAME KIND/NAME of a virtual cluster, or -f FILE");
  const auto question = ask(driver, options);
  if (!question) return report(question.error());
  const auto answer = syncer::explain(
      question->context, question->kind, question->tenant.root(),
      question->asked_host && question->host.root().is_object() ? question->host.root() : schema::Value());
  if (!answer.denied.empty()) {
    for (const Cause& cause : answer.denied)
      std::fprintf(stderr, "it does not cross: %s%s%s\n", printable(cause.field).c_str(),
                   cause.field.empty() ? "" : ": ", printable(cause.message).c_str());
    return kRefused;
  }
  options.output == "json" ? print_answer_json(*question, answer) : print_text(*question, answer);
  return kOk;
}

namespace {

class ExplainCommand final : public Command {
 public:
  void declare(Words& words) override {
    words.text("NAME", options_.name, "the virtual cluster, also as `sublet list -o name` prints it");
    const Word object = words.text("OBJECT", options_.object, "KIND/NAME or KIND/NAMESPACE/NAME in it");
    words.text("-n,--namespace", options_.host_namespace, "its namespace on the host");
    words.file("-f,--filename", options_.file, "a file with an object, which need not be stored").excludes(object);
    Word of_template = words.file("--template", options_.template_file,
                                  "as a virtual cluster with this template would have it; needs no virtual cluster");
    words.texts("--set", options_.set, "NAME=VALUE, a parameter of that template; may be repeated").needs(of_template);
    of_template.excludes(object);
    words.output(options_.output);
    words.examples(
        "  sublet explain rag pod/web\n"
        "  sublet explain rag svc/team/web -o json\n"
        "  sublet explain rag -f pod.yaml           # before it is applied\n"
        "  sublet explain -f pod.yaml --template templates/gpu-fraction.yaml --set queue=research");
  }
  int run(const Invocation& invocation) override { return explain(*invocation.make_driver(), options_); }

 private:
  ExplainOptions options_;
};

}  // namespace

std::unique_ptr<Command> make_explain_command() { return std::make_unique<ExplainCommand>(); }

}  // namespace sublet::cli
