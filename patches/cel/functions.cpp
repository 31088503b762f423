#include "patches/cel/functions.h"

#include <algorithm>
#include <unordered_map>

namespace sublet::patches::cel {

namespace {

// What a library came with: a Kubernetes release; templates and the conformance tests have what is marked.
struct Offer {
  Set set;
  int minor;  // 0: never
  bool templates;
  bool standard;
};

constexpr Offer kOffers[] = {
    {Set::core, 1, true, true},
    {Set::optional, 28, true, true},
    {Set::strings, 1, true, true},
    {Set::strings_more, 0, true, true},
    {Set::lists, 34, true, true},
    {Set::sets, 29, true, true},
    {Set::math, 0, true, true},
    {Set::bindings, 0, true, true},
    {Set::encoders, 0, true, true},
    {Set::two_variables, 32, true, true},
    {Set::kubernetes, 1, true, false},
    {Set::authorizer, 27, false, false},
    {Set::authorizer_selectors, 31, false, false},
    {Set::quantity, 28, true, false},
    {Set::quantity_more, 0, true, false},
    {Set::network, 30, true, false},
    {Set::format, 31, true, false},
    {Set::semver, 33, true, false},
    {Set::patches, 1, false, false},
};
static_assert(std::size(kOffers) == static_cast<std::size_t>(Set::patches) + 1);

constexpr std::pair<std::string_view, Kind> kTypeWords[] = {
    {"int", Kind::integer},
    {"uint", Kind::uinteger},
    {"double", Kind::floating},
    {"bool", Kind::boolean},
    {"string", Kind::string},
    {"bytes", Kind::bytes},
    {"timestamp", Kind::timestamp},
    {"duration", Kind::duration},
    {"dyn", Kind::dyn},
    {"null", Kind::null},
    {"quantity", Kind::quantity},
    {"url", Kind::url},
    {"ip", Kind::ip},
    {"cidr", Kind::cidr},
    {"semver", Kind::semver},
    {"format", Kind::format},
    {"authorizer", Kind::authorizer},
    {"path", Kind::path_check},
    {"group", Kind::group_check},
    {"resource", Kind::resource_check},
    {"decision", Kind::decision},
};

// Reads signatures. They are ours, so a mistake in one shows at once: value() of nothing aborts in every test.
class SignatureReader {
 public:
  explicit SignatureReader(std::string_view text) : rest_(text) {}

  Function read() {
    Function function;
    if (peek() != '(') {
      function.is_method = true;
      function.arguments.push_back(type());
      skip(".");
    }
    skip("(");
    while (peek() != ')') {
      function.arguments.push_back(type());
      if (peek() == ',') skip(", ");
    }
    skip(") -> ");
    function.result = type();
    function.generic = generic_;
    return function;
  }

 private:
  char peek() const { return rest_.empty() ? '\0' : rest_.front(); }
  void skip(std::string_view text) { rest_.remove_prefix(std::min(text.size(), rest_.size())); }

  TypeRef type() {
    const std::string_view word = rest_.substr(0, rest_.find_first_of("(),. "));
    skip(word);
    if (word.size() == 1 && word[0] >= 'A' && word[0] <= 'Z') {
      generic_ = true;
      return Type::parameter(std::string(word));
    }
    if (word == "list" || word == "optional" || word == "type") {
      skip("(");
      TypeRef inner = type();
      skip(")");
      return word == "list" ? Type::list(inner) : (word == "type" ? Type::type_of(inner) : Type::optional(inner));
    }
    if (word == "map") {
      skip("(");
      TypeRef key = type();
      skip(", ");
      TypeRef value = type();
      skip(")");
      return Type::map(key, value);
    }
    for (const auto& [name, kind] : kTypeWords)
      if (name == word) return Type::of(kind);
    std::abort();
  }

  std::string_view rest_;
  bool generic_ = false;
};

using Index = std::unordered_map<std::string_view, std::vector<Function>>;

Index build_index() {
  Index index;
  for (const auto& table : {operator_table(), comparison_table(), conversion_table(), string_table(), list_table(),
                            optional_table(), math_table(), set_table(), time_table(), quantity_table(), url_table(),
                            network_table(), semver_table(), format_table(), authorizer_table(), patch_table()})
    for (const Overload& row : table) {
      Function function = SignatureReader(row.signature).read();
      function.row = &row;
      function.cost = cost_way(row.name, row.id);
      function.cost_as_one_of_many = cost_way(row.name, "");
      index[row.name].push_back(std::move(function));
    }
  return index;
}

const Index& index() {
  static const Index built = build_index();
  return built;
}

bool accepts_value(const Type& type, const Value& value) {
  if (type.kind == Kind::dyn || type.kind == Kind::parameter) return true;
  if (type.kind != value.kind()) return false;
  bool fits = true;
  if (type.kind == Kind::list)
    value.each_item([&](const Value& item) {
      fits = accepts_value(*type.parameters[0], item);
      return false;
    });
  if (type.kind == Kind::map)
    value.each_entry([&](const Value& key, const Value& entry) {
      fits = accepts_value(*type.parameters[0], key) && accepts_value(*type.parameters[1], entry);
      return false;
    });
  return fits;
}

}  // namespace

bool available(Set set, const Environment& environment) {
  if (set == Set::patches) return environment.offers_patches();
  if (set == Set::bindings && environment.offers_bindings()) return true;
  const Offer& offer = kOffers[static_cast<std::size_t>(set)];
  if (environment.library() == Library::templates) return offer.templates;
  if (environment.library() == Library::standard) return offer.standard;
  return offer.minor != 0 && environment.minor() >= offer.minor;
}

const std::vector<Function>& overloads_of(std::string_view name) {
  static const std::vector<Function> kNone;
  const auto found = index().find(name);
  return found == index().end() ? kNone : found->second;
}

std::vector<std::string_view> function_names(const Environment& environment) {
  std::vector<std::string_view> names;
  for (const auto& [name, overloads] : index())
    if (name.find('_') == std::string_view::npos && name.find('@') == std::string_view::npos &&
        available(overloads.front().row->set, environment))
      names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

bool accepts(const Function& function, Arguments arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (!accepts_value(*function.arguments[i], arguments[i])) return false;
  return true;
}

Value plain_no_such_overload() { return Value::error("no such overload"); }

namespace {

// Operators ask the left value, which knows no better; of a kind that has no such operator at all, the operator is
// named.
struct Asked {
  std::string_view name;
  std::vector<Kind> kinds;  // empty: any
};

const std::vector<Asked>& asked() {
  using enum Kind;
  static const std::vector<Kind> kOrdered = {boolean, integer, uinteger, floating, string, bytes, timestamp, duration};
  static const std::vector<Asked> kAsked = {
      {"_+_", {integer, uinteger, floating, string, bytes, list, timestamp, duration}},
      {"_-_", {integer, uinteger, floating, string, timestamp, duration}},
      {"_*_", {integer, uinteger, floating, string, timestamp, duration}},
      {"_/_", {integer, uinteger, floating, string, timestamp, duration}},
      {"_%_", {integer, uinteger, string, timestamp, duration}},
      {"-_", {boolean, integer, floating, string, timestamp, duration}},
      {"_<_", kOrdered},
      {"_<=_", kOrdered},
      {"_>_", kOrdered},
      {"_>=_", kOrdered},
      {"size", {timestamp, duration}},
      {"matches", {string, timestamp, duration}},
      {"!_", {}},
      {"@in", {}},
      {"contains", {}},
      {"startsWith", {}},
      {"endsWith", {}},
  };
  return kAsked;
}

}  // namespace

Value no_such_overload(std::string_view name, Arguments arguments) {
  for (const Asked& operation : asked()) {
    if (operation.name != name) continue;
    const bool knows = operation.kinds.empty() || std::find(operation.kinds.begin(), operation.kinds.end(),
                                                            arguments[0].kind()) != operation.kinds.end();
    return knows ? plain_no_such_overload() : Value::error("no such overload: " + std::string(name));
  }
  std::string text = "no such overload: " + std::string(name) + '(';
  for (std::size_t i = 0; i < arguments.size(); ++i)
    text += (i ? ", " : "") + std::string(kind_name(arguments[i].kind()));
  return Value::error(text + ')');
}

}  // namespace sublet::patches::cel
