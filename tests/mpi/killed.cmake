# A process that is killed inside a group ends the job; from the last states the run goes on to the same bits.
file(REMOVE_RECURSE "${folder}")
file(MAKE_DIRECTORY "${folder}/through" "${folder}/killed")

execute_process(COMMAND ${run} "${folder}/through" "${folder}/expected" COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${run} "${folder}/killed" "${folder}/found" 13 RESULT_VARIABLE result OUTPUT_VARIABLE output
                ERROR_VARIABLE output)
if(result EQUAL 0 OR NOT output MATCHES "signal" OR EXISTS "${folder}/found")
  message(FATAL_ERROR "a killed process did not end the job with a message: ${result}\n${output}")
endif()
execute_process(COMMAND ${run} "${folder}/killed" "${folder}/found" COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} -E compare_files "${folder}/expected" "${folder}/found" RESULT_VARIABLE different)
if(different)
  message(FATAL_ERROR "the run that was killed ended with other bits")
endif()
