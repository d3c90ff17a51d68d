# cmake -D program=COMMAND -D name=NAME -D page=FILE -P output.cmake
#
# Runs a program that must succeed and must write, to the letter, the ```text block that follows the line
# <!-- output of NAME --> on the page.
cmake_minimum_required(VERSION 3.22)
execute_process(COMMAND ${program} RESULT_VARIABLE status OUTPUT_VARIABLE output)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${name} ends with ${status}, having written\n${output}")
endif()

file(READ "${page}" text)
set(mark "<!-- output of ${name} -->\n```text\n")
string(FIND "${text}" "${mark}" begin)
if(begin EQUAL -1)
  message(FATAL_ERROR "${page} shows no output of ${name}, which is\n${output}")
endif()
string(LENGTH "${mark}" length)
math(EXPR begin "${begin} + ${length}")
string(SUBSTRING "${text}" ${begin} -1 text)
string(FIND "${text}" "```" end)
string(SUBSTRING "${text}" 0 ${end} shown)
if(NOT output STREQUAL shown)
  message(FATAL_ERROR "${page} shows of ${name}\n${shown}\nand it writes\n${output}")
endif()
