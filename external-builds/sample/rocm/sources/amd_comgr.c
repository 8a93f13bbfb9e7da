#include "sdk.h"

EXPORT void amd_comgr_get_version(unsigned long long *major, unsigned long long *minor) {
    *major = 3;
    *minor = 0;
}
