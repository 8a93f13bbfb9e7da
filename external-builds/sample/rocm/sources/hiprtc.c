#include "sdk.h"

EXPORT int hiprtcVersion(int *major, int *minor) {
    *major = 7;
    *minor = 10;
    return 0;
}
