#include "hippo/train/torch/weights_file.hpp"

#include <caffe2/serialize/inline_container.h>
#include <torch/csrc/jit/serialization/pickle.h>
#include <torch/csrc/jit/serialization/pickler.h>

#include <fstream>
#include <iterator>
#include <stdexcept>
#include <vector>

#include "hippo/base/whole_file.hpp"

namespace hippo {

void write_weights(const std::string& path, const named_tensors& tensors) {
  c10::Dict<std::string, at::Tensor> dict;
  // A record has a tensor's own elements, so none may be a view of a larger
  // one.
  for (const auto& [name, x] : tensors)
    dict.insert(name,
                x.detach().to(at::kCPU).clone(at::MemoryFormat::Contiguous));
  // torch::pickle_save would tag the dict with its type, by a function that
  // Python does not allow in files of weights only.
  std::string pickle;
  torch::jit::Pickler pickler{
    [&](const char* data, std::size_t size) { pickle.append(data, size); },
    nullptr,
    nullptr,
    nullptr,
    nullptr,
    false};
  pickler.protocol();
  pickler.pushIValue(dict);
  pickler.stop();

  // In memory first: the writer's destructor throws if a file fails it.
  std::string archive;
  caffe2::serialize::PyTorchStreamWriter writer{
    [&](const void* data, std::size_t size) {
      archive.append(static_cast<const char*>(data), size);
      return size;
    }};
  writer.writeRecord("data.pkl", pickle.data(), pickle.size());
  std::size_t index = 0;
  for (const auto& x : pickler.tensorData())
    writer.writeRecord("data/" + std::to_string(index++), x.const_data_ptr(),
                       x.nbytes());
  writer.writeEndOfFile();

  if (const auto why = write_whole(path, archive))
    throw std::runtime_error("weights: " + why->message);
}

tensor_map read_weights(const std::string& path) {
  std::ifstream file{path, std::ios::binary};
  const std::vector<char> bytes{std::istreambuf_iterator<char>{file}, {}};
  if (!file)
    throw std::runtime_error("cannot read weights from " + path);
  // LibTorch cannot read an OrderedDict with attributes, as a module's
  // state_dict() is.
  const auto fail = [&path](const std::string& why) {
    throw std::runtime_error(
      path + " is no file of weights: " + why
      + ". Python writes one by torch.save(dict(model.state_dict()), path)");
  };
  c10::IValue content;
  try {
    content = torch::jit::pickle_load(bytes);
  } catch (const c10::Error& e) {
    fail(e.what_without_backtrace());
  }
  if (!content.isGenericDict())
    fail("it holds no dict");
  tensor_map result;
  for (const auto& entry : content.toGenericDict())
    if (entry.key().isString() && entry.value().isTensor())
      result[entry.key().toStringRef()] = entry.value().toTensor();
  return result;
}

} // namespace hippo
