# Target roc::rocblas.
include(CMakeFindDependencyMacro)
find_dependency(hip)
get_filename_component(_rocblas_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(WIN32)
  set(_rocblas_files "${_rocblas_prefix}/bin/rocblas.dll" "${_rocblas_prefix}/lib/rocblas.lib")
else()
  set(_rocblas_files "${_rocblas_prefix}/lib/librocblas.so.5.1.71000")
endif()
foreach(_rocblas_file IN LISTS _rocblas_files)
  if(NOT EXISTS "${_rocblas_file}")
    message(FATAL_ERROR "rocblas: ${_rocblas_file} is missing")
  endif()
endforeach()
if(NOT TARGET roc::rocblas)
  add_library(roc::rocblas SHARED IMPORTED)
  list(GET _rocblas_files 0 _rocblas_file)
  set_target_properties(roc::rocblas PROPERTIES
    IMPORTED_LOCATION "${_rocblas_file}"
    IMPORTED_SONAME "librocblas.so.5"
    INTERFACE_INCLUDE_DIRECTORIES "${_rocblas_prefix}/include"
    INTERFACE_LINK_LIBRARIES "hip::host")
  if(WIN32)
    set_target_properties(roc::rocblas PROPERTIES IMPORTED_IMPLIB "${_rocblas_prefix}/lib/rocblas.lib")
  endif()
endif()
unset(_rocblas_file)
unset(_rocblas_files)
unset(_rocblas_prefix)
