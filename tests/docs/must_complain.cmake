# cmake -D fixture=FOLDER -P must_complain.cmake
#
# Runs check.cmake on a small project in FOLDER. Its file `complaints` holds, line by line, all that must be said of it;
# where there is no such file, nothing must be.
cmake_minimum_required(VERSION 3.22)
execute_process(COMMAND "${CMAKE_COMMAND}" -D "root=${fixture}" -P "${CMAKE_CURRENT_LIST_DIR}/check.cmake"
                RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(NOT EXISTS "${fixture}/complaints")
  if(NOT status EQUAL 0 OR NOT output STREQUAL "")
    message(FATAL_ERROR "${fixture} has nothing wrong, and is refused:\n${output}")
  endif()
  return()
endif()

file(READ "${fixture}/complaints" expected)
string(FIND "${output}" "${expected}\nCMake Error" position)
if(status EQUAL 0)
  message(FATAL_ERROR "${fixture} is accepted, and should not be:\n${expected}")
elseif(NOT position EQUAL 0)
  message(FATAL_ERROR "${fixture} should be refused with\n${expected}\nand is refused with\n${output}")
endif()
