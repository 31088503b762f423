// What the tests of the commands share: a call whose output is captured, and a fixture that runs command lines.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "cli/command_line.h"
#include "cluster/folder_testing.h"

namespace sublet::cli {

/// Returns the exit code of `call`, and what it wrote to stdout and stderr in `out` and `err`.
template <class Call>
int capture(Call call, std::string& out, std::string& err) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int code = call();
  std::fflush(stdout);
  out = testing::internal::GetCapturedStdout();
  err = testing::internal::GetCapturedStderr();
  return code;
}

/// Command lines of a user whose kubeconfig and state folder are in a folder of the test.
class CommandLineTest : public testing::Test {
 protected:
  CommandLineTest() {
    ::setenv("KUBECONFIG", (home_.path + "/config").c_str(), 1);
    ::setenv("SUBLET_STATE_DIR", (home_.path + "/state").c_str(), 1);
  }
  /// Runs `sublet WORDS...`; the output is in out_ and err_.
  int run_words(std::vector<std::string> words, const DriverMaker& make_driver) {
    words.insert(words.begin(), "sublet");
    std::vector<char*> argv;
    for (auto& word : words) argv.push_back(word.data());
    return capture([&] { return run_command_line(static_cast<int>(argv.size()), argv.data(), make_driver); }, out_,
                   err_);
  }

  const testing_support::TestFolder home_;
  std::string out_, err_;
};

}  // namespace sublet::cli
