#include "simhost/container_world.h"

#include <optional>

#include "sublet/base/go_quoted.h"
#include "sublet/schema/engine.h"

namespace sublet::simhost {
namespace {

using shell::FileTree;
using Kind = Dependency::Kind;

/// key -> bytes of a ConfigMap or Secret.
std::map<std::string, std::string> data_of(const Lookup& lookup, Kind kind, std::string_view name) {
  std::map<std::string, std::string> out;
  const kube::CachedPtr object = lookup(kind, name);
  if (!object) return out;
  const schema::Document document = object->document();
  for (const schema::Value entry : document["data"])
    out[std::string(entry.key())] =
        kind == Kind::secret ? schema::base64_decode(entry.text()).value_or("") : entry.string();
  for (const schema::Value entry : document["binaryData"])
    out[std::string(entry.key())] = schema::base64_decode(entry.text()).value_or("");
  return out;
}

/// `KEY="VALUE"` lines, as the downward API writes labels and annotations.
std::string lines_of_map(const schema::Value& map) {
  std::map<std::string, std::string> sorted;
  for (const schema::Value entry : map) sorted[std::string(entry.key())] = entry.string();
  std::string out;
  for (const auto& [key, value] : sorted) out += (out.empty() ? "" : "\n") + key + "=" + go_quoted(value);
  return out;
}

/// metadata.labels['KEY'] and metadata.annotations['KEY'].
std::string keyed_field(const schema::Value& metadata, std::string_view path) {
  for (const std::string_view list : {"labels", "annotations"}) {
    const std::string head = "metadata." + std::string(list) + "['";
    if (path.starts_with(head) && path.ends_with("']"))
      return metadata[list][path.substr(head.size(), path.size() - head.size() - 2)].string();
  }
  return {};
}

std::string field(const WorldSource& source, std::string_view path) {
  const schema::Value metadata = source.pod["metadata"], spec = source.pod["spec"];
  if (path == "status.podIP" || path == "status.podIPs") return std::string(source.pod_ip);
  if (path == "status.hostIP" || path == "status.hostIPs") return std::string(source.host_ip);
  for (const char* name : {"name", "namespace", "uid"})
    if (path == "metadata." + std::string(name)) return metadata[name].string();
  for (const char* name : {"nodeName", "serviceAccountName"})
    if (path == "spec." + std::string(name)) return spec[name].string();
  for (const char* name : {"labels", "annotations"})
    if (path == "metadata." + std::string(name)) return lines_of_map(metadata[name]);
  return keyed_field(metadata, path);
}

/// The amount of limits.NAME or requests.NAME in units of the divisor, rounded up.
std::string resource(const WorldSource& source, const schema::Value& container, const schema::Value& reference) {
  constexpr __int128 kUnit = 1'000'000'000;
  const std::string_view wanted = reference["resource"].text();  // "limits.cpu"
  const auto dot = wanted.find('.');
  if (dot == std::string_view::npos) return {};
  const std::string_view list = wanted.substr(0, dot), name = wanted.substr(dot + 1);
  schema::Value amount = container["resources"][list][name];
  if (!amount && list == "limits") amount = source.node_allocatable[name];
  __int128 divisor = schema::quantity_nanos(reference["divisor"].text()).value_or(kUnit);
  if (divisor <= 0) divisor = kUnit;
  const __int128 nanos = schema::quantity_nanos(amount.text()).value_or(0);
  return std::to_string(static_cast<std::int64_t>((nanos + divisor - 1) / divisor));
}

/// "$(NAME)" replaced by variables that are known, "$$" by "$".
std::string replace_references(std::string_view text, const shell::Variables& variables) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t end = text.substr(i).starts_with("$(") ? text.find(')', i) : std::string_view::npos;
    if (text.substr(i).starts_with("$$")) {
      out += text[i++];
      continue;
    }
    const auto found =
        end == std::string_view::npos ? variables.end() : variables.find(std::string(text.substr(i + 2, end - i - 2)));
    if (found == variables.end()) {
      out += text[i];
      continue;
    }
    out += found->second;
    i = end;
  }
  return out;
}

std::string value_from(const WorldSource& source, const schema::Value& from) {
  if (from["fieldRef"]) return field(source, from["fieldRef"]["fieldPath"].text());
  const auto keyed = [&](Kind kind, const schema::Value& reference) {
    const auto all = data_of(source.lookup, kind, reference["name"].text());
    const auto found = all.find(reference["key"].string());
    return found == all.end() ? std::string() : found->second;
  };
  if (from["configMapKeyRef"]) return keyed(Kind::config_map, from["configMapKeyRef"]);
  if (from["secretKeyRef"]) return keyed(Kind::secret, from["secretKeyRef"]);
  return from["resourceFieldRef"] ? resource(source, source.container, from["resourceFieldRef"]) : std::string();
}

shell::Variables environment(const WorldSource& source) {
  shell::Variables out{{"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}, {"HOME", "/root"}};
  for (const schema::Value from : source.container["envFrom"]) {
    const std::string prefix = from["prefix"].string();
    for (const auto& [kind, reference] :
         {std::pair(Kind::config_map, from["configMapRef"]), std::pair(Kind::secret, from["secretRef"])})
      if (reference)
        for (auto& [key, value] : data_of(source.lookup, kind, reference["name"].text())) out[prefix + key] = value;
  }
  for (const schema::Value variable : source.container["env"])
    out[variable["name"].string()] = variable["valueFrom"] ? value_from(source, variable["valueFrom"])
                                                           : replace_references(variable["value"].text(), out);
  return out;
}

using FileMap = std::map<std::string, std::string>;  // content by path

/// Adds the keys of a ConfigMap or Secret as files: all of them, or the `items`.
void add_keys(FileMap& files, const Lookup& lookup, Kind kind, const schema::Value& source, const char* name_key) {
  if (!source) return;
  const auto all = data_of(lookup, kind, source[name_key].text());
  const schema::Value items = source["items"];
  if (items.empty()) {
    for (const auto& [key, content] : all) files["/" + key] = content;
    return;
  }
  for (const schema::Value item : items)
    if (const auto found = all.find(item["key"].string()); found != all.end())
      files["/" + item["path"].string()] = found->second;
}

void add_downward_api(FileMap& files, const WorldSource& source, const schema::Value& items) {
  for (const schema::Value item : items) {
    const schema::Value reference = item["resourceFieldRef"];
    schema::Value container;
    for (const char* list : {"containers", "initContainers"})
      for (const schema::Value each : source.pod["spec"][list])
        if (each["name"].text() == reference["containerName"].text()) container = each;
    files["/" + item["path"].string()] =
        reference ? resource(source, container, reference) : field(source, item["fieldRef"]["fieldPath"].text());
  }
}

/// The files of a volume that shows objects of the API; nullopt for any other volume.
std::optional<FileMap> files_of(const WorldSource& source, const schema::Value& volume) {
  if (!volume["configMap"] && !volume["secret"] && !volume["downwardAPI"] && !volume["projected"]) return std::nullopt;
  FileMap out;
  add_keys(out, source.lookup, Kind::config_map, volume["configMap"], "name");
  add_keys(out, source.lookup, Kind::secret, volume["secret"], "secretName");
  add_downward_api(out, source, volume["downwardAPI"]["items"]);
  for (const schema::Value projected : volume["projected"]["sources"]) {
    add_keys(out, source.lookup, Kind::config_map, projected["configMap"], "name");
    add_keys(out, source.lookup, Kind::secret, projected["secret"], "name");
    add_downward_api(out, source, projected["downwardAPI"]["items"]);
  }
  return out;
}

std::shared_ptr<FileTree> volume_tree(const WorldSource& source, const schema::Value& volume, WallTime at) {
  const std::string path = volume["hostPath"]["path"].string();
  std::shared_ptr<FileTree>& tree = path.empty() ? source.volumes[volume["name"].string()] : source.host_paths[path];
  if (tree) return tree;
  tree = std::make_shared<FileTree>();
  if (const auto files = files_of(source, volume)) tree->replace(*files, at);
  return tree;
}

}  // namespace

std::string host_name(const schema::Value& pod) {
  constexpr std::size_t kHostNameMax = 63;
  const schema::Value spec = pod["spec"];
  if (const std::string_view chosen = spec["hostnameOverride"].text(); !chosen.empty()) return std::string(chosen);
  std::string out = spec["hostname"].string();
  if (out.empty()) out = pod["metadata"]["name"].string();
  out.resize(std::min(out.size(), kHostNameMax));
  while (out.ends_with('-') || out.ends_with('.')) out.pop_back();
  return out;
}

void refresh_volumes(const WorldSource& source, WallTime now) {
  for (const schema::Value volume : source.pod["spec"]["volumes"]) {
    const auto known = source.volumes.find(volume["name"].string());
    if (known == source.volumes.end()) continue;
    if (const auto files = files_of(source, volume)) known->second->replace(*files, now);
  }
}

shell::World make_world(const WorldSource& source, WallTime start, Random& random) {
  shell::World out;
  out.start = start;
  out.random = &random;
  out.hostname = host_name(source.pod);
  out.variables = environment(source);
  for (const schema::Value mount : source.container["volumeMounts"])
    for (const schema::Value volume : source.pod["spec"]["volumes"])
      if (volume["name"].text() == mount["name"].text())
        out.files.mount(mount["mountPath"].string(), volume_tree(source, volume, start), mount["subPath"].string());
  return out;
}

shell::Words words_of(const schema::Value& command, const shell::Variables& variables) {
  shell::Words out;
  for (const schema::Value word : command) out.push_back(replace_references(word.text(), variables));
  return out;
}

shell::Words command_line(const schema::Value& container, const shell::Variables& variables) {
  shell::Words out = words_of(container["command"], variables);
  if (out.empty()) return out;
  for (std::string& word : words_of(container["args"], variables)) out.push_back(std::move(word));
  return out;
}

}  // namespace sublet::simhost
