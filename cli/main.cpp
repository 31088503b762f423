// sublet: the command line's process. Chooses the driver; command_line.cpp has the words.
#include <sys/stat.h>

#include "cli/command_line.h"
#include "cli/cpprest_transport.h"
#include "sublet/base/log.h"
#include "sublet/cluster/local_driver.h"
#include "sublet/cluster/state_folder.h"

int main(int argc, char** argv) {
  ::umask(077);  // files that we write are private
  sublet::log::set_level(sublet::log::Level::warning);
  return sublet::cli::run_command_line(argc, argv, [] {
    return sublet::cluster::make_local_driver(sublet::cluster::chosen_state_folder(),
                                              sublet::cli::make_cpprest_transport);
  });
}
