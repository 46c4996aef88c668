# LibTorch out of PyPI's torch wheel, as plain imported targets: the wheel's own
# TorchConfig.cmake insists on CUDA, which a CPU build does not need.
# scripts/setup unpacks the wheel to HIPPO_TORCH_DIR.

set(HIPPO_TORCH_DIR ${PROJECT_SOURCE_DIR}/.cache/torch CACHE PATH
  "The folder that holds LibTorch's include/ and lib/")
if(NOT EXISTS ${HIPPO_TORCH_DIR}/lib/libtorch_cpu.so)
  message(FATAL_ERROR "no LibTorch in ${HIPPO_TORCH_DIR}: run ./scripts/setup,"
    " or configure with -DHIPPO_TORCH=OFF: without the built-in workloads")
endif()

add_library(hippo_libtorch INTERFACE)
target_include_directories(hippo_libtorch SYSTEM INTERFACE
  ${HIPPO_TORCH_DIR}/include
  ${HIPPO_TORCH_DIR}/include/torch/csrc/api/include)
target_link_libraries(hippo_libtorch INTERFACE
  ${HIPPO_TORCH_DIR}/lib/libtorch_cpu.so
  ${HIPPO_TORCH_DIR}/lib/libc10.so)

# The built-in workloads split text into words and decode JPEG files.
hippo_find_library(hippo_utf8proc utf8proc.h utf8proc)
hippo_find_library(hippo_turbojpeg turbojpeg.h turbojpeg)
