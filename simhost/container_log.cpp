#include "simhost/container_log.h"

#include <algorithm>
#include <charconv>

namespace sublet::simhost {
namespace {

struct LogLine {
  WallTime at;
  std::string text;
};

/// All lines of one run that started at `started`, the future ones too.
std::vector<LogLine> lines_of_run(const ContainerRun& container, WallTime started) {
  std::vector<LogLine> out;
  out.push_back({started, "simhost: container " + container.name + " of image " + container.image + " started"});
  for (const shell::Line& line : container.program.lines) out.push_back({started + line.at, line.text});
  return out;
}

void append_line(std::string& out, const LogLine& line, bool timestamps) {
  if (timestamps) out += format_micro_time(line.at).substr(0, 26) + "000Z ";  // nanoseconds, as the kubelet writes
  out += line.text;
  out += '\n';
}

bool to_bool(std::string_view text) { return text == "true" || text == "1"; }

Result<std::int64_t> to_number(std::string_view key, std::string_view text) {
  std::int64_t number = 0;
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  if (error == std::errc() && end == last && number >= 0) return number;
  return bad_request("unable to decode query parameters: " + std::string(key) + ": \"" + std::string(text) +
                     "\" is not a number of zero or more");
}

}  // namespace

Result<LogQuery> read_log_query(const std::string& query, WallTime now) {
  LogQuery out;
  for (const auto& [key, value] : net::parse_query(query)) {
    if (key == "container") out.container = value;
    if (key == "follow") out.follow = to_bool(value);
    if (key == "previous") out.previous = to_bool(value);
    if (key == "timestamps") out.timestamps = to_bool(value);
    if (key == "sinceTime" && !(out.since = parse_time(value)))
      return bad_request("sinceTime: \"" + value + "\" is no time");
    if (key != "tailLines" && key != "limitBytes" && key != "sinceSeconds") continue;
    const auto number = to_number(key, value);
    if (!number) return fail(number.error());
    if (key == "tailLines") out.tail_lines = *number;
    if (key == "limitBytes") out.limit_bytes = *number;
    if (key == "sinceSeconds") out.since = now - std::chrono::seconds(std::min<std::int64_t>(*number, 1'000'000'000));
  }
  return out;
}

Result<const ContainerRun*> log_container(const PodRun& run, const LogQuery& query) {
  const auto regular = [](const ContainerRun& c) { return !c.init && !c.ephemeral; };
  std::string wanted = query.container;
  if (wanted.empty()) {
    std::string names;
    for (const ContainerRun& container : run.containers)
      if (regular(container)) names += (names.empty() ? "" : " ") + container.name;
    if (std::ranges::count_if(run.containers, regular) != 1)
      return bad_request("a container name must be specified for pod " + run.name + ", choose one of: [" + names + "]");
    wanted = names;
  }
  const auto found = std::ranges::find(run.containers, wanted, &ContainerRun::name);
  if (found == run.containers.end()) return bad_request("container " + wanted + " is not valid for pod " + run.name);
  if (query.previous && !found->last)
    return bad_request("previous terminated container \"" + wanted + "\" in pod \"" + run.name + "\" not found");
  if (!found->ever_started)
    return bad_request("container \"" + wanted + "\" in pod \"" + run.name +
                       "\" is waiting to start: " + (found->reason.empty() ? "ContainerCreating" : found->reason));
  return &*found;
}

std::string log_text(const ContainerRun& container, const LogQuery& query, WallTime now) {
  const bool before = query.previous || container.state == ContainerRun::State::waiting;  // between two runs: the last
  const WallTime started = before && container.last ? container.last->started : container.started;
  std::vector<LogLine> lines = lines_of_run(container, started);
  std::erase_if(lines, [&](const LogLine& line) { return line.at > now || (query.since && line.at < *query.since); });
  std::size_t first = 0;
  if (query.tail_lines && lines.size() > static_cast<std::size_t>(*query.tail_lines))
    first = lines.size() - static_cast<std::size_t>(*query.tail_lines);
  std::string out;
  for (std::size_t i = first; i < lines.size(); ++i) append_line(out, lines[i], query.timestamps);
  if (query.limit_bytes && out.size() > static_cast<std::size_t>(*query.limit_bytes))
    out.resize(static_cast<std::size_t>(*query.limit_bytes));
  return out;
}

void LogFollowers::add(const std::string& uid, const ContainerRun& container, LogQuery query,
                       std::shared_ptr<net::ResponseSink> sink, WallTime now) {
  sink->start(200, {{"Content-Type", "text/plain"}});
  if (std::string text = log_text(container, query, now); !text.empty())
    sink->write(std::make_shared<const std::string>(std::move(text)));
  if (query.previous || container.state != ContainerRun::State::running) return sink->end();
  followers_.push_back({uid, container.name, std::move(query), std::move(sink), now});
}

void LogFollowers::flush(const PodRun& run, WallTime now) {
  std::erase_if(followers_, [&](Follower& follower) {
    if (follower.uid != run.uid) return false;
    if (follower.sink->closed()) return true;
    const auto container = std::ranges::find(run.containers, follower.container, &ContainerRun::name);
    if (container == run.containers.end()) return true;
    std::string text;
    for (const LogLine& line : lines_of_run(*container, container->started))
      if (line.at > follower.sent_until && line.at <= now) append_line(text, line, follower.query.timestamps);
    follower.sent_until = now;
    if (!text.empty()) follower.sink->write(std::make_shared<const std::string>(std::move(text)));
    if (container->state == ContainerRun::State::running) return false;
    follower.sink->end();
    return true;
  });
}

void LogFollowers::end(const std::string& uid) {
  std::erase_if(followers_, [&](Follower& follower) {
    if (follower.uid != uid) return false;
    follower.sink->end();
    return true;
  });
}

std::optional<WallTime> LogFollowers::next_line(const PodRun& run, WallTime now) const {
  std::optional<WallTime> next;
  for (const Follower& follower : followers_) {
    const auto container = std::ranges::find(run.containers, follower.container, &ContainerRun::name);
    if (follower.uid != run.uid || container == run.containers.end()) continue;
    for (const LogLine& line : lines_of_run(*container, container->started))
      if (line.at > now && (!next || line.at < *next)) next = line.at;
  }
  return next;
}

}  // namespace sublet::simhost
