#include "tests/history/object_text.h"

#include <simdjson.h>

#include <charconv>
#include <functional>

namespace sublet::history {
namespace {

namespace dom = simdjson::dom;

constexpr std::string_view kNamePrefix = "key-";
constexpr const char* kColors[] = {"red", "green", "blue"};

template <typename Number>
bool parse(std::string_view text, Number& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

std::string_view text_at(dom::element element, const char* pointer) {
  std::string_view text;
  return element.at_pointer(pointer).get(text) == simdjson::SUCCESS ? text : std::string_view();
}

std::string pad_of(std::uint32_t a) { return std::string(a * 7919u % 120u, static_cast<char>('a' + a % 26)); }

Version version_of(dom::element element) {
  Version version = 0;
  return parse(text_at(element, "/metadata/resourceVersion"), version) ? version : 0;
}

std::optional<ReadObject> read(dom::element element, std::string& problem) {
  ReadObject out;
  const std::string_view name = text_at(element, "/metadata/name");
  if (!name.starts_with(kNamePrefix)) return out;
  out.ours = true;
  out.uid = std::hash<std::string_view>()(text_at(element, "/metadata/uid"));
  out.object.version = version_of(element);
  const bool whole = parse(name.substr(kNamePrefix.size()), out.object.key) && out.object.version != 0 &&
                     parse(text_at(element, "/data/a"), out.object.a) &&
                     parse(text_at(element, "/data/b"), out.object.b);
  if (!whole || text_at(element, "/data/pad") != pad_of(out.object.a) ||
      text_at(element, "/metadata/labels/color") != color_of(out.object.a))
    problem = "an object whose parts do not fit together: " + simdjson::to_string(element);
  return out;
}

template <typename Read>
auto parsed(std::string_view json, std::string& problem, Read read) -> decltype(read(dom::element())) {
  static thread_local dom::parser parser;
  dom::element element;
  if (parser.parse(json.data(), json.size()).get(element) == simdjson::SUCCESS) return read(element);
  problem = "not JSON: " + std::string(json.substr(0, 300));
  return {};
}

}  // namespace

std::string object_path(std::uint16_t key) { return std::string(kObjectsPath) + "/key-" + std::to_string(key); }

const char* color_of(std::uint32_t a) { return kColors[a % 3]; }

std::string object_body(std::uint16_t key, std::uint32_t a, std::uint32_t b, Version version) {
  std::string body = R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"key-)" + std::to_string(key) + "\"";
  if (version != 0) body += R"(,"resourceVersion":")" + std::to_string(version) + "\"";
  return body + R"(,"labels":{"color":")" + color_of(a) + R"("}},"data":{"a":")" + std::to_string(a) + R"(","b":")" +
         std::to_string(b) + R"(","pad":")" + pad_of(a) + "\"}}";
}

std::string patch_body(std::uint32_t b) { return R"({"data":{"b":")" + std::to_string(b) + "\"}}"; }

std::string delete_body(Version version) {
  return R"({"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"resourceVersion":")" + std::to_string(version) +
         "\"}}";
}

std::optional<ReadObject> read_object(std::string_view json, std::string& problem) {
  return parsed(json, problem, [&](dom::element element) { return read(element, problem); });
}

std::optional<Listed> read_list(std::string_view json, std::string& problem) {
  return parsed(json, problem, [&](dom::element element) -> std::optional<Listed> {
    Listed list{.version = version_of(element)};
    dom::array items;
    if (element["items"].get(items) != simdjson::SUCCESS) {
      problem = "a list without items";
      return {};
    }
    for (dom::element item : items)
      if (const auto object = read(item, problem); object && object->ours)
        list.objects[object->object.key] = object->object;
    return list;
  });
}

std::optional<StreamItem> read_watch_line(std::string_view json, bool& ours, std::string& problem) {
  return parsed(json, problem, [&](dom::element element) -> std::optional<StreamItem> {
    const std::string_view type = text_at(element, "/type");
    dom::element object;
    if (type.empty() || type == "ERROR" || element["object"].get(object) != simdjson::SUCCESS) {
      problem = "a watch said " + std::string(json.substr(0, 300));
      return {};
    }
    ours = true;
    StreamItem item;
    if (type == "BOOKMARK") {
      item.kind = text_at(object, "/metadata/annotations/k8s.io~1initial-events-end") == "true"
                      ? StreamItem::Kind::initial_end
                      : StreamItem::Kind::bookmark;
      item.event.version = version_of(object);
      return item;
    }
    const auto read_out = read(object, problem);
    ours = read_out && read_out->ours;
    if (!ours) return {};
    item.event = read_out->object;
    item.event.change = type == "ADDED" ? Change::added : type == "MODIFIED" ? Change::modified : Change::deleted;
    return item;
  });
}

std::string read_reason(std::string_view json) {
  std::string problem;
  return parsed(json, problem, [](dom::element element) { return std::string(text_at(element, "/reason")); });
}

Version read_version(std::string_view json) {
  std::string problem;
  return parsed(json, problem, [](dom::element element) { return version_of(element); });
}

}  // namespace sublet::history
