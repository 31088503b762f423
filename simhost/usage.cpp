#include "simhost/usage.h"

#include <string>

#include "simhost/resources.h"

namespace sublet::simhost {
namespace {

constexpr Usage kLittle{1, 4 << 20}, kIdleNode{100, 512 << 20};

/// In thousandths; 0: the variable is not set, or is no quantity.
std::int64_t said_by(const schema::Value& container, std::string_view variable) {
  auto list = schema::Document::object();
  for (const schema::Value entry : container["env"])
    if (entry["name"].text() == variable) list.root().put("said", entry["value"].text());
  return amount(read_resources(list.root()), "said");
}

std::int64_t used(const schema::Value& container, std::string_view variable, std::string_view resource) {
  if (const auto said = said_by(container, variable)) return said;
  for (const char* list : {"requests", "limits"})
    if (const auto asked = amount(read_resources(container["resources"][list]), resource)) return asked / 2;
  return 0;
}

}  // namespace

Usage& Usage::operator+=(const Usage& other) {
  cpu_milli += other.cpu_milli;
  memory_bytes += other.memory_bytes;
  return *this;
}

void Usage::put(schema::Value out) const {
  out.put("cpu", std::to_string(cpu_milli) + (cpu_milli == 0 ? "" : "000000n"));
  out.put("memory", std::to_string(memory_bytes / 1024) + (memory_bytes < 1024 ? "" : "Ki"));
}

Usage container_usage(const schema::Value& container) {
  Usage usage{used(container, "SIMHOST_CPU", "cpu"), used(container, "SIMHOST_MEMORY", "memory") / kUnit};
  if (usage.cpu_milli == 0) usage.cpu_milli = kLittle.cpu_milli;
  if (usage.memory_bytes == 0) usage.memory_bytes = kLittle.memory_bytes;
  return usage;
}

Usage idle_node_usage() { return kIdleNode; }

}  // namespace sublet::simhost
