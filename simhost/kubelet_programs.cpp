// What runs in simulated containers: the main program of each, and the world that processes see.
#include "simhost/image.h"
#include "simhost/kubelet.h"

namespace sublet::simhost {
namespace {

/// Hooks and probes run commands, which need a world.
bool has_commands(const schema::Value& spec) {
  for (const char* hook : {"postStart", "preStop"})
    if (!spec["lifecycle"][hook]["exec"].empty()) return true;
  for (const char* probe : {"startupProbe", "livenessProbe", "readinessProbe"})
    if (!spec[probe]["exec"].empty()) return true;
  return false;
}

/// `args` alone are a command line if the simulation knows their program and not the image's: of most images the
/// program is a shell, or runs what its arguments say.
bool runs_its_arguments(const schema::Value& spec, const std::string& image) {
  const shell::Words arguments = words_of(spec["args"], {});
  return spec["command"].empty() && shell::is_known_program(arguments) && !entry_point(image, arguments);
}

}  // namespace

template <class Use>
void Kubelet::with_world_source(PodRun& run, const ContainerRun& container, const schema::Value& object, Use use) {
  const Lookup lookup = [&](Dependency::Kind kind, std::string_view name) { return look_up(run, kind, name); };
  const auto node = nodes_.find(run.node);
  const schema::Document none = schema::Document::object();
  const schema::Value allocatable = node == nodes_.end() ? none.root() : node->second.allocatable.root();
  const schema::Value spec = container_spec(object, container);
  use(WorldSource{object, spec, allocatable, run.ip, run.host_ip, run.volumes, host_paths_[run.node], lookup});
}

shell::World& Kubelet::world_of(PodRun& run, ContainerRun& container, const schema::Value& object) {
  if (!container.world)
    with_world_source(run, container, object, [&](const WorldSource& source) {
      container.world = std::make_shared<shell::World>(make_world(source, container.started, random_));
      container.world->program_life = options_.program_life;
    });
  return *container.world;
}

shell::World Kubelet::present_world(PodRun& run, ContainerRun& container, const schema::Value& object) {
  shell::World out = world_of(run, container, object);
  with_world_source(run, container, object, [&](const WorldSource& source) { refresh_volumes(source, clock_.now()); });
  return out;
}

void Kubelet::run_main_program(PodRun& run, ContainerRun& container, const schema::Value& object) {
  const schema::Value spec = container_spec(object, container);
  const bool ends = is_expected_to_end(run, container, object);
  container.world.reset();
  container.command.clear();
  const bool runs_arguments = runs_its_arguments(spec, container.image);
  if (spec["command"].empty() && !runs_arguments) {
    if (has_commands(spec)) world_of(run, container, object);
    const auto known = entry_point(container.image, words_of(spec["args"], {}));
    container.program = known.value_or(shell::Trace());
    if (known || !ends) return;
    container.program.end = shell::End{options_.program_life, 0};
    container.program.unknown_program = "of the image";
    return;
  }
  shell::World& world = world_of(run, container, object);
  shell::Words words = runs_arguments ? words_of(spec["args"], world.variables) : command_line(spec, world.variables);
  world.input.open = spec["stdin"].boolean();
  container.program = shell::run(words, world, ends ? shell::Context::task : shell::Context::main_process);
  world.input.open = false;
  if (container.program.starved) container.command = std::move(words);
}

void Kubelet::report_unknown_program(const PodRun& run, const ContainerRun& container) {
  const std::string& program = container.program.unknown_program;
  if (program.empty()) return;
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(options_.program_life);
  event(run, &container, kNormalEvent, "SimulatedProgram",
        "The simulated host does not know the program " +
            (program == "of the image" ? program : "\"" + program + "\"") + " (" + container.image + "): it runs " +
            std::to_string(seconds.count()) + " s and exits with 0");
}

}  // namespace sublet::simhost
