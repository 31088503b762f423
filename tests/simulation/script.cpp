#include "tests/simulation/script.h"

namespace sublet::simulation {
namespace {

constexpr std::size_t kActs = 24, kActsOfClaims = 6;

std::vector<Actor> cast(Dice& dice) {
  std::vector<Actor> actors;
  for (const char* space : {"default", "apps"}) {
    for (const char* name : {"settings", "flags"}) actors.push_back({"configmaps", space, name, "", ""});
    actors.push_back({"secrets", space, "keys", "", ""});
    actors.push_back({"services", space, "front", "", ""});
    for (const char* name : {"web", "db", "job"}) {
      Actor pod{"pods", space, name, "", ""};
      if (!dice.one_in(3)) pod.config_map = dice.one_in(2) ? "settings" : "flags";
      if (dice.one_in(2)) pod.secret = "keys";
      pod.token = dice.one_in(3);
      pod.ends = pod.name == "job";
      actors.push_back(std::move(pod));
    }
  }
  return actors;
}

std::string metadata(const Actor& actor, int version) {
  return R"("metadata":{"name":")" + actor.name + R"(","namespace":")" + actor.namespace_name +
         R"(","labels":{"app":")" + actor.name + R"(","version":"v)" + std::to_string(version) + R"("}})";
}

std::string pod(const Actor& actor, int version) {
  std::string container = R"({"name":"main","image":"image:)" + std::to_string(version) + "\"", volumes;
  if (!actor.config_map.empty()) container += R"(,"envFrom":[{"configMapRef":{"name":")" + actor.config_map + "\"}}]";
  if (!actor.secret.empty()) {
    container += R"(,"volumeMounts":[{"name":"s","mountPath":"/s"}])";
    volumes = R"(,"volumes":[{"name":"s","secret":{"secretName":")" + actor.secret + "\"}}]";
  }
  if (!actor.claim.empty()) {
    const std::string volume = R"({"name":"d","persistentVolumeClaim":{"claimName":")" + actor.claim + "\"}}]";
    volumes = volumes.empty() ? R"(,"volumes":[)" + volume : volumes.substr(0, volumes.size() - 1) + "," + volume;
  }
  return "{" + metadata(actor, version) + R"(,"spec":{"automountServiceAccountToken":)" +
         (actor.token ? "true" : "false") + R"(,"containers":[)" + container + "}]" + volumes + "}}";
}

/// After all else: a claim in each namespace, and who uses it. In the end it is there, as what its pods need.
void add_claims(Script& script, Dice& dice, int version) {
  const std::size_t first = script.actors.size();
  for (Actor& actor : script.actors)
    if (actor.name == "db" || (actor.name == "web" && dice.one_in(2))) actor.claim = "data";
  for (const char* space : {"default", "apps"})
    script.actors.push_back({"persistentvolumeclaims", space, "data", "", ""});
  for (std::size_t claim = first; claim < script.actors.size(); ++claim) {
    script.in_the_end.push_back(++version);
    script.acts.insert(script.acts.begin() + static_cast<std::ptrdiff_t>(dice.below(script.acts.size())),
                       {Act::What::put, claim, version});
  }
  for (std::size_t i = 0; i < kActsOfClaims; ++i) {
    const std::size_t claim = first + dice.below(script.actors.size() - first);
    constexpr Act::What kWhat[] = {Act::What::put, Act::What::remove, Act::What::make_anew};
    script.acts.push_back({kWhat[dice.below(3)], claim, ++version});
    script.in_the_end[claim] = version;
  }
}

}  // namespace

Script::Script(std::uint64_t seed) : claims_and_events(has_claims_and_events(seed)) {
  Dice dice(seed * 2654435761u + 17);
  actors = cast(dice);
  in_the_end.assign(actors.size(), 0);
  int version = 0;
  for (std::size_t actor = 0; actor < actors.size(); ++actor)
    if (!dice.one_in(4)) {
      acts.push_back({Act::What::put, actor, ++version});
      in_the_end[actor] = version;
    }
  for (std::size_t i = 0; i < kActs; ++i) {
    std::size_t actor = dice.below(actors.size());
    if (dice.one_in(3)) actor = dice.below(2) * 7 + 4 + dice.below(3);  // a pod
    constexpr Act::What kWhat[] = {Act::What::put, Act::What::put, Act::What::remove, Act::What::remove_now,
                                   Act::What::make_anew};
    const Act::What what = kWhat[dice.below(5)];
    acts.push_back({what, actor, ++version});
    in_the_end[actor] = what == Act::What::remove || what == Act::What::remove_now ? 0 : version;
  }
  if (claims_and_events) add_claims(*this, dice, version);
}

std::string manifest(const Actor& actor, int version) {
  const std::string number = std::to_string(version);
  if (actor.kind == "pods") return pod(actor, version);
  if (actor.kind == "services")
    return "{" + metadata(actor, version) + R"(,"spec":{"selector":{"app":"web"},"ports":[{"port":)" +
           std::to_string(8000 + version) + "}]}}";
  if (actor.kind == "persistentvolumeclaims")
    return "{" + metadata(actor, version) +
           R"(,"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}})";
  if (actor.kind == "secrets")
    return "{" + metadata(actor, version) + R"(,"stringData":{"version":")" + number + "\"}}";
  return "{" + metadata(actor, version) + R"(,"data":{"version":")" + number + R"(","v)" + number + "\":\"\"}}";
}

}  // namespace sublet::simulation
