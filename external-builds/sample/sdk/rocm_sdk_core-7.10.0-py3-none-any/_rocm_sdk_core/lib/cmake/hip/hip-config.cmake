# Targets hip::host and hip::device for the host-only HIP headers of this package.
get_filename_component(HIP_PREFIX "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
set(hip_INCLUDE_DIR "${HIP_PREFIX}/include")
set(hip_INCLUDE_DIRS "${hip_INCLUDE_DIR}")
set(HIP_COMPILER "clang")
set(HIP_PLATFORM "amd")
set(HIP_RUNTIME "rocclr")
foreach(_hip_target host device amdhip64)
  if(NOT TARGET hip::${_hip_target})
    add_library(hip::${_hip_target} INTERFACE IMPORTED)
    set_target_properties(hip::${_hip_target} PROPERTIES
      INTERFACE_INCLUDE_DIRECTORIES "${hip_INCLUDE_DIR}"
      INTERFACE_COMPILE_DEFINITIONS "__HIP_PLATFORM_AMD__=1")
  endif()
endforeach()
unset(_hip_target)
