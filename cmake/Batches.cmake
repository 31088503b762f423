# Fast compiles: one precompiled header for all targets, and unity batches (several sources compiled as one).
# Why, with figures: docs/decisions/0003-build-and-ci-time.md.
#
# The batches are our own and not CMake's UNITY_BUILD, because CMake writes absolute paths into its batches, and ccache could
# then not serve another clone.

option(SUBLET_UNITY "Compile several sources of a target as one" OFF)
option(SUBLET_PCH "Precompile the headers of sublet_pch" ON)

# A batch ends after this many bytes of source. Larger batches parse fewer headers; smaller ones recompile faster after a change.
set(SUBLET_BATCH_BYTES 90000 CACHE STRING "Size of a unity batch in bytes")

# What nearly every source includes. Only headers that no commit of ours changes: a change recompiles everything.
set(SUBLET_PCH_HEADERS
    <algorithm> <array> <atomic> <cerrno> <charconv> <chrono> <condition_variable> <cstdint> <cstdio> <cstdlib> <cstring> <deque>
    <filesystem> <fstream> <functional> <limits> <map> <memory> <mutex> <optional> <random> <set> <span> <string> <string_view>
    <thread> <tl/expected.hpp> <unordered_map> <unordered_set> <utility> <variant> <vector>)
set(SUBLET_TEST_PCH_HEADERS ${SUBLET_PCH_HEADERS} <gmock/gmock.h> <gtest/gtest.h>)

# sublet_pch(NAME HEADERS LIBRARY options...): makes a precompiled header with the definitions of LIBRARY. A compiler takes it
# only with the flags it was made with, so there is one per set of flags: sublet_pch_product, sublet_pch_small, sublet_pch_test.
function(sublet_pch NAME HEADERS LIBRARY)
  if(NOT SUBLET_PCH)
    return()
  endif()
  set(empty ${CMAKE_BINARY_DIR}/pch/${NAME}.cpp)
  file(CONFIGURE OUTPUT ${empty} CONTENT "// Holds the flags of a precompiled header (cmake/Batches.cmake).\n")
  add_library(${NAME} OBJECT ${empty})
  target_compile_options(${NAME} PRIVATE ${ARGN})
  target_link_libraries(${NAME} PRIVATE ${LIBRARY})
  target_precompile_headers(${NAME} PRIVATE ${${HEADERS}})
endfunction()

# sublet_use_pch(TARGET NAME): compiles TARGET's sources with the precompiled header NAME.
function(sublet_use_pch TARGET NAME)
  if(SUBLET_PCH)
    target_precompile_headers(${TARGET} REUSE_FROM ${NAME})
  endif()
endfunction()

# sublet_batches(OUT NAME LIST): sets OUT to the files to compile for LIST (absolute paths): batches that include its sources, or
# LIST itself without SUBLET_UNITY. Sources of one folder stay together, so that what is alike collides where it is seen.
function(sublet_batches OUT NAME LIST)
  if(NOT SUBLET_UNITY)
    set(${OUT} ${${LIST}} PARENT_SCOPE)
    return()
  endif()
  set(files ${${LIST}})
  list(SORT files)
  set(batches)
  set(members)
  set(bytes 0)
  set(number 0)
  foreach(file ${files} END)
    set(size 0)
    if(NOT file STREQUAL END)
      file(SIZE ${file} size)
    endif()
    math(EXPR together "${bytes} + ${size}")
    if(members AND (file STREQUAL END OR together GREATER SUBLET_BATCH_BYTES))
      list(LENGTH members count)
      if(count EQUAL 1)
        list(APPEND batches ${members})
      else()
        sublet_write_batch(batch ${NAME} ${number} members)
        list(APPEND batches ${batch})
        math(EXPR number "${number} + 1")
      endif()
      set(members)
      set(together ${size})
    endif()
    set(bytes ${together})
    list(APPEND members ${file})
  endforeach()
  set(${OUT} ${batches} PARENT_SCOPE)
endfunction()

function(sublet_write_batch OUT NAME NUMBER MEMBERS)
  set(batch ${CMAKE_BINARY_DIR}/batches/${NAME}_${NUMBER}.cpp)
  set(text)
  foreach(member ${${MEMBERS}})
    file(RELATIVE_PATH path ${CMAKE_SOURCE_DIR} ${member})
    string(APPEND text "#include \"${path}\"\n")
  endforeach()
  file(CONFIGURE OUTPUT ${batch} CONTENT "${text}" @ONLY)  # written only when it differs
  set(${OUT} ${batch} PARENT_SCOPE)
endfunction()
