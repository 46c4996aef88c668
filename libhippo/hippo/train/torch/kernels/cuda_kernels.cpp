#include "hippo/train/torch/kernels/cuda_kernels.hpp"

#include <dlfcn.h>

namespace hippo {

namespace {

/// Finds a function. @returns whether it is there
template <class F>
bool find(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(::dlsym(library, name));
  return function != nullptr;
}

} // namespace

expected<cuda_kernels> load_cuda_kernels(const std::string& library) {
  void* loaded = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (loaded == nullptr)
    return {errc::io_failed, std::string{"cannot load the kernels for GPUs: "}
                               + ::dlerror()
                               + "; they are built if CMake finds nvcc"};
  const auto refused = [&library](const std::string& why) {
    return error{errc::incompatible_version,
                 library + " is of another build: " + why};
  };
  decltype(&hippo_cuda_interface) interface = nullptr;
  if (!find(loaded, "hippo_cuda_interface", interface))
    return refused("it has no kernels");
  if (const auto version = interface(); version != HIPPO_CUDA_INTERFACE)
    return refused("its interface is " + std::to_string(version)
                   + ", this program's "
                   + std::to_string(HIPPO_CUDA_INTERFACE));
  cuda_kernels result{};
  if (!find(loaded, "hippo_cuda_error_text", result.error_text)
      || !find(loaded, "hippo_cuda_image_batch", result.image_batch)
      || !find(loaded, "hippo_cuda_dropout", result.dropout)
      || !find(loaded, "hippo_cuda_update", result.update)
      || !find(loaded, "hippo_cuda_norm_workspace", result.norm_workspace)
      || !find(loaded, "hippo_cuda_normalise", result.normalise)
      || !find(loaded, "hippo_cuda_normalise_backward",
               result.normalise_backward)
      || !find(loaded, "hippo_cuda_conv_rows", result.conv_rows)
      || !find(loaded, "hippo_cuda_conv_prepare", result.conv_prepare)
      || !find(loaded, "hippo_cuda_conv_workspace", result.conv_workspace)
      || !find(loaded, "hippo_cuda_convolve", result.convolve)
      || !find(loaded, "hippo_cuda_convolve_input", result.convolve_input)
      || !find(loaded, "hippo_cuda_convolve_weight", result.convolve_weight))
    return refused("a kernel is missing");
  return result;
}

const expected<cuda_kernels>& own_cuda_kernels() {
  static const auto result = load_cuda_kernels();
  return result;
}

} // namespace hippo
