# Build rules shared by every folder: language level, warnings, sanitizers, and the two functions that a folder's
# CMakeLists.txt calls.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

option(SUBLET_WERROR "Treat warnings as errors" ON)
option(SUBLET_BENCH "Build the benchmarks" ON)
set(SUBLET_SANITIZE "" CACHE STRING "Sanitizers, e.g. address,undefined or thread")

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  # Paths relative to the tree, and none in the hash: every clone and worktree is served by what another has compiled.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE_PROGRAM})
endif()

# Boost 1.74's asio/awaitable.hpp uses std::exchange without <utility>, and cpprest includes it.
add_compile_options(-Wall -Wextra -Wshadow -Wnon-virtual-dtor -include utility)
if(SUBLET_WERROR)
  add_compile_options(-Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_compile_options(-Wthread-safety)  # of what sublet/base/mutex.h annotates
endif()
add_compile_options(-fno-omit-frame-pointer -fstack-protector-strong)
if(SUBLET_SANITIZE)
  add_compile_options(-fsanitize=${SUBLET_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${SUBLET_SANITIZE})
  # The presets take clang: it compiles these builds three times as fast as GCC, and links both runtimes statically, with one
  # log_path for all (the last of ASAN_, UBSAN_ and LSAN_OPTIONS counts). As shared libraries GCC's two get into each other's
  # way: UBSan's log_path ends up as ASan's, and UBSan's reports on stderr, where tests/e2e/run does not see those of daemons.
  if(SUBLET_SANITIZE MATCHES "undefined" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_link_options(-static-libubsan)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    add_link_options(-fuse-ld=lld)
  endif()
else()
  add_link_options(-Wl,--as-needed)
endif()

if(SUBLET_FUZZ)  # libFuzzer must see into the libraries (tests/fuzz)
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined)
  add_link_options(-fsanitize=address,undefined)
endif()

find_package(Threads REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(spdlog REQUIRED)
find_package(ZLIB REQUIRED)
pkg_check_modules(sqlite3 REQUIRED IMPORTED_TARGET sqlite3)
pkg_check_modules(re2 REQUIRED IMPORTED_TARGET re2)
pkg_check_modules(yaml-cpp REQUIRED IMPORTED_TARGET yaml-cpp)
find_library(SIMDJSON_LIBRARY simdjson REQUIRED)
if(BUILD_TESTING OR NOT DEFINED BUILD_TESTING)
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()

# The walls. A target is compiled with include paths that hold nothing but what it may see: its own folder's private headers,
# and the contracts (include/sublet/<folder>/) of its folder and of the folders that it links. The paths are folders of links
# in the build tree, so that "store/tree.h" names the same file everywhere, where it can be seen at all.
# tools/check-walls says which links and includes ARCHITECTURE.md allows.
function(sublet_wall OUT KIND NAME TARGET_FOLDER)  # OUT: an include path below which only NAME can be found
  set(path ${CMAKE_BINARY_DIR}/walls/${KIND})
  string(REPLACE "/" "_" flat ${NAME})
  get_filename_component(parent ${path}/${flat}/${NAME} DIRECTORY)
  file(MAKE_DIRECTORY ${parent})
  file(CREATE_LINK ${TARGET_FOLDER} ${path}/${flat}/${NAME} SYMBOLIC)
  set(${OUT} ${path}/${flat} PARENT_SCOPE)
endfunction()

# sublet_private_headers(TARGET folder...): TARGET (a test, a benchmark, a main file) may include these folders' private headers.
function(sublet_private_headers TARGET)
  foreach(folder ${ARGN})
    sublet_wall(path private ${folder} ${CMAKE_SOURCE_DIR}/${folder})
    target_include_directories(${TARGET} PRIVATE ${path})
  endforeach()
endfunction()

# sublet_library(NAME [DEPS target...] [TEST_DEPS target...] [TEST_SEES folder...]): the folder's *.cpp but for tests,
# fuzzers and main files as library sublet_NAME; its *_test.cpp as executable NAME_test, whose tests carry the label NAME (one
# label each: gtest_discover_tests loses the second). TEST_SEES: whose private test helpers the tests use.
# SMALL: regular expressions of the sources that are compiled for size in release: what is never on a hot path. An idle process
# pays for code by the page, and -Os takes 40 % off such files (docs/performance.md).
function(sublet_library NAME)
  cmake_parse_arguments(ARG "" "" "DEPS;TEST_DEPS;TEST_SEES;EXCLUDE;SMALL" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "(_test|_fuzz|main|_testing)\\.cpp$")
  list(FILTER tests INCLUDE REGEX "(_test|_testing)\\.cpp$")
  foreach(pattern ${ARG_EXCLUDE})
    list(FILTER sources EXCLUDE REGEX ${pattern})
    list(FILTER tests EXCLUDE REGEX ${pattern})
  endforeach()
  file(RELATIVE_PATH folder ${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  string(REGEX REPLACE "/.*" "" room ${folder})
  foreach(pattern ${ARG_SMALL})
    set(small ${sources})
    list(FILTER small INCLUDE REGEX ${pattern})
    set_property(SOURCE ${small} APPEND PROPERTY COMPILE_OPTIONS $<$<CONFIG:RelWithDebInfo>:-Os>)
  endforeach()
  add_library(sublet_${NAME} STATIC ${sources})
  sublet_private_headers(sublet_${NAME} ${folder})
  if(EXISTS ${CMAKE_SOURCE_DIR}/include/sublet/${room})
    sublet_wall(contracts contracts sublet/${room} ${CMAKE_SOURCE_DIR}/include/sublet/${room})
    target_include_directories(sublet_${NAME} PUBLIC ${contracts})
  endif()
  target_link_libraries(sublet_${NAME} PUBLIC ${ARG_DEPS} Threads::Threads)
  if(tests AND BUILD_TESTING)
    add_executable(${NAME}_test ${tests})
    target_compile_options(${NAME}_test PRIVATE $<$<CONFIG:RelWithDebInfo>:-O1>)  # a third off their compile time
    sublet_private_headers(${NAME}_test ${folder} ${ARG_TEST_SEES})
    target_link_libraries(${NAME}_test PRIVATE sublet_${NAME} ${ARG_TEST_DEPS} GTest::gmock GTest::gtest_main)
    # Only the tests that read files of the tree know where it stands: an absolute path in a command line keeps ccache from
    # serving another clone.
    foreach(test ${tests})
      file(STRINGS ${test} uses REGEX "SUBLET_SOURCE_DIR" LIMIT_COUNT 1)
      if(uses)
        set_source_files_properties(${test} PROPERTIES COMPILE_DEFINITIONS "SUBLET_SOURCE_DIR=\"${CMAKE_SOURCE_DIR}\"")
      endif()
    endforeach()
    gtest_discover_tests(${NAME}_test DISCOVERY_MODE PRE_TEST PROPERTIES TIMEOUT 900 LABELS ${NAME})
  endif()
endfunction()
