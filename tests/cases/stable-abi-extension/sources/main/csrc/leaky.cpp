// One operator, written against torch's stable ABI alone: the built library works with later releases of torch too.

#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>

#include <cstdint>

using torch::headeronly::ScalarType;
using torch::stable::Tensor;

// Return x where it is positive, and slope * x elsewhere.
Tensor leaky(const Tensor& x, double slope) {
  STD_TORCH_CHECK(x.scalar_type() == ScalarType::Float, "leaky takes float32 tensors");
  const Tensor in = torch::stable::contiguous(x);
  Tensor out = torch::stable::empty_like(in);
  const float* from = in.const_data_ptr<float>();
  float* to = out.mutable_data_ptr<float>();
  for (int64_t i = 0; i < in.numel(); ++i) {
    to[i] = from[i] > 0 ? from[i] : static_cast<float>(slope) * from[i];
  }
  return out;
}

STABLE_TORCH_LIBRARY(stable_abi_extension, m) {
  m.def("leaky(Tensor x, float slope) -> Tensor");
}

STABLE_TORCH_LIBRARY_IMPL(stable_abi_extension, CPU, m) {
  m.impl("leaky", TORCH_BOX(&leaky));
}
