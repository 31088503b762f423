// A hunt for requests whose cost grows faster than they do: takes a valid object of a kind
// (tools/differential/seeds.txt has every GA kind), repeats a part of it, or of what its type could have, until the
// body is some 200 KB, four times as much and sixteen times as much (just under the 3 MiB that are taken at all), and
// sends it by one of the ways in which a body comes. Reported is where four times the input costs much more than four
// times the processor's time, and where the loop is held longer than a request may hold it.
//
//   growth_hunt SEED SECONDS|xCOUNT [FIRST]
//
// Every execution is a function of the seed and its number: `growth_hunt SEED x1 NUMBER` makes one again.
#include <cstdio>
#include <fstream>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "sublet/schema/registry.h"
#include "tests/attacks/growth_cluster.h"
#include "tests/support/source_path.h"

namespace sublet {
namespace {

using schema::Document;
using schema::Field;
using schema::Scalar;
using schema::Type;
using schema::Value;

#ifdef __OPTIMIZE__
constexpr std::size_t kSmall = 180'000;
constexpr double kHeldMax = 0.050;
constexpr double kRatioMax = 5.5;  // of four times the input; a square makes 16
#else                              // some twenty times slower
constexpr std::size_t kSmall = 16'000;
constexpr double kHeldMax = 0.500;
constexpr double kRatioMax = 9;
#endif
constexpr double kSecondsMin = 0.015;  // what takes less is not compared
constexpr int kTries = 6;              // before a figure is believed
constexpr int kDepthMax = 9;
constexpr int kLooksMax = 100;  // for a field that can grow: some types have none
constexpr std::string_view kMark = "@grown@", kIndex = "@i@";

struct Seed {
  std::string api_version, collection;
  std::vector<std::string> objects;
};

std::vector<Seed> read_seeds() {
  std::vector<Seed> seeds;
  std::ifstream file(source_path("tools/differential/seeds.txt"));
  for (std::string line; std::getline(file, line);) {
    for (std::size_t at = 0; (at = line.find("{ns}", at)) != std::string::npos;) line.replace(at, 4, "default");
    if (line.starts_with("### ")) {
      const auto space = line.find(' ', 4);
      seeds.push_back({line.substr(4, space - 4), line.substr(space + 1), {}});
    } else if (line.starts_with("{") && !seeds.empty()) {
      seeds.back().objects.push_back(line);
    }
  }
  return seeds;
}

class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t number) {
    std::seed_seq parts{seed, number};
    engine_.seed(parts);
  }
  std::size_t below(std::size_t n) { return n == 0 ? 0 : engine_() % n; }
  bool once_in(std::size_t n) { return below(n) == 0; }

 private:
  std::mt19937_64 engine_;
};

enum class Way { create, create_yaml, update, merge, strategic, apply, apply_again, count };
constexpr const char* kWays[] = {
    "create", "create of YAML", "update", "merge patch of the small one", "strategic patch of itself",
    "apply",  "apply of itself"};

/// An object with a part that can be any size.
struct Shape {
  std::string api, collection, name;  // of its path, and what it is called for people
  Way way = Way::create;
  std::string whole;  // JSON with kMark in the place of what grows
  std::string part;   // repeated with commas between, kIndex in it
  std::string small;  // the object as it was
};

std::string replace_all(std::string text, std::string_view what, std::string_view by) {
  std::string out;
  for (std::size_t from = 0;;) {
    const auto at = text.find(what, from);
    if (at == std::string::npos) return out.append(text, from);
    out.append(text, from, at - from).append(by);
    from = at + what.size();
  }
}

std::string body_of(const Shape& shape, std::size_t bytes, const std::string& name) {
  std::string grown;
  for (std::size_t i = 0; grown.size() + shape.whole.size() < bytes; ++i) {
    if (i > 0) grown += ',';
    grown += replace_all(shape.part, kIndex, std::to_string(i));
  }
  const auto at = shape.whole.find('"' + std::string(kMark) + '"');
  std::string whole = shape.whole;
  whole.replace(at, kMark.size() + 2, grown);
  return replace_all(std::move(whole), "@name@", name);
}

// --- shapes ----------------------------------------------------------------------------------------------------------

std::string path_of(const std::vector<std::string>& steps) {
  std::string out;
  for (const auto& step : steps) out += (out.empty() ? "" : ".") + step;
  return out;
}

/// Makes one shape of a seed.
class Grower {
 public:
  Grower(Random& random, Document object, Type type) : random_(random), object_(std::move(object)), type_(type) {}

  /// False: nothing here can grow.
  bool run(Shape& shape) {
    if (!(random_.once_in(2) ? grow_what_is_there() : grow_by_type())) return false;
    shape.name += path_of(steps_) + how_;
    std::string whole = object_.to_json();
    // The marked one is the only item, or the only member ({"@grown@":0}).
    shape.whole = replace_all(std::move(whole), '"' + std::string(kMark) + "\":0", '"' + std::string(kMark) + '"');
    shape.part = part_;
    return true;
  }

 private:
  // A list, a map or a text of the object.
  bool grow_what_is_there() {
    Value at = object_.root();
    while (true) {
      std::vector<Value> below;
      for (const Value child : at)
        if (child.is_array() || child.is_object()) below.push_back(child);
      const bool can_stop = at.is_array() || (steps_.size() > 1 && at.size() > 0 && all_texts(at));
      if (can_stop && (below.empty() || random_.once_in(2))) return grow_here(at);
      if (below.empty()) return false;
      at = below[random_.below(below.size())];
      steps_.push_back(at.key().empty() ? "[]" : std::string(at.key()));
    }
  }
  static bool all_texts(const Value& map) {
    for (const Value child : map)
      if (!child.is_string()) return false;
    return true;
  }
  bool grow_here(Value at) {
    if (at.empty()) return false;
    auto one_of = at.begin();
    for (std::size_t skip = random_.below(at.size()); skip > 0; --skip) ++one_of;
    const Value one = *one_of;
    if (at.is_array()) {
      part_ = numbered(one);
      at.clear();
      at.push(kMark);
    } else {
      part_ = "\"" + std::string(one.key()) + std::string(kIndex) + "\":" + numbered(one);
      at.clear();
      at.put(kMark, 0);
    }
    return true;
  }

  // A field that the type has, wherever.
  bool grow_by_type() {
    Value at = object_.root();
    Type type = type_;
    for (int looked = 0; looked < kLooksMax && steps_.size() < kDepthMax; ++looked) {
      if (type.field_count() == 0) return false;
      const Field field = type.field_at(random_.below(type.field_count()));
      if (field.inlined()) {
        type = field.type();
        continue;
      }
      if (steps_.empty() && (field.name() == "apiVersion" || field.name() == "kind")) continue;
      steps_.emplace_back(field.name());
      if (!at.is_object()) at.make_object();
      const bool message = field.scalar() == Scalar::message;
      const bool many = field.repeated() || field.map();
      if (many && !field.map_of_lists() && (!message || random_.once_in(2))) return grow_field(at, field);
      if (!message || field.map_of_lists()) return false;
      Value member = at.has(field.name()) ? at[field.name()] : at.add_member(field.name());
      if (field.repeated()) {
        if (!member.is_array()) member.make_array();
        at = member.empty() ? member.push_object() : member.at(0);
      } else if (field.map()) {
        if (!member.is_object()) member.make_object();
        at = member.empty() ? member.object("k") : *member.begin();
      } else {
        at = member;
      }
      type = field.type();
    }
    return false;
  }
  bool grow_field(Value at, const Field& field) {
    const std::string one = sample(field, 0);
    Value member = at.has(field.name()) ? at[field.name()] : at.add_member(field.name());
    if (field.map()) {
      part_ = "\"k" + std::string(kIndex) + "\":" + one;
      member.make_object();
      member.put(kMark, 0);
    } else {
      part_ = one;
      member.make_array();
      member.push(kMark);
    }
    return true;
  }

  std::string sample(const Field& field, int depth) {
    switch (field.scalar()) {
      case Scalar::message:
        return sample_of(field.type(), depth + 1);
      case Scalar::boolean:
        return "true";
      case Scalar::int32:
      case Scalar::int64:
      case Scalar::int_or_string:
        return "1";
      case Scalar::floating:
        return "1.5";
      case Scalar::quantity:
        return "\"1\"";
      case Scalar::bytes:
        return "\"YQ==\"";
      case Scalar::time:
      case Scalar::micro_time:
        return "\"2031-01-01T00:00:00Z\"";
      case Scalar::fields_v1:
      case Scalar::raw_extension:
      case Scalar::json:
        return "{}";
      default:
        break;
    }
    if (field.enum_values().size() > 0)
      return "\"" + std::string(field.enum_values()[random_.below(field.enum_values().size())]) + "\"";
    return "\"s" + std::string(kIndex) + "\"";
  }
  // One to three fields.
  std::string sample_of(const Type& type, int depth) {
    std::string out;
    const std::size_t wanted = 1 + random_.below(3);
    for (std::size_t i = 0, made = 0; i < type.field_count() && made < wanted && depth < 4; ++i) {
      const Field field = type.field_at(i);
      if (field.inlined() || (i > 1 && !random_.once_in(2))) continue;
      const std::string one = sample(field, depth);
      out += (out.empty() ? "\"" : ",\"") + std::string(field.name()) + "\":";
      out += field.map() ? "{\"k\":" + one + "}" : field.repeated() ? "[" + one + "]" : one;
      ++made;
    }
    return "{" + out + "}";
  }

  // The text of a value: the first text in it, each, or none of them is another in every copy.
  std::string numbered(const Value& value) {
    const std::size_t mode = random_.below(4);
    how_ = mode == 0 ? " (copies)" : mode == 1 ? " (each text another)" : "";
    std::size_t texts = mode == 0 ? 0 : mode == 1 ? 1000 : 1;
    Document copy;
    copy.root().set(value);
    number(copy.root(), texts);
    return copy.root().to_json();
  }
  static void number(Value value, std::size_t& texts) {
    if (value.is_string() && texts > 0) {
      --texts;
      value.set(value.string() + std::string(kIndex));
    }
    for (const Value child : value) number(child, texts);
  }

  Random& random_;
  Document object_;
  const Type type_;
  std::vector<std::string> steps_;
  std::string part_, how_;
};

std::optional<Shape> make_shape(const std::vector<Seed>& seeds, std::uint64_t seed, std::uint64_t number) {
  Random random(seed, number);
  const Seed& kind = seeds[random.below(seeds.size())];
  const auto slash = kind.api_version.find('/');
  const std::string group = slash == std::string::npos ? "" : kind.api_version.substr(0, slash);
  const std::string version = kind.api_version.substr(slash == std::string::npos ? 0 : slash + 1);
  const std::string resource = kind.collection.substr(kind.collection.rfind('/') + 1);
  const auto* facts = schema::Registry::builtin()->find_resource(group, version, resource);
  auto object = Document::parse_json(kind.objects[random.below(kind.objects.size())]);
  if (!facts || !object) return std::nullopt;
  Value root = object->root();
  root.put("apiVersion", kind.api_version);
  root.put("kind", facts->kind);
  root.object("metadata").put("name", "@name@");
  Shape shape;
  shape.small = object->to_json();
  shape.api = (group.empty() ? "/api/" : "/apis/") + kind.api_version;
  shape.collection = shape.api + "/" + kind.collection;
  shape.way = static_cast<Way>(random.below(static_cast<std::size_t>(Way::count)));
  shape.name = std::string(facts->kind) + ", " + kWays[static_cast<std::size_t>(shape.way)] + ": ";
  for (int tries = 0; tries < 20; ++tries) {
    Shape one = shape;
    if (Grower(random, object->clone(), facts->type).run(one)) return one;
  }
  return std::nullopt;
}

// --- cost ------------------------------------------------------------------------------------------------------------

struct Cost {
  double seconds = 0, held = 0;
  int code = 0;
};

Cost send(const Shape& shape, std::size_t bytes, bool watched = false) {
  const std::string name = "grown", at = shape.collection + "/" + name, json = "application/json";
  const std::string large = body_of(shape, bytes, name);
  Cluster cluster(false);
  Sent sent{"POST", shape.collection, json, large};
  switch (shape.way) {
    case Way::create:
      break;
    case Way::create_yaml:
      sent.type = "application/yaml";
      break;
    case Way::update:
      cluster.send({"POST", shape.collection, json, replace_all(shape.small, "@name@", name)});
      sent = {"PUT", at, json, large};
      break;
    case Way::merge:
      cluster.send({"POST", shape.collection, json, replace_all(shape.small, "@name@", name)});
      sent = {"PATCH", at, "application/merge-patch+json", large};
      break;
    case Way::strategic:
      cluster.send(sent);
      sent = {"PATCH", at, "application/strategic-merge-patch+json", large};
      break;
    case Way::apply_again:
    case Way::apply:
      sent = {"PATCH", at + "?fieldManager=hunt", "application/apply-patch+yaml", large};
      if (shape.way == Way::apply_again) cluster.send(sent);
      break;
    case Way::count:
      break;
  }
  std::optional<Watchman> watchman;  // it works all the time, which is no request's cost
  if (watched) watchman.emplace(cluster.loop());
  const double begun = processor_seconds();
  Cost cost;
  cost.code = cluster.send(sent).code;
  cost.seconds = processor_seconds() - begun;
  if (watchman) cost.held = watchman->most();
  return cost;
}

Cost least(const Cost& a, const Cost& b) { return {std::min(a.seconds, b.seconds), std::min(a.held, b.held), b.code}; }

bool grows(const Cost& small, const Cost& large) {
  return large.seconds >= kSecondsMin && large.seconds > kRatioMax * small.seconds;
}

/// False: something is wrong with it.
bool judge(const Shape& shape, std::uint64_t seed, std::uint64_t number, int (&codes)[6]) {
  Cost costs[3] = {{1e9, 1e9}, {1e9, 1e9}, {1e9, 1e9}};
  const auto wrong = [&] {
    return grows(costs[0], costs[1]) || grows(costs[1], costs[2]) || costs[2].held > kHeldMax || costs[2].code == 0;
  };
  double held = 1e9;
  for (int tries = 0; tries < kTries && (tries == 0 || wrong()); ++tries) {
    for (int size = 0; size < 3; ++size) costs[size] = least(costs[size], send(shape, kSmall << (2 * size)));
    if (held > kHeldMax) held = std::min(held, send(shape, kSmall << 4, true).held);
    costs[2].held = held;
  }
  ++codes[std::min(costs[0].code / 100, 5)];
  if (!wrong()) return true;
  std::printf(
      "GROWS %llu %llu: %s: %.1f ms, %.1f ms (x%.1f), %.1f ms (x%.1f), held %.1f ms, %d\n      %s\n      of %s\n",
      static_cast<unsigned long long>(seed), static_cast<unsigned long long>(number), shape.name.c_str(),
      costs[0].seconds * 1e3, costs[1].seconds * 1e3, costs[1].seconds / costs[0].seconds, costs[2].seconds * 1e3,
      costs[2].seconds / costs[1].seconds, costs[2].held * 1e3, costs[2].code, shape.part.substr(0, 200).c_str(),
      shape.whole.substr(0, 400).c_str());
  std::fflush(stdout);
  return false;
}

int hunt(std::uint64_t seed, const std::string& limit, std::uint64_t first) {
  const std::vector<Seed> seeds = read_seeds();
  if (seeds.empty()) return 2;
  const bool counted = limit.starts_with("x");
  const auto much = static_cast<std::uint64_t>(std::atoll(limit.c_str() + (counted ? 1 : 0)));
  const auto begun = std::chrono::steady_clock::now();
  std::uint64_t made = 0, wrong = 0, empty = 0;
  int codes[6] = {};
  for (std::uint64_t number = first;; ++number) {
    if (counted ? number - first >= much : std::chrono::steady_clock::now() - begun >= std::chrono::seconds(much))
      break;
    const auto shape = make_shape(seeds, seed, number);
    if (!shape) {
      ++empty;
      continue;
    }
    ++made;
    if (!judge(*shape, seed, number, codes)) ++wrong;
  }
  std::printf(
      "%llu shapes of %zu kinds sent in three sizes (the small one answered 2xx %d, 4xx %d, 5xx %d times), %llu grew "
      "or held "
      "the loop; %llu seeds had nothing to grow\n",
      static_cast<unsigned long long>(made), seeds.size(), codes[2], codes[4], codes[5],
      static_cast<unsigned long long>(wrong), static_cast<unsigned long long>(empty));
  return wrong > 0 || made == 0 ? 1 : 0;
}

}  // namespace
}  // namespace sublet

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: growth_hunt SEED SECONDS|xCOUNT [FIRST]\n");
    return 2;
  }
  return sublet::hunt(static_cast<std::uint64_t>(std::atoll(argv[1])), argv[2],
                      argc > 3 ? static_cast<std::uint64_t>(std::atoll(argv[3])) : 0);
}
