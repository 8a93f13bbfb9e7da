// The part of the HIP runtime that the sample needs, on the host: one device, kernels run thread after thread.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>

#include <hip/hip_version.h>

#define __global__
#define __device__
#define __host__

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

inline thread_local dim3 threadIdx, blockIdx, blockDim, gridDim;

enum hipError_t { hipSuccess = 0, hipErrorInvalidValue = 1, hipErrorOutOfMemory = 2, hipErrorInvalidDevice = 101 };
enum hipMemcpyKind { hipMemcpyHostToHost, hipMemcpyHostToDevice, hipMemcpyDeviceToHost, hipMemcpyDeviceToDevice };

typedef struct ihipStream_t* hipStream_t;

struct hipDeviceProp_t {
    char name[256];
    char gcnArchName[256];
    int major;
    int minor;
    int warpSize;
};

inline hipError_t hipGetDeviceCount(int* count) {
    *count = 1;
    return hipSuccess;
}

inline hipError_t hipGetDeviceProperties(hipDeviceProp_t* properties, int device) {
    if (device != 0) {
        return hipErrorInvalidDevice;
    }
    *properties = hipDeviceProp_t{"host", "gfx000", 0, 0, 64};
    return hipSuccess;
}

inline hipError_t hipRuntimeGetVersion(int* version) {
    *version = HIP_VERSION;
    return hipSuccess;
}

// The one function that is in libamdhip64: what calls it has to be linked with hip::host.
extern "C" hipError_t hipDriverGetVersion(int* version);

template <typename T>
inline hipError_t hipMalloc(T** pointer, std::size_t size) {
    *pointer = static_cast<T*>(std::malloc(size ? size : 1));
    return *pointer ? hipSuccess : hipErrorOutOfMemory;
}

inline hipError_t hipFree(void* pointer) {
    std::free(pointer);
    return hipSuccess;
}

inline hipError_t hipMemcpy(void* target, const void* source, std::size_t size, hipMemcpyKind) {
    std::memcpy(target, source, size);
    return hipSuccess;
}

inline hipError_t hipDeviceSynchronize() { return hipSuccess; }
inline hipError_t hipGetLastError() { return hipSuccess; }

inline const char* hipGetErrorString(hipError_t error) {
    switch (error) {
        case hipSuccess: return "no error";
        case hipErrorInvalidValue: return "invalid argument";
        case hipErrorOutOfMemory: return "out of memory";
        case hipErrorInvalidDevice: return "invalid device ordinal";
    }
    return "unknown error";
}

template <typename Kernel, typename... Arguments>
void hipLaunchKernelGGL(Kernel kernel, dim3 grid, dim3 block, std::size_t, hipStream_t, Arguments... arguments) {
    gridDim = grid;
    blockDim = block;
    for (blockIdx.z = 0; blockIdx.z < grid.z; ++blockIdx.z)
        for (blockIdx.y = 0; blockIdx.y < grid.y; ++blockIdx.y)
            for (blockIdx.x = 0; blockIdx.x < grid.x; ++blockIdx.x)
                for (threadIdx.z = 0; threadIdx.z < block.z; ++threadIdx.z)
                    for (threadIdx.y = 0; threadIdx.y < block.y; ++threadIdx.y)
                        for (threadIdx.x = 0; threadIdx.x < block.x; ++threadIdx.x)
                            kernel(arguments...);
}
