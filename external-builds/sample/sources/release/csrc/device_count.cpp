#include "cuda/device.h"

// Says how many devices there are.
SAMPLE_API int sample_device_count(int* count) {
    SAMPLE_CHECK(cudaGetDeviceCount(count));
    return 0;
}
