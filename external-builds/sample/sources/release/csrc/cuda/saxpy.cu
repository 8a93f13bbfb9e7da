#include "cuda/device.h"

namespace {

constexpr int kThreads = 256;

__global__ void saxpy_kernel(int n, float a, const float* x, float* y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = a * x[i] + y[i];
    }
}

}  // namespace

// y = a * x + y, all in host memory.
SAMPLE_API int sample_saxpy(int n, float a, const float* x, float* y) {
    const size_t size = n * sizeof(float);
    const int blocks = n / kThreads;
    float* device_x = nullptr;
    float* device_y = nullptr;
    SAMPLE_CHECK(cudaMalloc(&device_x, size));
    SAMPLE_CHECK(cudaMalloc(&device_y, size));
    SAMPLE_CHECK(cudaMemcpy(device_x, x, size, cudaMemcpyHostToDevice));
    SAMPLE_CHECK(cudaMemcpy(device_y, y, size, cudaMemcpyHostToDevice));
    saxpy_kernel<<<blocks, kThreads>>>(n, a, device_x, device_y);
    SAMPLE_CHECK(cudaGetLastError());
    SAMPLE_CHECK(cudaMemcpy(y, device_y, size, cudaMemcpyDeviceToHost));
    SAMPLE_CHECK(cudaFree(device_x));
    SAMPLE_CHECK(cudaFree(device_y));
    return 0;
}
