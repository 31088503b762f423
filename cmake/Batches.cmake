# Fast compiles: one precompiled header for all targets, and unity batches (several sources compiled as one).
# Why, with figures: docs/decisions/0003-build-and-ci-time.md.
#
# The batches are our own and not CMake's UNITY_BUILD, because CMake writes absolute paths into its batches, and ccache could
# then not serve another clone.

option(SUBLET_UNITY "Compile several sources of a target as one" OFF)
option(SUBLET_PCH "Precompile the headers that nearly every source includes" ON)

# A batch ends after this many bytes of source. Larger batches parse fewer headers; smaller ones recompile faster after a change.
set(SUBLET_BATCH_BYTES 90000 CACHE STRING "Size of a unity batch in bytes")

# What nearly every source includes. Only headers that no commit of ours changes: a change recompiles everything.
set(SUBLET_PCH_HEADERS
    <algorithm> <array> <atomic> <cerrno> <charconv> <chrono> <condition_variable> <cstdint> <cstdio> <cstdlib> <cstring> <deque>
    <filesystem> <fstream> <functional> <limits> <map> <memory> <mutex> <optional> <random> <set> <span> <string> <string_view>
    <thread> <tl/expected.hpp> <unordered_map> <unordered_set> <utility> <variant> <vector>)
set(SUBLET_TEST_PCH_HEADERS ${SUBLET_PCH_HEADERS} <gmock/gmock.h> <gtest/gtest.h>)

# sublet_pch(NAME HEADERS option...): precompiles the headers of the list HEADERS with the options, and sets NAME to the header to
# include. A compiler takes a precompiled header only with the flags it was made with, so there is one per set of flags. It is made
# here, once per machine and not per build folder, in the cache folder (tools/README.md), under a name made of its text, flags and
# compiler: every clone then compiles with the same paths and bytes, so ccache serves them all.
function(sublet_pch NAME HEADERS)
  if(NOT SUBLET_PCH)
    return()
  endif()
  string(TOUPPER "${CMAKE_BUILD_TYPE}" config)
  separate_arguments(flags UNIX_COMMAND "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${config}}")
  get_directory_property(options COMPILE_OPTIONS)
  list(APPEND flags -std=c++20 ${options} ${ARGN})
  list(TRANSFORM ${HEADERS} REPLACE "(.+)" "#include \\1" OUTPUT_VARIABLE text)
  list(JOIN text "\n" text)
  set(source ${CMAKE_BINARY_DIR}/pch/${NAME}/sublet_pch.h)
  file(CONFIGURE OUTPUT ${source} CONTENT "${text}\n")

  execute_process(COMMAND ${CMAKE_CXX_COMPILER} ${flags} -E -P -x c++ ${source} OUTPUT_VARIABLE preprocessed COMMAND_ERROR_IS_FATAL ANY)
  string(SHA256 key "${CMAKE_CXX_COMPILER} ${CMAKE_CXX_COMPILER_VERSION} ${flags} ${preprocessed}")
  string(SUBSTRING ${key} 0 16 key)
  sublet_cache_folder(cache)
  set(header ${cache}/pch/${key}/sublet_pch.h)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    set(precompiled ${header}.pch)
    list(APPEND flags -fpch-instantiate-templates -Xclang -fno-pch-timestamp)
  else()
    set(precompiled ${header}.gch)
  endif()
  if(NOT EXISTS ${precompiled})
    file(COPY ${source} DESTINATION ${cache}/pch/${key})
    string(RANDOM LENGTH 8 part)  # another configure run may make the same one now
    execute_process(COMMAND ${CMAKE_CXX_COMPILER} ${flags} -x c++-header ${header} -o ${precompiled}.${part} COMMAND_ERROR_IS_FATAL ANY)
    file(WRITE ${precompiled}.sum ${key})  # what ccache hashes in place of the bytes (CCACHE_PCH_EXTSUM)
    file(RENAME ${precompiled}.${part} ${precompiled})
  endif()
  set(${NAME} ${header} PARENT_SCOPE)
endfunction()

function(sublet_cache_folder OUT)
  if(DEFINED ENV{SUBLET_CACHE})
    set(folder $ENV{SUBLET_CACHE})
  elseif(DEFINED ENV{XDG_CACHE_HOME})
    set(folder $ENV{XDG_CACHE_HOME}/sublet)
  else()
    set(folder $ENV{HOME}/.cache/sublet)
  endif()
  set(${OUT} ${folder} PARENT_SCOPE)
endfunction()

# sublet_use_pch(TARGET NAME): compiles TARGET's sources with the precompiled header NAME.
function(sublet_use_pch TARGET NAME)
  if(SUBLET_PCH)
    target_compile_options(${TARGET} PRIVATE "SHELL:-include ${${NAME}}" -Winvalid-pch)
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
