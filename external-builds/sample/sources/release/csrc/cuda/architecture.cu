#include <cstdio>

#include "cuda/device.h"

// Writes the architecture of a device, as compilers spell it.
SAMPLE_API int sample_architecture(int device, char* name, int size) {
    cudaDeviceProp properties;
    SAMPLE_CHECK(cudaGetDeviceProperties(&properties, device));
    std::snprintf(name, size, "sm_%d%d", properties.major, properties.minor);
    return 0;
}
