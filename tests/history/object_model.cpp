#include "tests/history/object_model.h"

#include <optional>

namespace sublet::history {
namespace {

using MaybeState = std::optional<ObjectState>;

/// `known` 0 fits everything, and learns.
template <typename T>
bool learn(T& known, T told) {
  if (known == 0) known = told;
  return told == 0 || known == told;
}

MaybeState after_read(ObjectState state, const ObjectCall& call) {
  if (!state.there || state.a != call.a || state.b != call.b) return {};
  if (!learn(state.version, call.version) || !learn(state.uid, call.uid)) return {};
  return state;
}

MaybeState create(const ObjectState& state, const ObjectCall& call) {
  if (state.there) return {};
  if (call.version != 0 && call.version <= state.version) return {};
  return ObjectState{true, call.version, call.uid, call.a, call.b};
}

/// An update or a patch that was done; `a` is the one that it leaves.
MaybeState change(ObjectState state, std::uint32_t a, const ObjectCall& call) {
  if (!state.there || !learn(state.uid, call.uid)) return {};
  if (call.expected != 0 && !learn(state.version, call.expected)) return {};
  const bool same = state.a == a && state.b == call.b;
  // What changes nothing keeps its version; everything else gets a higher one.
  if (same) return learn(state.version, call.version) ? MaybeState(state) : MaybeState();
  if (call.version != 0 && call.version <= state.version) return {};
  state.a = a;
  state.b = call.b;
  state.version = call.version;
  return state;
}

MaybeState update(const ObjectState& state, const ObjectCall& call) { return change(state, call.a, call); }

MaybeState patch(const ObjectState& state, const ObjectCall& call) {
  const bool told = call.answer == Answer::done;
  return told && state.a != call.a ? MaybeState() : change(state, state.a, call);
}

MaybeState remove(ObjectState state, const ObjectCall& call) {
  if (!state.there || !learn(state.uid, call.uid)) return {};
  if (call.expected != 0 && !learn(state.version, call.expected)) return {};
  state.there = false;
  state.uid = 0;
  state.a = state.b = 0;
  return state;
}

MaybeState effect(const ObjectState& state, const ObjectCall& call) {
  switch (call.verb) {
    case Verb::get:
      return after_read(state, call);
    case Verb::create:
      return create(state, call);
    case Verb::update:
      return update(state, call);
    case Verb::patch:
      return patch(state, call);
    case Verb::remove:
      return remove(state, call);
  }
  return {};
}

std::vector<ObjectState> if_true(bool fits, const ObjectState& state) {
  return fits ? std::vector<ObjectState>{state} : std::vector<ObjectState>{};
}

constexpr const char* kVerbs[] = {"GET", "POST", "PUT", "PATCH", "DELETE"};
constexpr const char* kAnswers[] = {"done", "404", "409 AlreadyExists", "409 Conflict", "no answer"};

}  // namespace

std::vector<ObjectState> ObjectModel::after(const ObjectState& state, const ObjectCall& call) {
  switch (call.answer) {
    case Answer::absent:
      return if_true(!state.there, state);
    case Answer::present:
      return if_true(state.there, state);
    case Answer::conflict:
      return if_true(state.there && (state.version == 0 || state.version != call.expected), state);
    case Answer::done:
    case Answer::unknown:
      break;
  }
  std::vector<ObjectState> states;
  if (const auto changed = effect(state, call)) states.push_back(*changed);
  if (call.answer == Answer::unknown) states.push_back(state);
  return states;
}

void ObjectModel::append_key(const ObjectState& state, std::string& out) {
  const std::uint64_t words[] = {static_cast<std::uint64_t>(state.version), state.uid,
                                 std::uint64_t{state.a} << 32 | state.b, state.there ? 1u : 0u};
  out.append(reinterpret_cast<const char*>(words), sizeof(words));
}

std::string describe(const ObjectState& state) {
  if (!state.there) return "absent (last version " + std::to_string(state.version) + ")";
  return "a " + std::to_string(state.a) + ", b " + std::to_string(state.b) + ", version " +
         std::to_string(state.version);
}

std::string describe(const ObjectCall& call) {
  std::string text = "client " + std::to_string(call.client) + ": " + kVerbs[static_cast<int>(call.verb)] + " key " +
                     std::to_string(call.key);
  if (call.a != 0 || call.b != 0) text += " a " + std::to_string(call.a) + " b " + std::to_string(call.b);
  if (call.expected != 0) text += " if version " + std::to_string(call.expected);
  text += std::string(" -> ") + kAnswers[static_cast<int>(call.answer)];
  if (call.version != 0) text += ", version " + std::to_string(call.version);
  return text;
}

}  // namespace sublet::history
