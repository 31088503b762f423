// A program that is wrong in the way its argument names, for tests/sanitizers/run: what each sanitizer of the build
// must see.
#include <climits>
#include <cstdio>
#include <map>
#include <string>
#include <thread>

#if defined(__GNUC__) && !defined(__clang__)  // GCC sees some of it when it compiles
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wuse-after-free"
#pragma GCC diagnostic ignored "-Wdangling-pointer"
#endif

namespace {

struct Base {
  virtual ~Base() = default;
  int first = 1;
};
struct Derived : Base {
  virtual int read() { return second; }
  int second = 2;
};

int* volatile leaked = nullptr;
volatile int counter = 0;
volatile int one = 1;

void freed_memory() {
  int* numbers = new int[4]{};
  delete[] numbers;
  std::printf("%d\n", numbers[one]);
}
void dead_stack() {
  int* volatile gone = nullptr;
  {
    int numbers[3] = {one, 2, 3};
    gone = numbers;
  }
  std::printf("%d\n", gone[one]);
}
void leak() {
  leaked = new int[100];
  leaked = nullptr;
}
void overflow() { std::printf("%d\n", INT_MAX + one); }
void misaligned() {
  alignas(8) char bytes[16] = {};
  std::printf("%d\n", *reinterpret_cast<int*>(bytes + one));
}
void vptr() {
  Base base;
  std::printf("%d\n", static_cast<Derived*>(&base)->second != 0);
}
void race() {
  const auto count = [] {
    for (int i = 0; i < 1000; ++i) counter = counter + 1;
  };
  std::thread other(count);
  count();
  other.join();
}

const std::map<std::string, void (*)()> kMistakes = {
    {"freed_memory", freed_memory},
    {"dead_stack", dead_stack},
    {"leak", leak},
    {"overflow", overflow},
    {"misaligned", misaligned},
    {"vptr", vptr},
    {"race", race},
    {"none", [] {}},
};

}  // namespace

int main(int count, char** arguments) {
  const auto mistake = kMistakes.find(count > 1 ? arguments[1] : "");
  if (mistake == kMistakes.end()) return 2;
  mistake->second();
  return 0;
}
