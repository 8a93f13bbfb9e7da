#include "cuda/device.h"

namespace {

__global__ void scale_kernel(int n, float a, float* x) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        x[i] *= a;
    }
}

}  // namespace

// x = a * x, in host memory.
SAMPLE_API int sample_scale(int n, float a, float* x) {
    const size_t size = n * sizeof(float);
    float* device_x = nullptr;
    SAMPLE_CHECK(cudaMalloc(&device_x, size));
    SAMPLE_CHECK(cudaMemcpy(device_x, x, size, cudaMemcpyHostToDevice));
    scale_kernel<<<(n + 255) / 256, 256>>>(n, a, device_x);
    SAMPLE_CHECK(cudaGetLastError());
    SAMPLE_CHECK(cudaMemcpy(x, device_x, size, cudaMemcpyDeviceToHost));
    SAMPLE_CHECK(cudaFree(device_x));
    return 0;
}
