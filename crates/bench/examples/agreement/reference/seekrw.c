/* seekrw FILE COUNT LENGTH r|w 0|1 SEED: COUNT random accesses of LENGTH bytes, at multiples of
 * LENGTH, past the page cache with 1. Prints operations, bytes and nanoseconds. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    if (argc != 7)
        return 2;
    long count = atol(argv[2]), length = atol(argv[3]);
    int writes = argv[4][0] == 'w';
    int file = open(argv[1], (writes ? O_RDWR : O_RDONLY) | (argv[5][0] == '1' ? O_DIRECT : 0));
    off_t blocks = lseek(file, 0, SEEK_END) / length;
    uint64_t state = strtoull(argv[6], NULL, 10) * 2654435769u + 1;
    void *buffer;
    struct timespec begin, end;
    if (file < 0 || blocks < 1 || posix_memalign(&buffer, 4096, length))
        return 1;
    posix_fadvise(file, 0, 0, POSIX_FADV_RANDOM);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (long i = 0; i < count; i++) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        off_t at = (off_t)((unsigned __int128)state * blocks >> 64) * length;
        if ((writes ? pwrite(file, buffer, length, at) : pread(file, buffer, length, at)) != length)
            return 1;
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    printf("%ld %ld %ld\n", count, count * length,
           (end.tv_sec - begin.tv_sec) * 1000000000L + end.tv_nsec - begin.tv_nsec);
    return 0;
}
