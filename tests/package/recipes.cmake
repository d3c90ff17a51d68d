# cmake -D root= -D version= -P recipes.cmake
#
# Recipes for package managers that this machine need not have: each names the version of include/accrue/version.hpp, and
# switches off by name what a package does not build.
cmake_minimum_required(VERSION 3.22)
set(recipes spack/accrue/package.py "version\\(\"([^\"]*)\"\\)"
            conan/conanfile.py "\n    version = \"([^\"]*)\""
            vcpkg/accrue/vcpkg.json "\"version\": \"([^\"]*)\"")
while(recipes)
  list(POP_FRONT recipes recipe form)
  file(READ "${root}/packaging/${recipe}" text)
  if(NOT text MATCHES "${form}" OR NOT CMAKE_MATCH_1 STREQUAL version)
    message(SEND_ERROR "packaging/${recipe} has version ${CMAKE_MATCH_1}, the headers have ${version}")
  endif()
endwhile()

file(READ "${root}/packaging/vcpkg/accrue/vcpkg.json" port)
string(JSON name ERROR_VARIABLE error GET "${port}" name)
string(JSON first ERROR_VARIABLE error_too GET "${port}" dependencies 0 name)
if(error OR error_too OR NOT name STREQUAL "accrue" OR NOT first STREQUAL "kokkos")
  message(SEND_ERROR "packaging/vcpkg/accrue/vcpkg.json is no port of accrue over Kokkos: ${error} ${error_too}")
endif()

file(READ "${root}/CMakeLists.txt" build)
foreach(recipe spack/accrue/package.py conan/conanfile.py vcpkg/accrue/portfile.cmake)
  file(READ "${root}/packaging/${recipe}" text)
  string(REGEX MATCHALL "ACCRUE_[A-Z]+(_[A-Z]+)?" options "${text}")
  foreach(option ACCRUE_BUILD_TESTS ACCRUE_BUILD_BENCHMARKS ACCRUE_BUILD_EXAMPLES ACCRUE_MPI)
    if(NOT option IN_LIST options)
      message(SEND_ERROR "packaging/${recipe} does not set ${option}")
    endif()
  endforeach()
  foreach(option IN LISTS options)
    string(FIND "${build}" "option(${option} " position)
    if(position EQUAL -1)
      message(SEND_ERROR "packaging/${recipe} sets ${option}, which is no option of CMakeLists.txt")
    endif()
  endforeach()
endforeach()
