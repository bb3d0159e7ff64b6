// A clock that is off by as many microseconds as the file SOAK_CLOCK says: gettimeofday is all that a Redis or Valkey
// asks for TIME. (libfaketime and the memory allocator of Redis do not bear each other.)
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>

static volatile long long *offset;

__attribute__((constructor)) static void begin(void) {
	int f = open(getenv("SOAK_CLOCK"), O_RDONLY);
	void *p = f < 0 ? MAP_FAILED : mmap(NULL, sizeof *offset, PROT_READ, MAP_SHARED, f, 0);
	offset = p == MAP_FAILED ? NULL : p;
}

int gettimeofday(struct timeval *tv, void *tz) {
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	long long us = t.tv_sec * 1000000LL + t.tv_nsec / 1000 + (offset ? *offset : 0);
	tv->tv_sec = us / 1000000;
	tv->tv_usec = us % 1000000;
	return 0;
}
