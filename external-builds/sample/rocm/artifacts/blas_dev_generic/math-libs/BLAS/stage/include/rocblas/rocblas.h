#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/* Writes the version of the HIP runtime that rocBLAS has loaded; returns 0 when all is well. */
int rocblas_get_version(int* version);

#ifdef __cplusplus
}
#endif
