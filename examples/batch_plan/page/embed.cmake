# cmake -D sources=FOLDER -D wasm=FILE -D gzip=PROGRAM -D base64=PROGRAM -D page=FILE -P embed.cmake
# Puts style, script and the packed program into one page.
execute_process(COMMAND "${gzip}" -9 -n -c "${wasm}" COMMAND "${base64}" -w 0 OUTPUT_VARIABLE packed
                RESULTS_VARIABLE results)
if(NOT results STREQUAL "0;0")
  message(FATAL_ERROR "${wasm} could not be packed")
endif()
file(READ "${sources}/page.html" html)
file(READ "${sources}/page.css" style)
file(READ "${sources}/page.js" script)
string(REPLACE "@STYLE@" "${style}" html "${html}")
string(REPLACE "@SCRIPT@" "${script}" html "${html}")
string(REPLACE "@WASM@" "${packed}" html "${html}")
file(WRITE "${page}" "${html}")
