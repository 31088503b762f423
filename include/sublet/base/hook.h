// Hook: a step that a row of a table names: a plain function, or a function with the state that it belongs to.
//
// Rows of built-in kinds say `.validate = validate_pod` and are constant data; a kind made at run time binds one of its
// functions to an object (its compiled schema) that lives as long as the row. Copying is free, calling allocates
// nothing. A default Hook is empty and tests false. Threads: as the function.
#pragma once

#include <concepts>
#include <utility>

namespace sublet {

template <class Signature>
class Hook;

template <class R, class... Args>
class Hook<R(Args...)> {
 public:
  using Plain = R (*)(Args...);

  constexpr Hook() = default;
  constexpr Hook(std::nullptr_t) {}  // NOLINT(google-explicit-constructor): rows say nullptr for "nothing particular"
  /// A function, or a lambda without captures.
  template <std::convertible_to<Plain> F>
  constexpr Hook(F function)  // NOLINT(google-explicit-constructor): rows name functions
      : state_{.plain = function}, call_(state_.plain ? call_plain : nullptr) {}

  /// `Function(state, args...)`; `state` must outlive the hook.
  template <auto Function, class State>
  static constexpr Hook bound(const State& state) {
    Hook hook;
    hook.state_.object = &state;
    hook.call_ = [](Target target, Args... args) -> R {
      return Function(*static_cast<const State*>(target.object), std::forward<Args>(args)...);
    };
    return hook;
  }

  R operator()(Args... args) const { return call_(state_, std::forward<Args>(args)...); }
  constexpr explicit operator bool() const { return call_ != nullptr; }

 private:
  union Target {
    const void* object;
    Plain plain;
  };
  static R call_plain(Target target, Args... args) { return target.plain(std::forward<Args>(args)...); }

  Target state_{.object = nullptr};
  R (*call_)(Target, Args...) = nullptr;
};

}  // namespace sublet
