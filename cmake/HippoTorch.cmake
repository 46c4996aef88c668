# LibTorch out of PyPI's torch wheel, as plain imported targets: the wheel's own
# TorchConfig.cmake insists on CUDA, which a CPU build does not need.
# scripts/setup unpacks the wheel to HIPPO_TORCH_DIR.

set(HIPPO_TORCH_DIR ${PROJECT_SOURCE_DIR}/.cache/torch CACHE PATH
  "The folder that holds LibTorch's include/ and lib/")
if(NOT EXISTS ${HIPPO_TORCH_DIR}/lib/libtorch_cpu.so)
  message(FATAL_ERROR "no LibTorch in ${HIPPO_TORCH_DIR}: run ./scripts/setup,"
    " or configure with -DHIPPO_TORCH=OFF to build without trainers")
endif()

add_library(hippo_libtorch INTERFACE)
target_include_directories(hippo_libtorch SYSTEM INTERFACE
  ${HIPPO_TORCH_DIR}/include
  ${HIPPO_TORCH_DIR}/include/torch/csrc/api/include)
target_link_libraries(hippo_libtorch INTERFACE
  ${HIPPO_TORCH_DIR}/lib/libtorch_cpu.so
  ${HIPPO_TORCH_DIR}/lib/libc10.so)

# The built-in workloads read gzipped data.
find_package(ZLIB REQUIRED)

# They split text into words, too.
find_path(UTF8PROC_INCLUDE_DIR utf8proc.h REQUIRED)
find_library(UTF8PROC_LIB utf8proc REQUIRED)
add_library(hippo_utf8proc INTERFACE)
target_include_directories(hippo_utf8proc SYSTEM INTERFACE
  ${UTF8PROC_INCLUDE_DIR})
target_link_libraries(hippo_utf8proc INTERFACE ${UTF8PROC_LIB})

# And they decode JPEG files.
find_path(TURBOJPEG_INCLUDE_DIR turbojpeg.h REQUIRED)
find_library(TURBOJPEG_LIB turbojpeg REQUIRED)
add_library(hippo_turbojpeg INTERFACE)
target_include_directories(hippo_turbojpeg SYSTEM INTERFACE
  ${TURBOJPEG_INCLUDE_DIR})
target_link_libraries(hippo_turbojpeg INTERFACE ${TURBOJPEG_LIB})
