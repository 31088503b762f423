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
  # Paths relative to the tree, and none in the hash: a clone or worktree takes what another has compiled. The sloppiness is what
  # ccache requires of precompiled headers.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_PCH_EXTSUM=1 ${CCACHE_PROGRAM})
endif()

# -pthread here and not by the targets that need it: a precompiled header serves one set of flags.
add_compile_options(-Wall -Wextra -Wshadow -Wnon-virtual-dtor -pthread)
if(SUBLET_WERROR)
  add_compile_options(-Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_compile_options(-Wthread-safety)  # of what sublet/base/mutex.h annotates
endif()
add_compile_options(-fno-omit-frame-pointer -fstack-protector-strong)
# A batch brings its neighbours into a program that uses one of its sources; the linker drops what nothing calls.
add_compile_options(-ffunction-sections -fdata-sections)
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
  add_link_options(-Wl,--as-needed -Wl,--gc-sections)
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
if(BUILD_TESTING)
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()

# The walls. A target is compiled with include paths that hold nothing but what it may see: its own folder's private headers,
# and the contracts (include/sublet/<folder>/) of its folder and of the folders that it links. The paths are folders of links
# in the build tree, so that "store/state/tree.h" names the same file everywhere, where it can be seen at all.
# tools/check-layers says which links and includes ARCHITECTURE.md allows.
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

include(Batches)
if(SUBLET_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # In a batch GCC takes a source for a header, and warns of its types that have members from an anonymous namespace. It also
  # inlines more, and GCC 12 then warns of impossible sizes in std::string (GCC bugs 105329, 105651); ASan looks for real ones.
  add_compile_options(-Wno-subobject-linkage -Wno-stringop-overflow -Wno-array-bounds -Wno-restrict)
endif()
if(CMAKE_BUILD_TYPE STREQUAL "RelWithDebInfo")
  set(SUBLET_OPTIMIZE_SMALL -Os)
  set(SUBLET_OPTIMIZE_TESTS -O1)  # a third off their compile time
endif()
sublet_pch(sublet_pch_product SUBLET_PCH_HEADERS)
sublet_pch(sublet_pch_small SUBLET_PCH_HEADERS ${SUBLET_OPTIMIZE_SMALL})
if(BUILD_TESTING)
  sublet_pch(sublet_pch_test SUBLET_TEST_PCH_HEADERS -DGTEST_HAS_PTHREAD=1 ${SUBLET_OPTIMIZE_TESTS})
endif()

# sublet_library(NAME [DEPS target...] [TEST_DEPS target...] [TEST_SEES folder...]): the folder's *.cpp but for tests,
# fuzzers and main files as library sublet_NAME; its *_test.cpp as executable NAME_test, whose tests carry the label NAME (one
# label each: gtest_discover_tests loses the second). TEST_SEES: whose private test helpers the tests use.
# SMALL: regular expressions of the sources that are compiled for size in release: what is never on a hot path. An idle process
# pays for code by the page, and -Os takes 40 % off such files (docs/performance.md).
# ALONE: regular expressions of the sources that stay out of unity batches.
function(sublet_library NAME)
  cmake_parse_arguments(ARG "" "" "DEPS;TEST_DEPS;TEST_SEES;EXCLUDE;SMALL;ALONE" ${ARGN})
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
  sublet_take(small sources "${ARG_SMALL}")
  sublet_take(small_alone small "${ARG_ALONE}")
  sublet_take(alone sources "${ARG_ALONE}")
  sublet_batches(batches ${NAME} sources)
  sublet_batches(small_batches ${NAME}_small small)
  list(APPEND batches ${alone})
  list(APPEND small_batches ${small_alone})
  if(batches)
    add_library(sublet_${NAME} STATIC ${batches})
    sublet_use_pch(sublet_${NAME} sublet_pch_product)
    set(compiled sublet_${NAME})
  else()
    add_library(sublet_${NAME} STATIC)
    set_target_properties(sublet_${NAME} PROPERTIES LINKER_LANGUAGE CXX)
  endif()
  if(small_batches)  # a target of its own, because a precompiled header serves one set of flags
    add_library(sublet_${NAME}_small OBJECT ${small_batches})
    target_compile_options(sublet_${NAME}_small PRIVATE ${SUBLET_OPTIMIZE_SMALL})
    sublet_use_pch(sublet_${NAME}_small sublet_pch_small)
    target_sources(sublet_${NAME} PRIVATE $<TARGET_OBJECTS:sublet_${NAME}_small>)
    list(APPEND compiled sublet_${NAME}_small)
  endif()
  foreach(target ${compiled})
    sublet_private_headers(${target} ${folder})
  endforeach()
  if(EXISTS ${CMAKE_SOURCE_DIR}/include/sublet/${room})
    sublet_wall(contracts contracts sublet/${room} ${CMAKE_SOURCE_DIR}/include/sublet/${room})
    foreach(target ${compiled})
      target_include_directories(${target} PUBLIC ${contracts})
    endforeach()
    target_include_directories(sublet_${NAME} PUBLIC ${contracts})
  endif()
  foreach(target sublet_${NAME} ${compiled})
    target_link_libraries(${target} PUBLIC ${ARG_DEPS} Threads::Threads)
  endforeach()
  if(tests AND BUILD_TESTING)
    sublet_batches(test_batches ${NAME}_test tests)
    add_executable(${NAME}_test ${test_batches})
    target_compile_options(${NAME}_test PRIVATE ${SUBLET_OPTIMIZE_TESTS})
    sublet_use_pch(${NAME}_test sublet_pch_test)
    sublet_private_headers(${NAME}_test ${folder} ${ARG_TEST_SEES} tests/support)
    target_link_libraries(${NAME}_test PRIVATE sublet_${NAME} ${ARG_TEST_DEPS} sublet_test_support GTest::gmock GTest::gtest_main)
    gtest_discover_tests(${NAME}_test DISCOVERY_MODE PRE_TEST PROPERTIES TIMEOUT 900 LABELS ${NAME})
  endif()
endfunction()

# sublet_take(OUT FROM PATTERNS): moves what matches one of the regular expressions from the list FROM to OUT.
function(sublet_take OUT FROM PATTERNS)
  set(taken)
  set(left ${${FROM}})
  foreach(pattern ${PATTERNS})
    set(matching ${left})
    list(FILTER matching INCLUDE REGEX ${pattern})
    list(FILTER left EXCLUDE REGEX ${pattern})
    list(APPEND taken ${matching})
  endforeach()
  set(${OUT} ${taken} PARENT_SCOPE)
  set(${FROM} ${left} PARENT_SCOPE)
endfunction()

# sublet_executable(NAME source...): a program of these sources, in batches where there are several, with the precompiled header.
# The sources are relative to the folder of the caller, or absolute.
function(sublet_executable NAME)
  set(sources)
  set(generated)
  foreach(source ${ARGN})
    get_filename_component(source ${source} ABSOLUTE)
    string(FIND ${source} ${CMAKE_BINARY_DIR}/ inside)
    if(inside EQUAL 0)
      list(APPEND generated ${source})
    else()
      list(APPEND sources ${source})
    endif()
  endforeach()
  sublet_batches(batches ${NAME} sources)
  add_executable(${NAME} ${batches} ${generated})
  sublet_use_pch(${NAME} sublet_pch_product)
  if(NOT batches STREQUAL sources)  # a batch finds its sources by their paths in the tree
    foreach(source ${sources})
      file(RELATIVE_PATH folder ${CMAKE_SOURCE_DIR} ${source})
      string(REGEX REPLACE "/.*" "" folder ${folder})
      sublet_private_headers(${NAME} ${folder})
    endforeach()
  endif()
endfunction()
