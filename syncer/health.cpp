#include "sublet/syncer/health.h"

#include <algorithm>
#include <array>

#include "sublet/base/files.h"
#include "sublet/schema/document.h"

namespace sublet::syncer {
namespace {

using schema::Document;
using schema::Value;

constexpr std::array<std::string_view, 5> kStateTexts = {"ok", "starting", "hostSilent", "hostRefuses", "tenantSilent"};

void put_time(Value object, std::string_view member, WallTime time) {
  if (time != WallTime()) object.put(member, format_time(time));
}

WallTime time_of(const Value& text) { return parse_time(text.text()).value_or(WallTime()); }

void put_side(Value object, const SideHealth& side) {
  put_time(object, "answered", side.answered);
  if (side.failing_since) put_time(object, "failingSince", *side.failing_since);
  object.put("code", side.code);
  if (!side.cause.empty()) object.put("cause", side.cause);
  object.put("latencyMs", static_cast<std::int64_t>(side.latency.count()));
}

SideHealth side_of(const Value& object) {
  SideHealth side;
  side.answered = time_of(object["answered"]);
  if (object.has("failingSince")) side.failing_since = time_of(object["failingSince"]);
  side.code = static_cast<int>(object["code"].integer());
  side.cause = object["cause"].string();
  side.latency = std::chrono::milliseconds(object["latencyMs"].integer());
  return side;
}

}  // namespace

std::string_view to_text(HealthState state) { return kStateTexts.at(static_cast<std::size_t>(state)); }

void judge(Health& health) {
  const auto set = [&](HealthState state, std::string message) {
    health.state = state;
    health.message = std::move(message);
  };
  if (health.host.failing_since && health.host.code == 401)
    return set(HealthState::host_refuses, "the host does not accept the syncer's credentials: " + health.host.cause);
  if (health.host.failing_since) return set(HealthState::host_silent, "the host does not answer: " + health.host.cause);
  if (health.tenant.failing_since)
    return set(HealthState::tenant_silent,
               "the virtual cluster's API server does not answer its syncer: " + health.tenant.cause);
  const auto unlisted =
      std::ranges::find_if(health.kinds, [](const KindHealth& one) { return one.listed == WallTime(); });
  if (unlisted == health.kinds.end()) return set(HealthState::ok, "");
  set(HealthState::starting, "the syncer has not listed " + unlisted->kind + " of the " + unlisted->side + " yet" +
                                 (unlisted->failure.empty() ? "" : ": " + unlisted->failure));
}

std::string to_json(const Health& health) {
  Document document = Document::object();
  Value root = document.root();
  root.put("state", to_text(health.state));
  put_time(root, "at", health.at);
  put_time(root, "since", health.since);
  if (!health.message.empty()) root.put("message", health.message);
  root.put("pid", health.pid);
  put_side(root.object("tenant"), health.tenant);
  put_side(root.object("host"), health.host);
  Value kinds = root.array("kinds");
  for (const KindHealth& one : health.kinds) {
    Value kind = kinds.push_object();
    kind.put("kind", one.kind);
    kind.put("side", one.side);
    put_time(kind, "listed", one.listed);
    put_time(kind, "watched", one.watched);
    if (!one.failure.empty()) kind.put("failure", one.failure);
  }
  root.put("backlog", static_cast<std::int64_t>(health.backlog));
  root.put("waiting", static_cast<std::int64_t>(health.waiting));
  root.put("denied", static_cast<std::int64_t>(health.denied));
  root.put("failures", static_cast<std::int64_t>(health.failures));
  return document.to_json();
}

Result<Health> parse_health(std::string_view json) {
  const auto document = Document::parse_json(json);
  if (!document || !document->root().is_object()) return internal_error("the health record is not a JSON object");
  const Value root = document->root();
  Health health;
  const auto state = std::ranges::find(kStateTexts, root["state"].text());
  if (state == kStateTexts.end())
    return internal_error("the health record has an unknown state \"" + root["state"].string() + "\"");
  health.state = static_cast<HealthState>(state - kStateTexts.begin());
  health.at = time_of(root["at"]);
  health.since = time_of(root["since"]);
  health.message = root["message"].string();
  health.pid = static_cast<int>(root["pid"].integer());
  health.tenant = side_of(root["tenant"]);
  health.host = side_of(root["host"]);
  for (const Value kind : root["kinds"])
    health.kinds.push_back({kind["kind"].string(), kind["side"].string(), time_of(kind["listed"]),
                            time_of(kind["watched"]), kind["failure"].string()});
  health.backlog = static_cast<std::size_t>(root["backlog"].integer());
  health.waiting = static_cast<std::size_t>(root["waiting"].integer());
  health.denied = static_cast<std::uint64_t>(root["denied"].integer());
  health.failures = static_cast<std::uint64_t>(root["failures"].integer());
  return health;
}

Result<Health> read_health(const std::string& path) {
  const auto text = read_file(path);
  if (!text) return fail(text.error());
  return parse_health(*text);
}

}  // namespace sublet::syncer
