# cmake -D program=FILE -D root=FOLDER -D validator=FILE -P check.cmake
#
# docs/run_sheet.md shows what the program writes, but for its memory; the JSON keeps to docs/run_sheet.schema.json, if a
# validator is there (Debian's python3-jsonschema), and the schema refuses what it should.
cmake_minimum_required(VERSION 3.22)

function(sheet form result)
  execute_process(COMMAND "${program}" ${form} RESULT_VARIABLE status OUTPUT_VARIABLE text)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${program} ${form} ended with ${status}")
  endif()
  set(${result} "${text}" PARENT_SCOPE)
endfunction()

function(without_bytes text result)
  string(REGEX REPLACE "Kokkos views [|][^\n]*" "Kokkos views" text "${text}")
  set(${result} "${text}" PARENT_SCOPE)
endfunction()

sheet(markdown written)
file(READ "${root}/docs/run_sheet.md" page)
without_bytes("${written}" written)
without_bytes("${page}" page)
string(FIND "${page}" "```text\n${written}```\n" position)
if(position EQUAL -1)
  message(FATAL_ERROR "docs/run_sheet.md does not show what the program writes:\n${written}")
endif()

if(NOT validator)
  message("no jsonschema here: the JSON is not held against its schema")
  return()
endif()
function(validate file result)
  execute_process(COMMAND "${validator}" -i "${file}" "${root}/docs/run_sheet.schema.json" RESULT_VARIABLE status
                  OUTPUT_VARIABLE text ERROR_VARIABLE text)
  set(${result} ${status} PARENT_SCOPE)
endfunction()

sheet(json written)
file(WRITE run_sheet.json "${written}")
validate(run_sheet.json status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "the JSON does not keep to its schema:\n${written}")
endif()
string(REPLACE "\"applied\": 28" "\"applied\": \"28\"" spoiled "${written}")
file(WRITE spoiled_run_sheet.json "${spoiled}")
validate(spoiled_run_sheet.json status)
if(status EQUAL 0)
  message(FATAL_ERROR "the schema takes a text for a number")
endif()
