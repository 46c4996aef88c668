// A driver of two GPUs that are not there, for programs that ask what there is.
// FAKE_GPU_STATUS in the environment is the status that its start ends with.

#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace {

constexpr int success = 0;
constexpr int error_invalid_value = 1;

struct gpu {
  const char* name;
  std::size_t bytes;
  int major, minor;
};

constexpr gpu gpus[]{{"Fake H100", std::size_t{80} << 30, 9, 0},
                     {"Fake A10", std::size_t{24} << 30, 8, 6}};
constexpr int count = 2;

} // namespace

extern "C" {

int cuInit(unsigned) {
  const char* status = std::getenv("FAKE_GPU_STATUS");
  return status == nullptr ? success : std::atoi(status);
}

int cuDriverGetVersion(int* version) {
  *version = 13020;
  return success;
}

int cuDeviceGetCount(int* result) {
  *result = count;
  return success;
}

int cuDeviceGetName(char* name, int size, int index) {
  std::strncpy(name, gpus[index].name, static_cast<std::size_t>(size));
  return success;
}

int cuDeviceTotalMem_v2(std::size_t* bytes, int index) {
  *bytes = gpus[index].bytes;
  return success;
}

int cuDeviceGetAttribute(int* value, int attribute, int index) {
  constexpr int capability_major = 75, capability_minor = 76;
  if (attribute != capability_major && attribute != capability_minor)
    return error_invalid_value;
  *value =
    attribute == capability_major ? gpus[index].major : gpus[index].minor;
  return success;
}
}
