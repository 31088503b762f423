// ObjectModel: one object behind its URL, as a client of the Kubernetes API may rely on it.
//
// Each write carries numbers of its own (`a` by POST and PUT, `b` by all), so an answer tells which writes it has seen;
// a PATCH keeps `a`. What a state does not know yet (the resourceVersion of a write whose answer never came) is 0, and
// is learnt from the first answer that tells it. Refusals are observations too: 409 of a POST says that the object is
// there, 404 that it is not, 409 of a conditional PUT or DELETE that it has another version.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sublet::history {

using Version = std::int64_t;

struct ObjectState {
  bool there = false;
  Version version = 0;    // of the object; when it is gone, its last
  std::uint64_t uid = 0;  // a hash
  std::uint32_t a = 0, b = 0;
  bool operator==(const ObjectState&) const = default;
};

enum class Verb : std::uint8_t { get, create, update, patch, remove };
enum class Answer : std::uint8_t {
  done,      // 200, 201
  absent,    // 404
  present,   // 409 AlreadyExists
  conflict,  // 409 Conflict
  unknown,   // cut, or 5xx: it may have happened
};

struct ObjectCall {
  Verb verb = Verb::get;
  Answer answer = Answer::unknown;
  std::uint32_t a = 0, b = 0;  // what was written, or by a GET read; of a PATCH: `a` as answered
  Version expected = 0;        // resourceVersion that a PUT or DELETE asks for; 0: any
  Version version = 0;         // as answered
  std::uint64_t uid = 0;       // as answered
  std::uint16_t key = 0, client = 0;
};

struct ObjectModel {
  using State = ObjectState;
  using Call = ObjectCall;
  static std::vector<State> after(const State& state, const Call& call);
  static void append_key(const State& state, std::string& out);
};

std::string describe(const ObjectState& state);
std::string describe(const ObjectCall& call);

}  // namespace sublet::history
