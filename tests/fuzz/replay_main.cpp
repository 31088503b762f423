// Runs a fuzz target without libFuzzer: over every file of a corpus folder, then over seeded mutations of them. The
// same seed gives the same inputs on every machine, so a failure here can be repeated.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

const std::string* current = nullptr;

// The input that a target ends with goes into a file of the working folder, as libFuzzer does it.
void keep_input(int) {
  std::signal(SIGABRT, SIG_DFL);
  if (std::FILE* file = current ? std::fopen("crash-input", "wb") : nullptr) {
    (void)std::fwrite(current->data(), 1, current->size(), file);
    (void)std::fclose(file);
    (void)std::fputs("the input is in crash-input\n", stderr);
  }
  std::abort();
}

void run(const std::string& input) {
  current = &input;
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
}

std::string mutate(const std::vector<std::string>& corpus, std::mt19937& random) {
  const auto pick = [&](std::size_t below) { return below == 0 ? 0 : random() % below; };
  std::string text = corpus[pick(corpus.size())];
  for (auto edits = 1 + pick(6); edits > 0; --edits) {
    const auto at = pick(text.size() + 1);
    switch (pick(6)) {
      case 0:
        if (at < text.size()) text[at] = static_cast<char>(random());
        break;
      case 1:
        text.insert(at, 1, static_cast<char>(random()));
        break;
      case 2:
        text.erase(at, 1 + pick(8));
        break;
      case 3:
        text.insert(at, text.substr(pick(text.size() + 1), pick(40)));
        break;
      case 4: {  // a piece of another one
        const auto& other = corpus[pick(corpus.size())];
        text.insert(at, other.substr(pick(other.size() + 1), pick(60)));
        break;
      }
      default:
        text.insert(at, std::string(1, "\r\n\0 \t:;,0Ff-"[pick(12)]));
    }
  }
  return text;
}

}  // namespace

int main(int count, char** arguments) {
  std::signal(SIGABRT, keep_input);  // of a sanitizer with ASAN_OPTIONS=abort_on_error=1
  if (count < 2) {
    std::fprintf(stderr, "usage: %s CORPUS_FOLDER [MUTATIONS | SECONDSs]\n", arguments[0]);
    return 2;
  }
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(arguments[1])) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> corpus;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    run(corpus.back());
  }
  if (corpus.empty()) {
    std::fprintf(stderr, "%s: no corpus\n", arguments[1]);
    return 1;
  }
  const long wanted = count > 2 ? std::atol(arguments[2]) : 0;
  const bool timed = count > 2 && std::string_view(arguments[2]).ends_with('s');
  // A run by the clock is another one each time.
  const auto now = std::chrono::steady_clock::now(), end = now + std::chrono::seconds(timed ? wanted : 0);
  std::mt19937 random(timed ? static_cast<unsigned>(now.time_since_epoch().count()) : 20261121u);
  long mutations = 0;
  for (; timed ? std::chrono::steady_clock::now() < end : mutations < wanted; ++mutations) run(mutate(corpus, random));
  std::printf("%zu corpus inputs, %ld mutations\n", corpus.size(), mutations);
  return 0;
}
