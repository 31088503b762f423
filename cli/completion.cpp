#include "cli/completion.h"

#include <initializer_list>
#include <utility>

#include "sublet/base/text.h"

namespace sublet::cli {
namespace {

// What an argument or the value of a flag is completed with.
enum class Completion { none, clusters, choices, files };

Completion completion_of(const WordRow& row) {
  if (!row.choices.empty()) return Completion::choices;
  if (row.value == "FILE") return Completion::files;
  return row.names.front() == "NAME" ? Completion::clusters : Completion::none;
}

// In single quotes, as bash and zsh read them.
std::string shell_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

std::string fish_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

// Returns `script` with each @NAME@ replaced.
std::string filled(std::string script, std::initializer_list<std::pair<std::string_view, std::string>> values) {
  for (const auto& [name, value] : values) {
    const std::string mark = "@" + std::string(name) + "@";
    for (auto at = script.find(mark); at != std::string::npos; at = script.find(mark, at + value.size()))
      script.replace(at, mark.size(), value);
  }
  return script;
}

/// A command with the words that lead to it: {"certs", "check"}; none for the program.
struct CommandPlace {
  std::vector<std::string> words;
  const CommandRow* command;
};

std::string place_name(const CommandPlace& place) { return join(place.words, " "); }

void collect_places(const CommandRow& command, std::vector<std::string> words, std::vector<CommandPlace>& into) {
  into.push_back({words, &command});
  for (const CommandRow& each : command.commands) {
    words.push_back(each.name);
    collect_places(each, words, into);
    words.pop_back();
  }
}

std::vector<CommandPlace> places_of(const CommandRow& program) {
  std::vector<CommandPlace> places;
  collect_places(program, {}, places);
  return places;
}

std::vector<std::string> flags_of(const CommandRow& command, bool with_value_only) {
  std::vector<std::string> names;
  for (const WordRow& flag : command.flags)
    if (!with_value_only || !flag.value.empty()) names.insert(names.end(), flag.names.begin(), flag.names.end());
  return names;
}

// Those that take "-- COMMAND...", quoted.
std::vector<std::string> programs_of(const std::vector<CommandPlace>& places) {
  std::vector<std::string> names;
  for (const CommandPlace& place : places)
    if (place.command->runs_program) names.push_back(shell_quoted(place_name(place)));
  return names;
}

// Prints each name that a command takes: `rag`, or the whole reference where two namespaces have a rag.
constexpr const char* kListClusters =
    R"sh(command sublet list -o name 2>/dev/null | sed 's|^virtualcluster/\([^/]*\)$|\1|')sh";

// --- bash ---

constexpr const char* kBash = R"sh(# bash completion for sublet, as `sublet completion bash` prints it

_sublet_clusters() {
  @LIST@
}

# _sublet_offer KIND WORD: completes WORD with files, virtual clusters, or the words that KIND lists.
_sublet_offer() {
  case $1 in
    @files) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$2") ;;
    @clusters) mapfile -t COMPREPLY < <(compgen -W "$(_sublet_clusters)" -- "$2") ;;
    *) mapfile -t COMPREPLY < <(compgen -W "$1" -- "$2") ;;
  esac
}

# _sublet_value COMMAND FLAG WORD: completes the value of a flag.
_sublet_value() {
  case "$1 $2" in
@VALUES@  esac
}

# _sublet_table COMMAND: sets what may follow it.
_sublet_table() {
  commands='' flags='' valued='' arguments=() repeats=no
  case $1 in
@TABLE@  esac
}

_sublet() {
  local word=${COMP_WORDS[COMP_CWORD]} command='' flag='' count=0 each i
  local commands flags valued arguments repeats
  COMPREPLY=()
  _sublet_table ''
  for ((i = 1; i < COMP_CWORD; i++)); do
    each=${COMP_WORDS[i]}
    if [[ -n $flag ]]; then
      [[ $each == = ]] || flag='' # to bash "--output=json" is three words
    elif [[ $each == -- ]]; then
      case $command in
        @PROGRAMS@) ! declare -F _command_offset >/dev/null || _command_offset $((i + 1)) ;;
      esac
      return
    elif [[ $each == -* ]]; then
      [[ " $valued " != *" $each "* ]] || flag=$each
    elif [[ -n $commands ]]; then
      case $each in
@ALIASES@      esac
      command=${command:+$command }$each
      _sublet_table "$command"
    else
      count=$((count + 1))
    fi
  done
  [[ $word != = ]] || word=''
  if [[ -n $flag ]]; then
    _sublet_value "$command" "$flag" "$word"
  elif [[ $word == -* ]]; then
    _sublet_offer "$flags" "$word"
  elif [[ -n $commands ]]; then
    _sublet_offer "$commands" "$word"
  else
    [[ $repeats == no || $count -lt ${#arguments[@]} ]] || count=$((${#arguments[@]} - 1))
    _sublet_offer "${arguments[count]-}" "$word"
  fi
}

complete -F _sublet sublet
)sh";

std::string bash_kind(const WordRow& row) {
  switch (completion_of(row)) {
    case Completion::clusters:
      return "@clusters";
    case Completion::files:
      return "@files";
    case Completion::choices:
      return join(row.choices, " ");
    case Completion::none:
      break;
  }
  return "";
}

std::string bash_table(const std::vector<CommandPlace>& places) {
  std::string out;
  for (const CommandPlace& place : places) {
    std::vector<std::string> commands, arguments;
    for (const CommandRow& each : place.command->commands) commands.push_back(each.name);
    for (const WordRow& row : place.command->arguments) arguments.push_back(shell_quoted(bash_kind(row)));
    out += "    " + shell_quoted(place_name(place)) + ")\n";
    if (!commands.empty()) out += "      commands=" + shell_quoted(join(commands, " ")) + "\n";
    out += "      flags=" + shell_quoted(join(flags_of(*place.command, false), " ")) + "\n";
    out += "      valued=" + shell_quoted(join(flags_of(*place.command, true), " ")) + "\n";
    if (!arguments.empty()) out += "      arguments=(" + join(arguments, " ") + ")\n";
    if (!arguments.empty() && place.command->arguments.back().repeats) out += "      repeats=yes\n";
    out += "      ;;\n";
  }
  return out;
}

std::string bash_values(const std::vector<CommandPlace>& places) {
  std::string out;
  for (const CommandPlace& place : places)
    for (const WordRow& flag : place.command->flags) {
      const std::string kind = flag.value.empty() ? "" : bash_kind(flag);
      if (kind.empty()) continue;
      std::vector<std::string> patterns;
      for (const std::string& name : flag.names) patterns.push_back(shell_quoted(place_name(place) + " " + name));
      out += "    " + join(patterns, " | ") + ") _sublet_offer " + shell_quoted(kind) + " \"$3\" ;;\n";
    }
  return out;
}

std::string bash_aliases(const CommandRow& program) {
  std::string out;
  for (const CommandRow& command : program.commands)
    for (const std::string& alias : command.aliases) out += "        " + alias + ") each=" + command.name + " ;;\n";
  return out;
}

// --- zsh ---

constexpr const char* kZsh = R"sh(#compdef sublet
# zsh completion for sublet, as `sublet completion zsh` prints it

_sublet_clusters() {
  local -a names=(${(f)"$(@LIST@)"})
  compadd -a names
}

@FUNCTIONS@# Loaded by compinit from a folder of completions, or read by `source <(sublet completion zsh)`.
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  _sublet "$@"
else
  compdef _sublet sublet
fi
)sh";

// Not "commands": zsh has a parameter of that name, by which it completes programs.
constexpr const char* kZshGroup = R"sh(@NAME@() {
  local curcontext=$curcontext state line
  local -A opt_args
  local -a subcommands=(
@COMMANDS@  )
  _arguments -C@WORDS@ \
    '1: :->command' \
    '*:: :->arguments'
  case $state in
    command) _describe command subcommands ;;
    arguments)
      case $words[1] in
@CALLS@      esac
      ;;
  esac
}

)sh";

// Words behind "--" are another program's.
constexpr const char* kZshProgram = R"sh(  local -i dashes=${words[(Ie)--]}
  if ((dashes && dashes < CURRENT)); then
    shift $dashes words
    ((CURRENT -= dashes))
    _normal
    return
  fi
)sh";

// In the brackets of an _arguments specification, or before a colon.
std::string zsh_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == '\\' || c == ':') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_action(const WordRow& row) {
  switch (completion_of(row)) {
    case Completion::clusters:
      return "_sublet_clusters";
    case Completion::files:
      return "_files";
    case Completion::choices:
      return "(" + join(row.choices, " ") + ")";
    case Completion::none:
      break;
  }
  return " ";
}

std::string zsh_flag(const WordRow& flag) {
  std::vector<std::string> names;
  for (const std::string& name : flag.names)
    names.push_back(name + (flag.value.empty() ? "" : name.starts_with("--") ? "=" : "+"));
  // One that was given is not offered again.
  const std::string before = flag.repeats ? "'*'" : shell_quoted("(" + join(flag.names, " ") + ")");
  const std::string value = flag.value.empty() ? "" : ":" + zsh_text(to_lower(flag.value)) + ":" + zsh_action(flag);
  return before + (names.size() > 1 ? "{" + join(names, ",") + "}" : names.front()) +
         shell_quoted("[" + zsh_text(flag.help) + "]" + value);
}

std::string zsh_words(const CommandRow& command) {
  std::string out;
  for (const WordRow& flag : command.flags) out += " \\\n    " + zsh_flag(flag);
  for (std::size_t i = 0; i < command.arguments.size(); ++i) {
    const WordRow& row = command.arguments[i];
    const std::string at = row.repeats ? "*" : std::to_string(i + 1);
    out += " \\\n    " + shell_quoted(at + ":" + to_lower(row.names.front()) + ":" + zsh_action(row));
  }
  return out;
}

std::string zsh_function(const CommandPlace& place) {
  std::string name = "_sublet";
  for (const std::string& word : place.words) name += "_" + word;
  if (place.command->commands.empty())
    return name + "() {\n" + (place.command->runs_program ? kZshProgram : "") + "  _arguments" +
           zsh_words(*place.command) + "\n}\n\n";
  std::string commands, calls;
  for (const CommandRow& each : place.command->commands) {
    commands += "    " + shell_quoted(each.name + ":" + each.summary) + "\n";
    std::vector<std::string> patterns{each.name};
    patterns.insert(patterns.end(), each.aliases.begin(), each.aliases.end());
    calls += "        " + join(patterns, " | ") + ") " + name + "_" + each.name + " ;;\n";
  }
  return filled(kZshGroup,
                {{"NAME", name}, {"COMMANDS", commands}, {"WORDS", zsh_words(*place.command)}, {"CALLS", calls}});
}

// --- fish ---

constexpr const char* kFish = R"sh(# fish completion for sublet, as `sublet completion fish` prints it

set -g __sublet_groups@GROUPS@
set -g __sublet_valued@VALUED@

# Prints the command that the words before the cursor name, and how many arguments it has.
function __sublet_state
    set -l command ''
    set -l count 0
    set -l flag no
    for word in (commandline -opc)[2..-1]
        if test $flag = yes
            set flag no
        else if test "$word" = --
            contains -- "$command" @PROGRAMS@; and set command --; or set command none
            break
        else if string match -q -- '-*' "$word"
            contains -- "$command $word" $__sublet_valued; and set flag yes
        else if contains -- "$command" $__sublet_groups
            switch $word
@ALIASES@            end
            set command (string trim -- "$command $word")
        else
            set count (math $count + 1)
        end
    end
    printf '%s\n' "$command" $count
end

# __sublet_at COMMAND [COUNT]: at that command, when it has had so many arguments.
function __sublet_at
    set -l state (__sublet_state)
    test "$state[1]" = "$argv[1]"; or return 1
    not set -q argv[2]; or test "$state[2]" = "$argv[2]"
end

function __sublet_clusters
    @LIST@
end

# Completes the words behind "--" as a command line of their own.
function __sublet_program
    set -l words (commandline -opc)
    set -l dashes (contains -i -- -- $words)
    complete -C (string join ' ' -- (string escape -- $words[(math $dashes + 1)..-1]) (commandline -ct))
end

complete -c sublet -f
complete -c sublet -n '__sublet_at --' -xa '(__sublet_program)'
@COMPLETIONS@)sh";

std::string fish_value(const WordRow& row) {
  switch (completion_of(row)) {
    case Completion::clusters:
      return " -xa '(__sublet_clusters)'";
    case Completion::files:
      return " -rF";
    case Completion::choices:
      return " -xa " + fish_quoted(join(row.choices, " "));
    case Completion::none:
      break;
  }
  return " -x";
}

std::string fish_flag(const WordRow& flag) {
  std::string out;
  for (const std::string& name : flag.names)
    out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  if (!flag.value.empty()) out += fish_value(flag);
  return out + " -d " + fish_quoted(flag.help) + "\n";
}

std::string fish_place(const CommandPlace& place) {
  const auto at = [&](const std::string& count) {
    return "complete -c sublet -n " + fish_quoted("__sublet_at \"" + place_name(place) + "\"" + count);
  };
  std::string out;
  for (const CommandRow& each : place.command->commands)
    out += at("") + " -a " + each.name + " -d " + fish_quoted(each.summary) + "\n";
  for (std::size_t i = 0; i < place.command->arguments.size(); ++i) {
    const WordRow& row = place.command->arguments[i];
    if (completion_of(row) != Completion::none)
      out += at(row.repeats ? "" : " " + std::to_string(i)) + fish_value(row) + "\n";
  }
  for (const WordRow& flag : place.command->flags) out += at("") + fish_flag(flag);
  return out;
}

std::string fish_aliases(const CommandRow& program) {
  std::string out;
  for (const CommandRow& command : program.commands)
    for (const std::string& alias : command.aliases)
      out += "                case " + alias + "\n                    set word " + command.name + "\n";
  return out;
}

}  // namespace

std::string bash_completion(const CommandRow& program) {
  const auto places = places_of(program);
  return filled(kBash, {{"LIST", kListClusters},
                        {"VALUES", bash_values(places)},
                        {"TABLE", bash_table(places)},
                        {"PROGRAMS", join(programs_of(places), " | ")},
                        {"ALIASES", bash_aliases(program)}});
}

std::string zsh_completion(const CommandRow& program) {
  std::string functions;
  for (const CommandPlace& place : places_of(program)) functions += zsh_function(place);
  return filled(kZsh, {{"LIST", kListClusters}, {"FUNCTIONS", functions}});
}

std::string fish_completion(const CommandRow& program) {
  const auto places = places_of(program);
  std::string groups, valued, completions;
  for (const CommandPlace& place : places) {
    if (!place.command->commands.empty()) groups += " " + fish_quoted(place_name(place));
    for (const std::string& flag : flags_of(*place.command, true))
      valued += " \\\n    " + fish_quoted(place_name(place) + " " + flag);
    completions += fish_place(place);
  }
  return filled(kFish, {{"GROUPS", groups},
                        {"VALUED", valued},
                        {"PROGRAMS", join(programs_of(places), " ")},
                        {"ALIASES", fish_aliases(program)},
                        {"LIST", kListClusters},
                        {"COMPLETIONS", completions}});
}

}  // namespace sublet::cli
