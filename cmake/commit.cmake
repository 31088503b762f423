# cmake -DSOURCE=folder -DOUT=file -P commit.cmake: a header that names the commit, written only when that changes.
cmake_minimum_required(VERSION 3.25)
execute_process(COMMAND git rev-parse --short=12 HEAD WORKING_DIRECTORY ${SOURCE}
                OUTPUT_VARIABLE COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT COMMIT)  # a source archive
  set(COMMIT unknown)
endif()
file(CONFIGURE OUTPUT ${OUT} CONTENT "#define SUBLET_COMMIT \"@COMMIT@\"\n" @ONLY)
