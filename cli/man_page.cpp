#include "cli/man_page.h"

#include "sublet/base/text.h"

namespace sublet::cli {
namespace {

// Escapes what roff would interpret: backslashes, dashes that are no hyphens, and a dot or quote that begins a line.
std::string roff_text(std::string_view text) {
  std::string out;
  bool at_line_start = true;
  for (const char c : text) {
    if (at_line_start && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
    at_line_start = c == '\n';
  }
  return out;
}

std::string roff_bold(std::string_view text) { return "\\fB" + roff_text(text) + "\\fR"; }
std::string roff_italic(std::string_view text) { return "\\fI" + roff_text(text) + "\\fR"; }

std::string upper_case(std::string text) {
  for (char& c : text)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return text;
}

std::string title_line(const std::string& page, int section, const Edition& edition) {
  return ".TH " + page + " " + std::to_string(section) + " " + edition.date + " \"sublet " + edition.version +
         "\" \"sublet manual\"\n";
}

std::string man_section(const std::string& title) { return ".SH " + title + "\n"; }

// A term and what it means.
std::string man_entry(const std::string& term, const std::string& meaning) {
  return ".TP\n" + term + "\n" + meaning + "\n";
}

std::string value_of(const WordRow& row) {
  if (!row.choices.empty()) return join(row.choices, "|");
  return to_lower(row.value);
}

std::string flag_entry(const WordRow& flag) {
  std::vector<std::string> names;
  for (const std::string& name : flag.names) names.push_back(roff_bold(name));
  std::string term = join(names, ", ");
  if (!flag.value.empty()) term += " " + roff_italic(value_of(flag));
  std::string meaning = roff_text(flag.help);
  if (!flag.default_value.empty()) meaning += " (default: " + roff_text(flag.default_value) + ")";
  if (flag.required) meaning += " (required)";
  return man_entry(term, meaning);
}

std::string options_of(const CommandRow& command) {
  std::string out;
  for (const WordRow& row : command.arguments) out += man_entry(roff_italic(row.names.front()), roff_text(row.help));
  for (const WordRow& row : command.flags) out += flag_entry(row);
  return out;
}

std::string synopsis(const std::string& words, const CommandRow& command) {
  std::string out = ".B " + roff_text(words) + "\n[" + roff_italic("flags") + "]";
  for (const WordRow& row : command.arguments) {
    const std::string name = roff_italic(row.names.front()) + (row.repeats ? "..." : "");
    out += " " + (row.required ? name : "[" + name + "]");
  }
  if (command.runs_program) out += " [" + roff_bold("--") + " " + roff_italic("COMMAND") + "...]";
  return out + "\n";
}

std::string examples_section(const CommandRow& command) {
  if (command.examples.empty()) return "";
  return man_section("EXAMPLES") + ".EX\n" + roff_text(command.examples) + "\n.EE\n";
}

// The summary as a sentence.
std::string summary_sentence(const CommandRow& command) { return roff_text(command.summary) + ".\n"; }

std::string see_also_section(const std::vector<std::string>& pages) {
  std::vector<std::string> references;
  for (const std::string& page : pages) {
    const auto dot = page.rfind('.');
    references.push_back(".BR " + roff_text(page.substr(0, dot)) + " (" + page.substr(dot + 1) + ")");
  }
  return man_section("SEE ALSO") + join(references, " ,\n") + "\n";
}

std::string page_of(const CommandRow& command) { return "sublet-" + command.name + ".1"; }

std::string command_page(const CommandRow& command, const Edition& edition) {
  const std::string words = "sublet " + command.name;
  std::string out = title_line("SUBLET\\-" + upper_case(command.name), 1, edition);
  out += man_section("NAME") + "sublet\\-" + roff_text(command.name) + " \\- " + roff_text(command.summary) + "\n";
  out += man_section("SYNOPSIS");
  if (command.commands.empty()) out += synopsis(words, command);
  for (std::size_t i = 0; i < command.commands.size(); ++i)
    out += (i > 0 ? ".br\n" : "") + synopsis(words + " " + command.commands[i].name, command.commands[i]);
  out += man_section("DESCRIPTION") + summary_sentence(command);
  if (!command.aliases.empty())
    out += ".PP\nThe same command by a shorter name: " + roff_bold("sublet " + join(command.aliases, ", ")) + ".\n";
  if (command.commands.empty()) out += man_section("OPTIONS") + options_of(command);
  for (const CommandRow& each : command.commands)
    out += ".SS sublet " + command.name + " " + each.name + "\n" + summary_sentence(each) + options_of(each);
  return out + examples_section(command) + see_also_section({"sublet.1", "subletd.8"});
}

std::string exit_status_section() {
  return man_section("EXIT STATUS") + man_entry("0", "Done.") + man_entry("1", "Failure.") +
         man_entry("2", "Usage: wrong flags, or a mistake in a template, with its file, line and key.") +
         man_entry("3", "There is no such virtual cluster, context or file.") + man_entry("4", "Not done in time.") +
         man_entry("5", "Refused by the host, or by sublet itself.") +
         man_entry("128+n", "Signal n ended the command: 130 for ^C.") + ".PP\n" + roff_bold("sublet connect") + " " +
         roff_italic("NAME") + " " + roff_bold("--") + " " + roff_italic("COMMAND") +
         " returns the exit status of the command.\n";
}

std::string environment_section() {
  return man_section("ENVIRONMENT") +
         man_entry(roff_bold("SUBLET_STATE_DIR"), "The folder with the state of the virtual clusters. Default: " +
                                                      roff_italic("$XDG_STATE_HOME/sublet") + ", else " +
                                                      roff_italic("~/.local/state/sublet") + ".") +
         man_entry(roff_bold("KUBECONFIG"), "The kubeconfig files that " + roff_bold("sublet connect") + " and " +
                                                roff_bold("sublet disconnect") + " change, as for kubectl.");
}

std::string files_section() {
  return man_section("FILES") +
         man_entry(roff_italic("~/.local/state/sublet"),
                   "Keys, record, data and logs of each virtual cluster, in clusters/NAMESPACE/NAME.") +
         man_entry(roff_italic("/usr/share/sublet/templates"), "Templates for " + roff_bold("sublet create -f") + ".") +
         man_entry(roff_italic("sublet@.service"),
                   "The systemd unit that starts a user's virtual clusters with the machine: " +
                       roff_bold("systemctl enable --now sublet@USER") + ".");
}

}  // namespace

std::vector<ManPage> command_line_manual(const CommandRow& sublet, const Edition& edition) {
  std::vector<ManPage> pages;
  std::string commands;
  std::vector<std::string> others;
  for (const CommandRow& command : sublet.commands) {
    pages.push_back({page_of(command), command_page(command, edition)});
    commands += man_entry(roff_bold(command.name),
                          roff_text(command.summary) + ". See\n.BR sublet\\-" + roff_text(command.name) + " (1).");
    others.push_back(page_of(command));
  }
  others.emplace_back("subletd.8");
  std::string text = title_line("SUBLET", 1, edition);
  text += man_section("NAME") + "sublet \\- virtual Kubernetes clusters on one shared host cluster\n";
  text += man_section("SYNOPSIS") + ".B sublet\n" + roff_italic("COMMAND") + " [" + roff_italic("flags") + "] [" +
          roff_italic("arguments") + "...]\n";
  text += man_section("DESCRIPTION") + summary_sentence(sublet);
  text += ".PP\nData goes to standard output, progress and errors to standard error.\n";
  text += man_section("COMMANDS") + commands + man_section("OPTIONS") + options_of(sublet);
  text += examples_section(sublet) + exit_status_section() + environment_section() + files_section() +
          see_also_section(others);
  pages.insert(pages.begin(), {"sublet.1", text});
  return pages;
}

ManPage daemon_manual(const CommandRow& subletd, const Edition& edition) {
  std::string text = title_line("SUBLETD", 8, edition);
  text += man_section("NAME") + "subletd, subletd\\-supervisor \\- the daemons of sublet\n";
  text += man_section("SYNOPSIS") + ".B subletd\n" + roff_italic("ROLE") + " [" + roff_italic("flags") + "]\n";
  text += man_section("DESCRIPTION") + "A process of a virtual cluster, or of the embedded host. " +
          roff_bold("sublet create") + " starts what a virtual cluster needs; by hand, " + roff_bold("subletd run") +
          " is what a container or a service manager starts.\n.PP\n" + roff_bold("subletd-supervisor") + " is what " +
          roff_bold("subletd run") + " becomes. It is not started by hand.\n.PP\nSIGTERM and SIGINT end the process.\n";
  text += man_section("OPTIONS") + options_of(subletd);
  text += man_section("ROLES");
  for (const CommandRow& role : subletd.commands)
    text += ".SS subletd " + role.name + "\n" + summary_sentence(role) + options_of(role);
  return {"subletd.8", text + see_also_section({"sublet.1", "sublet-create.1", "sublet-boot.1"})};
}

}  // namespace sublet::cli
