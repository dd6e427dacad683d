# SPDX-License-Identifier: Apache-2.0
# Halves the build of interface packages where no C++ node runs: no code for C++ is generated, and the
# files with Fast DDS's large headers are compiled as one. A colcon build without this makes all.
#
# CMake includes it at project(), as CMAKE_PROJECT_TOP_LEVEL_INCLUDES (CMake 3.24).

macro(_diffbot_find method name)
  find_package(${name} ${ARGN} BYPASS_PROVIDER)
  if("${name}" STREQUAL "rosidl_default_generators")
    list(FILTER AMENT_EXTENSIONS_rosidl_generate_idl_interfaces EXCLUDE REGEX "_cpp:")
  endif()
endmacro()
cmake_language(SET_DEPENDENCY_PROVIDER _diffbot_find SUPPORTED_METHODS FIND_PACKAGE)

function(_diffbot_join)
  set_target_properties(
    ${PROJECT_NAME}__rosidl_typesupport_fastrtps_c PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
endfunction()
cmake_language(DEFER DIRECTORY "${CMAKE_SOURCE_DIR}" CALL _diffbot_join)
