#pragma once

#include <cuda_runtime.h>

#if defined(_WIN32)
#define SAMPLE_API extern "C" __declspec(dllexport)
#else
#define SAMPLE_API extern "C" __attribute__((visibility("default")))
#endif

#define SAMPLE_CHECK(call)               \
    do {                                 \
        const cudaError_t error = call;  \
        if (error != cudaSuccess) {      \
            return static_cast<int>(error); \
        }                                \
    } while (0)
