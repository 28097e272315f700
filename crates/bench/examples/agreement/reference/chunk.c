/* chunk FILE SIZE REPEATS: writes SIZE bytes a character at a time and calls fsync, then reads and
 * writes the whole with one call each, REPEATS times. Prints nanoseconds of both parts. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static long now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000L + time.tv_nsec;
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    long size = atol(argv[2]), repeats = atol(argv[3]);
    FILE *stream = fopen(argv[1], "w");
    void *aligned;
    if (!stream || posix_memalign(&aligned, 4096, size))
        return 1;
    char *chunk = aligned;
    for (long i = 0; i < size; i++)
        chunk[i] = 1;
    long begin = now();
    for (long i = 0; i < size; i++)
        putc((int)(i * 2654435769u >> 24), stream);
    if (fflush(stream) || fsync(fileno(stream)))
        return 1;
    long middle = now();
    fclose(stream);
    int file = open(argv[1], O_RDWR);
    long whole = now();
    for (long i = 0; i < repeats; i++)
        if (lseek(file, 0, SEEK_SET) || read(file, chunk, size) != size ||
            lseek(file, 0, SEEK_SET) || write(file, chunk, size) != size)
            return 1;
    printf("%ld %ld\n", middle - begin, now() - whole);
    return 0;
}
