# SPDX-License-Identifier: Apache-2.0
# Builds interface packages in less than half the time where no C++ node runs: no code for C++ is
# generated, and each library's files are compiled as one. A colcon build without this makes all.
# Introspection stays: by it Fast DDS describes each type to others.
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
  foreach(part rosidl_generator_c rosidl_typesupport_c rosidl_typesupport_fastrtps_c
      rosidl_typesupport_introspection_c rosidl_generator_py)
    set(library ${PROJECT_NAME}__${part})
    if(NOT TARGET ${library})
      continue()
    endif()
    set_target_properties(${library} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
    get_target_property(sources ${library} SOURCES)
    # Each defines the same names for itself.
    list(FILTER sources INCLUDE REGEX "__description\\.c$")
    set_source_files_properties(${sources} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endforeach()
endfunction()
cmake_language(DEFER DIRECTORY "${CMAKE_SOURCE_DIR}" CALL _diffbot_join)
