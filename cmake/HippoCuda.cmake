# Whether our own kernels for GPUs are built. LibTorch's CUDA libraries are not
# needed for that, nor is a GPU.

set(HIPPO_CUDA AUTO CACHE STRING
  "Build kernels for GPUs: ON, OFF, or AUTO: if there is a CUDA compiler")
set_property(CACHE HIPPO_CUDA PROPERTY STRINGS AUTO ON OFF)

# The first CUDA that knows compute capability 10.0.
set(cuda_oldest 12.8)

set(HIPPO_CUDA_KERNELS OFF)
if(NOT HIPPO_CUDA MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "HIPPO_CUDA is '${HIPPO_CUDA}': give ON, OFF or AUTO")
elseif(HIPPO_CUDA STREQUAL OFF)
  set(cuda_trouble "HIPPO_CUDA is OFF")
else()
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
    if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS cuda_oldest)
      set(cuda_trouble "${CMAKE_CUDA_COMPILER} is of CUDA \
${CMAKE_CUDA_COMPILER_VERSION}, older than ${cuda_oldest}")
    else()
      set(HIPPO_CUDA_KERNELS ON)
    endif()
  else()
    set(cuda_trouble "there is no CUDA compiler (nvcc) that works")
  endif()
endif()

if(HIPPO_CUDA_KERNELS)
  message(STATUS "Kernels for GPUs: built by ${CMAKE_CUDA_COMPILER}, "
    "CUDA ${CMAKE_CUDA_COMPILER_VERSION}")
elseif(HIPPO_CUDA STREQUAL ON)
  message(FATAL_ERROR "HIPPO_CUDA is ON, but ${cuda_trouble}: install CUDA "
    "${cuda_oldest} or newer, set CUDACXX to its nvcc, or configure with "
    "-DHIPPO_CUDA=AUTO")
else()
  message(STATUS "Kernels for GPUs: not built, ${cuda_trouble}")
endif()
