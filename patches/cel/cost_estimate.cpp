#include <algorithm>
#include <cmath>
#include <functional>
#include <unordered_map>

#include "patches/cel/cost.h"
#include "patches/cel/text.h"
#include "patches/cel/unifier.h"

namespace sublet::patches::cel {

namespace {

constexpr std::uint64_t kMost = UINT64_MAX;

std::uint64_t plus(std::uint64_t a, std::uint64_t b) { return a > kMost - b ? kMost : a + b; }
std::uint64_t times(std::uint64_t a, std::uint64_t b) { return b != 0 && a > kMost / b ? kMost : a * b; }
std::uint64_t scaled(std::uint64_t a, double factor) {
  const double product = std::ceil(static_cast<double>(a) * factor);
  return product >= 18446744073709551616.0 ? kMost : static_cast<std::uint64_t>(product);
}

// From the least to the most; of sizes and of costs alike.
struct Range {
  std::uint64_t min = 0;
  std::uint64_t max = 0;

  Range operator+(const Range& other) const { return {plus(min, other.min), plus(max, other.max)}; }
  Range operator*(const Range& other) const { return {times(min, other.min), times(max, other.max)}; }
  Range operator*(double factor) const { return {scaled(min, factor), scaled(max, factor)}; }
  Range joined(const Range& other) const { return {std::min(min, other.min), std::max(max, other.max)}; }
};
constexpr Range exactly(std::uint64_t count) { return {count, count}; }
constexpr Range kUnknown{0, kMost};

// Sizes of what is in a list or map.
struct Entries {
  Kind container = Kind::list;
  Range key, value;
};

using FieldPath = std::vector<std::string>;

struct EstimatedVariable {
  std::string_view name;
  FieldPath path;
  std::optional<Range> size;
  std::optional<Entries> entries;
};

// An expression or an element of one, as the rules of functions see it.
struct Operand {
  FieldPath path;
  TypeRef type;
  const Node* node = nullptr;
  std::optional<Range> size;
};

struct CallEstimate {
  Range cost;
  std::optional<Range> size;  // of the result
};

bool is_scalar_type(const Type& type) {
  switch (type.kind) {
    case Kind::boolean:
    case Kind::floating:
    case Kind::duration:
    case Kind::integer:
    case Kind::timestamp:
    case Kind::uinteger:
      return true;
    case Kind::optional:
      return is_scalar_type(*type.parameters[0]);
    default:
      return false;
  }
}

class Estimator {
 public:
  explicit Estimator(const Environment& environment)
      : environment_(environment), presence_costs_(environment.library() != Library::kubernetes) {}

  Range cost(const Node& node);

 private:
  Range cost_of_select(const Node& node);
  Range cost_of_call(const Node& node);
  Range cost_of_list(const Node& node);
  Range cost_of_map(const Node& node);
  Range cost_of_comprehension(const Node& node);
  Range cost_of_bind(const Node& node);
  void push_variables(const Node& node);

  FieldPath path_of(const Node& node) const;
  std::optional<Range> hinted_size(const FieldPath& path) const;
  std::optional<Range> size(const Node& node);
  Range size_or_unknown(const Node& node) { return size(node).value_or(kUnknown); }
  std::optional<Entries> entries(const Node& node) const;
  std::optional<Range> element_size(const Node& node) const {
    const auto known = entries(node);
    return known ? std::optional(known->value) : std::nullopt;
  }
  Operand operand(const Node& node);
  Range size_of(const Operand& operand) const {
    return operand.size ? *operand.size : hinted_size(operand.path).value_or(kUnknown);
  }

  using Operands = std::vector<Operand>;
  CallEstimate function_cost(const Node& node, std::string_view id, const std::optional<Operand>& target,
                             const Operands& arguments, const std::vector<Range>& costs);
  std::optional<CallEstimate> extension_cost(std::string_view id, const std::optional<Operand>& target,
                                             const Operands& arguments) const;
  std::optional<CallEstimate> kubernetes_cost(std::string_view function, std::string_view id,
                                              const std::optional<Operand>& target, const Operands& arguments) const;
  std::optional<CallEstimate> equality_cost(const Operands& arguments) const;
  Range traversal_cost(const Operand& target) const;
  CallEstimate text_cost(std::string_view function, CostWay way, const std::optional<Operand>& target,
                         const Operands& arguments) const;
  CallEstimate replace_cost(const Operand& target, const Operands& arguments) const;
  CallEstimate join_cost(const Operand& target, const Operands& arguments) const;
  std::optional<Operand> element_of(const Operand& list) const;

  const EstimatedVariable* local(std::string_view name) const {
    for (auto known = locals_.rbegin(); known != locals_.rend(); ++known)
      if (known->name == name) return &*known;
    return nullptr;
  }

  const Environment& environment_;
  bool presence_costs_;
  std::vector<EstimatedVariable> locals_;
  std::unordered_map<const Node*, FieldPath> paths_;
  std::unordered_map<const Node*, Range> sizes_;
  std::unordered_map<const Node*, Entries> entries_;
};

Range Estimator::cost(const Node& node) {
  switch (node.op) {
    case Op::literal:
      if (!node.named) return {};
      paths_[&node] = {std::string(node.literal.as_text())};
      return exactly(1);
    case Op::variable:
    case Op::local:
    case Op::identifier: {
      const EstimatedVariable* known = node.op == Op::local ? local(node.name) : nullptr;
      paths_[&node] = known ? known->path : FieldPath{node.name};
      return exactly(1);
    }
    case Op::has:
      return exactly(presence_costs_ ? 1 : 0) + cost(*node.children[0]);
    case Op::select:
      return node.optional ? cost_of_call(node) : cost_of_select(node);
    case Op::list:
      return cost_of_list(node);
    case Op::map:
      return cost_of_map(node);
    case Op::comprehension:
      return is_bind(node) ? cost_of_bind(node) : cost_of_comprehension(node);
    case Op::message:
      return {};
    default:
      return cost_of_call(node);
  }
}

Range Estimator::cost_of_select(const Node& node) {
  const Node& target = *node.children[0];
  Range sum = cost(target);
  const Kind kind = target.type->kind;
  if (kind == Kind::map || kind == Kind::object || kind == Kind::parameter) sum = sum + exactly(1);
  FieldPath path = path_of(target);
  path.push_back(node.name);
  paths_[&node] = std::move(path);
  return sum;
}

Range Estimator::cost_of_call(const Node& node) {
  if (node.op == Op::call && node.name == "dyn" && node.children.size() == 1) {
    const Node& argument = *node.children[0];
    const Range inner = cost(argument);
    if (const auto known = size(argument)) sizes_[&node] = *known;
    if (const auto known = entries(argument)) entries_[&node] = *known;
    return exactly(1) + inner;
  }
  const std::size_t first = node.is_method ? 1 : 0;
  Operands arguments;
  std::vector<Range> costs;
  for (std::size_t i = first; i < node.children.size(); ++i) {
    costs.push_back(cost(*node.children[i]));
    arguments.push_back(operand(*node.children[i]));
  }
  Range sum;
  std::optional<Operand> target;
  std::vector<std::string_view> ids;
  if (node.op == Op::logical_and || node.op == Op::logical_or)
    ids.emplace_back(node.op == Op::logical_and ? "logical_and" : "logical_or");
  else if (node.op == Op::select)
    ids.emplace_back("select_optional_field");
  else
    for (const Function* function : node.overloads) ids.push_back(function->row->id);
  if (ids.empty()) return {};
  if (node.is_method) {
    sum = cost(*node.children[0]);
    target = operand(*node.children[0]);
  }
  Range call{kMost, 0};
  std::optional<Range> result;
  for (const std::string_view id : ids) {
    const CallEstimate estimate = function_cost(node, id, target, arguments, costs);
    call = call.joined(estimate.cost);
    if (estimate.size) result = result ? result->joined(*estimate.size) : *estimate.size;
    if (id == "index_list" || id == "index_map") {
      result = element_size(*node.children[0]);
      FieldPath path = path_of(*node.children[0]);
      path.emplace_back(id == "index_list" ? "@items" : "@values");
      paths_[&node] = std::move(path);
    }
    if (!result) result = size(node);
  }
  if (result) sizes_[&node] = *result;
  return sum + call;
}

Range Estimator::cost_of_list(const Node& node) {
  Range sum;
  Range items{node.children.empty() ? 0 : kMost, 0};
  for (const NodePtr& child : node.children) {
    sum = sum + cost(*child);
    items = items.joined(size_or_unknown(*child));
  }
  entries_[&node] = {Kind::list, exactly(1), items};
  return sum + exactly(kListCost);
}

Range Estimator::cost_of_map(const Node& node) {
  Range sum;
  Range keys{node.children.empty() ? 0 : kMost, 0};
  Range values = keys;
  for (std::size_t i = 0; i + 1 < node.children.size(); i += 2) {
    sum = sum + cost(*node.children[i]) + cost(*node.children[i + 1]);
    keys = keys.joined(size_or_unknown(*node.children[i]));
    values = values.joined(size_or_unknown(*node.children[i + 1]));
  }
  entries_[&node] = {Kind::map, keys, values};
  return sum + exactly(kMapCost);
}

void Estimator::push_variables(const Node& node) {
  const Node& range = *node.children[kRange];
  const auto known = entries(range);
  const Kind container = known ? known->container : range.type->kind;
  const bool list = container == Kind::list;
  const auto push = [&](std::string_view name, const char* part, bool value) {
    FieldPath path = path_of(range);
    path.emplace_back(part);
    locals_.push_back(
        {name, std::move(path), known ? std::optional(value ? known->value : known->key) : std::nullopt, std::nullopt});
  };
  if (node.variables.size() == 2) {
    // Upstream's two paths share memory while there is room behind the range's, whose place grows by doubling: the
    // second then overwrites the first. Numbers that CRDs are taken or refused by stay as they are.
    const std::size_t length = path_of(range).size();
    const bool shared = (length & (length - 1)) != 0;
    push(node.variables[0], shared ? (list ? "@items" : "@values") : (list ? "@indices" : "@keys"), false);
    push(node.variables[1], list ? "@items" : "@values", true);
  } else {
    push(node.variables[0], list ? "@items" : "@keys", list);
  }
}

Range Estimator::cost_of_comprehension(const Node& node) {
  const Node& start = *node.children[kStart];
  Range sum = cost(*node.children[kRange]) + cost(start);
  locals_.push_back({node.accumulator, path_of(start), size(start), entries(start)});
  push_variables(node);
  const Range condition = cost(*node.children[kCondition]);
  const Range step = cost(*node.children[kStep]);
  locals_.resize(locals_.size() - node.variables.size());
  sum = sum + cost(*node.children[kResult]);
  locals_.pop_back();
  const Range count = size_or_unknown(*node.children[kRange]);
  sum = sum + count * (step + condition);
  if (start.op == Op::literal) {
    if (const auto known = size(start)) sizes_[&node] = *known;
  } else if (start.op == Op::list || start.op == Op::map) {
    sizes_[&node] = count;
    if (const auto known = entries(*node.children[kStep])) entries_[&node] = *known;
  }
  return sum;
}

Range Estimator::cost_of_bind(const Node& node) {
  const Node& start = *node.children[kStart];
  const Node& result = *node.children[kResult];
  Range sum = cost(*node.children[kRange]) + cost(start);
  locals_.push_back({node.accumulator, path_of(start), size(start), entries(start)});
  sum = sum + cost(result);
  locals_.pop_back();
  if (const auto known = size(result)) sizes_[&node] = *known;
  if (const auto known = entries(result)) entries_[&node] = *known;
  return sum;
}

FieldPath Estimator::path_of(const Node& node) const {
  if (node.op == Op::local)
    if (const EstimatedVariable* known = local(node.name)) return known->path;
  const auto found = paths_.find(&node);
  return found == paths_.end() ? FieldPath() : found->second;
}

// What the declared types say about the part that a path leads to.
std::optional<Range> Estimator::hinted_size(const FieldPath& path) const {
  if (path.empty()) return std::nullopt;
  const int slot = environment_.slot_of(path[0]);
  if (slot < 0) return std::nullopt;
  const auto& variable = environment_.variables()[static_cast<std::size_t>(slot)];
  const Type* at = variable.shape.get();
  for (std::size_t i = 1; i < path.size(); ++i) {
    const std::string& part = path[i];
    if (part == "@items" || part == "@values") {
      if (at->kind != Kind::list && at->kind != Kind::map) return std::nullopt;
      at = at->parameters.back().get();
    } else if (part == "@keys") {
      if (at->kind != Kind::map) return std::nullopt;
      at = at->parameters[0].get();
    } else {
      const TypeField* field = at->kind == Kind::object ? at->field(part) : nullptr;
      if (!field || !field->type) return std::nullopt;
      at = field->type.get();
    }
  }
  if (!at->max_elements) return std::nullopt;
  return Range{0, *at->max_elements};
}

std::optional<Range> literal_size(const Node& node) {
  if (node.op == Op::list) return exactly(node.children.size());
  if (node.op == Op::map) return exactly(node.children.size() / 2);
  if (node.op != Op::literal || node.named) return std::nullopt;
  if (node.literal.is(Kind::string)) return exactly(character_count(node.literal.as_text()));
  if (node.literal.is(Kind::bytes)) return exactly(node.literal.as_text().size());
  return exactly(1);
}

std::optional<Range> Estimator::size(const Node& node) {
  if (const auto known = sizes_.find(&node); known != sizes_.end()) return known->second;
  if (const auto known = literal_size(node)) return known;
  if (const auto hinted = hinted_size(path_of(node))) {
    sizes_[&node] = *hinted;
    return hinted;
  }
  if (is_scalar_type(*node.type)) return exactly(1);
  const EstimatedVariable* known = node.op == Op::local ? local(node.name) : nullptr;
  return known ? known->size : std::nullopt;
}

std::optional<Entries> Estimator::entries(const Node& node) const {
  if (const auto known = entries_.find(&node); known != entries_.end()) return known->second;
  const EstimatedVariable* known = node.op == Op::local ? local(node.name) : nullptr;
  return known ? known->entries : std::nullopt;
}

Operand Estimator::operand(const Node& node) {
  FieldPath path = path_of(node);
  if (!path.empty() && (path[0] == kAccumulator || path[0] == "__result__")) path.clear();
  return {std::move(path), node.type, &node, size(node)};
}

std::optional<Operand> Estimator::element_of(const Operand& list) const {
  if (list.type->parameters.empty()) return std::nullopt;
  Operand element{list.path, list.type->parameters[0], nullptr, std::nullopt};
  if (!element.path.empty()) element.path.emplace_back("@items");
  return element;
}

CallEstimate Estimator::function_cost(const Node& node, std::string_view id, const std::optional<Operand>& target,
                                      const Operands& a, const std::vector<Range>& costs) {
  Range sum;
  for (const Range& cost : costs) sum = sum + cost;
  const auto with_arguments = [&](Range cost, std::optional<Range> size = std::nullopt) {
    return CallEstimate{cost + sum, size};
  };
  if (const auto estimate = extension_cost(id, target, a)) return with_arguments(estimate->cost, estimate->size);
  if (const auto estimate = kubernetes_cost(function_of(node), id, target, a))
    return with_arguments(estimate->cost, estimate->size);
  const auto derived = [&](const Operand& operand) { return operand.size.value_or(kUnknown); };
  if (id == "string_format" && target) return with_arguments(derived(*target) * kTextFactor);
  if (id == "string_to_bytes" && a.size() == 1) {
    const Range s = derived(a[0]);
    return with_arguments(s * kTextFactor, Range{s.min, s.max * 4});
  }
  if (id == "bytes_to_string" && a.size() == 1) {
    const Range s = derived(a[0]);
    return with_arguments(s * kTextFactor, Range{s.min / 4, s.max});
  }
  if (id == "strings_quote" && a.size() == 1) {
    const Range s = derived(a[0]);
    return with_arguments(s * kTextFactor, Range{s.min + 2, s.max * 2 + 2});
  }
  if ((id == "starts_with_string" || id == "ends_with_string") && a.size() == 1)
    return with_arguments(derived(a[0]) * kTextFactor);
  if (id == "in_list" && a.size() == 2) return with_arguments(derived(a[1]) * 1.0);
  if (id == "matches_string" && target && a.size() == 1)
    return with_arguments(((derived(*target) + exactly(1)) * kTextFactor) * (derived(a[0]) * kPatternFactor));
  if (id == "contains_string" && target && a.size() == 1)
    return with_arguments((derived(*target) * kTextFactor) * (derived(a[0]) * kTextFactor));
  if (id == "logical_and" || id == "logical_or") return {{costs[0].min, (costs[0] + costs[1]).max}, std::nullopt};
  if (id == "conditional") {
    const auto yes = entries(*a[1].node), no = entries(*a[2].node);
    if (yes && no) entries_[&node] = {yes->container, yes->key.joined(no->key), yes->value.joined(no->value)};
    return {costs[0] + costs[1].joined(costs[2]), derived(a[1]).joined(derived(a[2]))};
  }
  if ((id == "add_string" || id == "add_bytes" || id == "add_list") && a.size() == 2) {
    const Range size = derived(a[0]) + derived(a[1]);
    const auto left = entries(*a[0].node), right = entries(*a[1].node);
    if (left && right)
      entries_[&node] = {left->container, left->key.joined(right->key), left->value.joined(right->value)};
    return with_arguments(id == "add_list" ? exactly(1) : size * kTextFactor, size);
  }
  const bool ordering =
      (id.starts_with("less_") || id.starts_with("greater_")) && (id.ends_with("_string") || id.ends_with("_bytes"));
  if (ordering || id == "equals" || id == "not_equals") {
    const std::uint64_t smaller = std::min(derived(a[0]).max, derived(a[1]).max);
    return with_arguments(Range{smaller > 0 ? 1u : 0u, smaller} * kTextFactor);
  }
  return with_arguments(exactly(1));
}

std::uint64_t literal_int(const Operand& operand, std::uint64_t otherwise) {
  if (!operand.node || operand.node->op != Op::literal || !operand.node->literal.is(Kind::integer)) return otherwise;
  return static_cast<std::uint64_t>(std::max<std::int64_t>(operand.node->literal.as_int(), 0));
}

CallEstimate list_estimate(double factor, Range size) {
  return {size * factor + exactly(1) + exactly(kListCost), size};
}

std::optional<CallEstimate> Estimator::extension_cost(std::string_view id, const std::optional<Operand>& target,
                                                      const Operands& a) const {
  if (id.starts_with("list_sets_"))
    return CallEstimate{(size_of(a[0]) * size_of(a[1])) * (id == "list_sets_equivalent_list" ? 2.0 : 1.0) + exactly(1),
                        std::nullopt};
  if (id == "list_slice") {
    const std::uint64_t start = literal_int(a[0], 0);
    const std::uint64_t end = literal_int(a[1], size_of(*target).max);
    return list_estimate(1, exactly(end - start));
  }
  if (id == "lists_range") return list_estimate(1, exactly(literal_int(a[0], kMost)));
  if (id == "list_reverse") return list_estimate(1, size_of(*target));
  if (id == "list_flatten") return list_estimate(1, size_of(*target));
  if (id == "list_flatten_int") return list_estimate(static_cast<double>(literal_int(a[0], kMost)), size_of(*target));
  if (id == "list_distinct") return list_estimate(2, size_of(*target) * size_of(*target));
  const bool by = id.ends_with("_sortByAssociatedKeys");
  if (!by && !(id.starts_with("list_") && id.ends_with("_sort"))) return std::nullopt;
  const bool texts = id.starts_with("list_string_") || id.starts_with("list_bytes_");
  const Range size = size_of(by ? a[0] : *target);
  return list_estimate(texts ? 2 + kTextFactor : 2, size * size);
}

CallEstimate Estimator::replace_cost(const Operand& target, const Operands& a) const {
  const Range text = size_of(target), from = size_of(a[0]), to = size_of(a[1]);
  Range count, kept;
  if (from.min == 0) {
    count.max = text.max < kMost ? text.max + 1 : text.max;
    kept.max = text.max;
  } else if (to.max <= from.min) {
    kept.max = text.max;
  } else {
    count.max = static_cast<std::uint64_t>(
        std::min(std::ceil(static_cast<double>(text.max) / static_cast<double>(from.min)), 18446744073709549568.0));
  }
  if (from.max == 0) {
    count.min = text.min < kMost ? text.min + 1 : text.min;
    kept.min = text.min;
  } else if (from.max <= to.min) {
    kept.min = text.min;
  } else {
    count.min = static_cast<std::uint64_t>(std::ceil(static_cast<double>(text.min) / static_cast<double>(from.max)));
  }
  return {text * (2 * kTextFactor), count * to + kept};
}

CallEstimate Estimator::join_cost(const Operand& target, const Operands& a) const {
  const Range list = size_of(target);
  Range size;
  if (const auto element = element_of(target)) size = list * size_of(*element);
  if (!a.empty()) size = size + size_of(a[0]) * Range{list.min > 0 ? list.min - 1 : 0, list.max > 0 ? list.max - 1 : 0};
  return {size * kTextFactor, size};
}

std::optional<CallEstimate> Estimator::equality_cost(const Operands& a) const {
  if (a.size() != 2 || !same_type(*a[0].type, *a[1].type)) return std::nullopt;
  switch (a[0].type->kind) {
    case Kind::format:
      return CallEstimate{Range{1, 64} * kTextFactor, std::nullopt};
    case Kind::url:
      return CallEstimate{Range{1, a[1].size ? a[1].size->max : 1} * kTextFactor, std::nullopt};
    case Kind::ip:
    case Kind::cidr:
    case Kind::quantity:
    case Kind::semver:
    case Kind::authorizer:
    case Kind::path_check:
    case Kind::group_check:
    case Kind::resource_check:
    case Kind::decision:
      return CallEstimate{exactly(1), std::nullopt};
    default:
      return std::nullopt;
  }
}

// By function. Rules look at the target where there is one.
std::optional<CallEstimate> Estimator::kubernetes_cost(std::string_view function, std::string_view id,
                                                       const std::optional<Operand>& target, const Operands& a) const {
  const auto way = kubernetes_way(function, id);
  if (!way) return function == "_==_" ? equality_cost(a) : std::nullopt;
  const auto only = [](Range cost) { return CallEstimate{cost, std::nullopt}; };
  constexpr Range kAddress{4, 16};
  const Range texts = a.empty() ? Range() : size_of(a[0]) * kTextFactor;  // of an argument that is one
  switch (*way) {
    case CostWay::one:
      return only(exactly(1));
    case CostWay::check:
      return only(exactly(kCheckCost));
    case CostWay::selector:
      return only(exactly(kListCost) + texts + (size_of(a[0]) * .5) * 50.0);
    case CostWay::traversal:
      return target ? std::optional(only(traversal_cost(*target))) : std::nullopt;
    case CostWay::text:
    case CostWay::text_twice:
    case CostWay::result_twice:
      return text_cost(function, *way, target, a);
    case CostWay::pattern:
      return CallEstimate{((size_of(*target) + exactly(1)) * kTextFactor) * (size_of(a[0]) * kPatternFactor),
                          Range{0, size_of(*target).max}};
    case CostWay::contains_ip:
      return only((kAddress + kAddress) * kTextFactor);
    case CostWay::contains_ip_text:
      return only((kAddress + kAddress) * kTextFactor + texts);
    case CostWay::contains_cidr:
      return only((kAddress + kAddress) * kTextFactor + kAddress * kTextFactor + exactly(1));
    case CostWay::contains_cidr_text:
      return only((kAddress + kAddress) * kTextFactor + kAddress * kTextFactor + exactly(1) + texts);
    case CostWay::validate:
      return only(texts * (128 * kPatternFactor));
    default:
      return std::nullopt;
  }
}

Range Estimator::traversal_cost(const Operand& target) const {
  const auto element = element_of(target);
  if (!element) return size_of(target) * kTextFactor;
  const bool texts = element->type->kind == Kind::string || element->type->kind == Kind::bytes;
  return size_of(target) * (texts ? exactly(1) + size_of(*element) * kTextFactor : exactly(1));
}

// Functions of texts cost alike, but what they make is of another size each.
CallEstimate Estimator::text_cost(std::string_view function, CostWay way, const std::optional<Operand>& target,
                                  const Operands& a) const {
  if (function == "replace") return replace_cost(*target, a);
  if (function == "join") return join_cost(*target, a);
  if (function == "split") {
    const Range size = size_of(*target);
    return {size * (2 * kTextFactor), Range{0, a.size() > 1 ? literal_int(a[1], size.max) : size.max}};
  }
  const Range size = size_of(target ? *target : a[0]);
  const bool makes_text = target || function == "url" || function == "jsonpatch.escapeKey";
  return {size * (way == CostWay::text_twice ? 2 * kTextFactor : kTextFactor),
          makes_text ? std::optional(size) : std::nullopt};
}

}  // namespace

CostEstimate estimate_cost(const Node& root, const Environment& environment) {
  const Range range = Estimator(environment).cost(root);
  return {range.min, range.max};
}

}  // namespace sublet::patches::cel
